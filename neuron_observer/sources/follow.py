"""Lines that a child prints for as long as it runs; it is started again, with growing pauses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from neuron_observer.sources.lines import Descriptor, LineCounts, readable
from neuron_observer.sources.splitter import MAX_LINE, LineSplitter

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.sources.child import Children

FIRST_DELAY = 1.0  # seconds before a child is started again; doubles up to LAST_DELAY
LAST_DELAY = 60.0
STEADY = 60.0  # seconds of life after which the next delay is the first again
LAST_WORDS = 2000  # bytes of standard error that are kept

JOURNAL = ("journalctl", "--dmesg", "--output=json", "--follow", "--no-tail")


class ChildLines:
    """Standard output of a command, by lines.

    A line that the child did not finish before it ended is refused and counted as cut. A child
    that prints nothing for `silence` seconds is taken for hung and replaced.
    """

    def __init__(
        self,
        argv: Sequence[str],
        clock: Clock,
        children: Children,
        *,
        max_line: int = MAX_LINE,
        keep_cut: bool = True,
        silence: float | None = None,
    ) -> None:
        self.name = " ".join(argv)
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self._argv = tuple(argv)
        self._clock = clock
        self._children = children
        self._silence = silence
        self._lines = Descriptor(LineSplitter(max_line, keep_cut=keep_cut), self.counts)
        self._child: subprocess.Popen[bytes] | None = None
        self._words = b""  # the end of standard error
        self._delay = FIRST_DELAY
        self._next_start = clock.monotonic()
        self._started = self._heard = self._next_start

    def poll(self, limit: int) -> list[bytes]:
        """Lines that are there; starts the child if it is time to."""
        now = self._clock.monotonic()
        if not self.ended and self._child is None and now >= self._next_start:
            self._start(now)
        if self._child is not None:
            self._read(self._child, now, limit)
        return self._lines.take(limit)

    def _start(self, now: float) -> None:
        self._started = self._heard = now
        if self._children.left:
            self._failed(now, "the one before cannot be killed and is left")
            return
        try:
            self._child = self._children.start(self._argv)
        except OSError as failure:
            self._failed(now, failure.strerror or str(failure))
        else:
            self.error = ""
            self._words = b""

    def _failed(self, now: float, why: str) -> None:
        self.error = f"{self._argv[0]}: {why}"
        if now - self._started >= STEADY:
            self._delay = FIRST_DELAY
        self._next_start = now + self._delay
        self._delay = min(self._delay * 2, LAST_DELAY)

    def _read(self, child: subprocess.Popen[bytes], now: float, limit: int) -> None:
        before = self._lines.seen
        more = self._lines.fill(child.stdout.fileno(), limit) if child.stdout else False
        if self._lines.seen != before:
            self._heard = now
        self._listen(child)
        silent = self._silence is not None and now - self._heard > self._silence
        if not more or silent:
            self._finish(child, now, silent=silent)

    def _listen(self, child: subprocess.Popen[bytes]) -> None:
        """Keep standard error drained, or the child would stop at a full pipe."""
        while child.stderr and readable(child.stderr.fileno()):
            chunk = os.read(child.stderr.fileno(), 65_536)
            if not chunk:
                return
            self._words = (self._words + chunk)[-LAST_WORDS:]

    def _finish(self, child: subprocess.Popen[bytes], now: float, *, silent: bool) -> None:
        status = self._children.end(child)
        self._lines.splitter.discard()
        self._lines.add([])
        self.counts.restarts += 1
        self._child = None
        words = self._words.decode("utf-8", "backslashreplace").strip().splitlines()
        why = "printed nothing for too long" if silent else f"ended with status {status}"
        self._failed(now, f"{why}: {words[-1]}" if words else why)

    def fileno(self) -> int | None:
        """Standard output of the child; None between two children."""
        child = self._child
        return child.stdout.fileno() if child and child.stdout else None

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._children.end(self._child)
            self._child = None
        self.ended = True


def follow_journal(clock: Clock, children: Children) -> ChildLines:
    """The kernel messages of this boot from the journal, as JSON lines, and then those to come."""
    return ChildLines(JOURNAL, clock, children)
