"""A thread that keeps a source drained into a bounded queue, so that its writer never waits."""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.sources.lines import LineCounts, LineSource

BATCH = 1000  # lines a turn
IDLE = 0.2  # seconds between looks at a source that cannot be waited on
LONGEST_WAIT = 30.0  # seconds; a source that can be waited on is looked at all the same
_LAST_WAIT = 2.0  # seconds for the thread to end


class PumpedLines:
    """The lines of another source, taken by a thread as they come.

    The queue holds at most `max_lines` and `max_bytes`; when it is full the oldest go, as in the
    kernel's own buffer, and are counted. From half full on, lines that are not `wanted` are not
    taken in, so that a flood of them does not drive out the one that matters. `news` is called in
    the thread when wanted lines have come.
    """

    def __init__(
        self,
        source: LineSource,
        *,
        max_lines: int = 50_000,
        max_bytes: int = 16 * 1024 * 1024,
        wanted: Callable[[bytes], bool] | None = None,
        news: Callable[[], None] | None = None,
    ) -> None:
        self.name = source.name
        self._source = source
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._wanted = wanted
        self._news = news
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._dropped = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC)  # rung once, to stop
        self._thread = threading.Thread(target=self._run, name=f"lines {self.name}", daemon=True)
        self._thread.start()

    @property
    def counts(self) -> LineCounts:
        """The source's counts, with what this queue dropped."""
        counts = self._source.counts.copy()
        counts.read -= self._dropped + len(self._queue)
        counts.dropped += self._dropped
        return counts

    @property
    def error(self) -> str:
        """The source's error."""
        return self._source.error

    @property
    def ended(self) -> bool:
        """Whether the source has ended and the queue is empty."""
        return not self._queue and (self._source.ended or not self._thread.is_alive())

    def poll(self, limit: int) -> list[bytes]:
        """Lines in the queue."""
        with self._lock:
            lines = [self._queue.popleft() for _ in range(min(limit, len(self._queue)))]
            self._bytes -= sum(map(len, lines))
        return lines

    def fileno(self) -> int | None:
        """None: the thread waits on the source's own."""
        return None

    def close(self) -> None:
        """Stop the thread, then close the source."""
        if self._stop.is_set():
            return
        self._stop.set()
        os.eventfd_write(self._bell, 1)
        self._thread.join(_LAST_WAIT)
        self._source.close()
        if not self._thread.is_alive():
            os.close(self._bell)

    def _run(self) -> None:
        while not self._stop.is_set():
            lines = self._source.poll(BATCH)
            if lines:
                self._store(lines)
                if self._news and (self._wanted is None or any(map(self._wanted, lines))):
                    self._news()
            elif self._source.ended:
                return
            else:
                self._wait()

    def _store(self, lines: list[bytes]) -> None:
        with self._lock:
            for line in lines:
                if self._takes(line):
                    self._queue.append(line)
                    self._bytes += len(line)
                else:
                    self._dropped += 1
            while len(self._queue) > self._max_lines or self._bytes > self._max_bytes:
                self._bytes -= len(self._queue.popleft())
                self._dropped += 1

    def _takes(self, line: bytes) -> bool:
        if self._wanted is None or len(self._queue) * 2 < self._max_lines:
            return True
        return self._wanted(line)

    def _wait(self) -> None:
        fd = self._source.fileno()
        if fd is None:
            self._stop.wait(IDLE)
            return
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        poller.register(self._bell, select.POLLIN)
        found = dict(poller.poll(int(LONGEST_WAIT * 1000)))
        if not found.get(fd, select.POLLIN) & select.POLLIN:  # a FIFO without a writer
            self._stop.wait(IDLE)
