"""The real daemon as a process, seen from outside: its page, its frames, what it holds, its end."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STARTED = re.compile(r"http://([\d.]+):(\d+)/metrics")
_AGE = "neuron_observer_frame_age_seconds"
_RAN = "neuron_observer_collector_duration_seconds{"
PATIENCE = 60.0  # seconds for what must come
BETWEEN = 0.02  # seconds between two looks
_clock = SystemClock()


class Look(NamedTuple):
    """One page: its series, and when (monotonic) the frame behind it was made."""

    series: dict[str, float]
    frame_at: float | None
    took: float  # seconds until it was there

    @property
    def work(self) -> float:
        """Seconds that the last run of all collectors took."""
        return sum(value for name, value in self.series.items() if name.startswith(_RAN))


class Running:
    """A daemon that runs, and what was seen of it."""

    def __init__(self, process: subprocess.Popen[str], host: str, port: int) -> None:
        self.process = process
        self.target = f"{host}:{port}"
        self._connection = http.client.HTTPConnection(host, port, timeout=10)
        self.passes: list[float] = []  # seconds, of each frame that was looked at
        self.frames: list[float] = []  # when each was made
        self.said: list[str] = []  # on standard error
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        if self.process.stderr:
            self.said += self.process.stderr

    def get(self, path: str) -> tuple[int, str]:
        """Status and text; over a new connection if the last one was idle for too long."""
        try:
            return self._get(path)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            self._connection.close()
            return self._get(path)

    def _get(self, path: str) -> tuple[int, str]:
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        return answer.status, answer.read().decode()

    def look(self) -> Look:
        """The page as it is now."""
        begin = _clock.monotonic()
        _, text = self.get("/metrics")
        now = _clock.monotonic()
        pairs = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        series = {name: float(value) for name, value in pairs}
        age = series.get(_AGE)
        look = Look(series, None if age is None else now - age, now - begin)
        if look.frame_at and (not self.frames or look.frame_at - self.frames[-1] > BETWEEN):
            self.frames.append(look.frame_at)
            self.passes.append(look.work)
        return look

    def wait(self, ready: Callable[[Look], bool], what: str, seconds: float = PATIENCE) -> Look:
        """The first page that is so."""
        deadline = _clock.monotonic() + seconds
        while not ready(look := self.look()):
            if _clock.monotonic() > deadline:
                raise SystemExit(f"not within {seconds:.0f} s: {what}")
            _clock.wait(BETWEEN)
        return look

    def longest_gap(self) -> float:
        """Seconds between two frames that were looked at, and from the last one until now."""
        instants = [*self.frames, _clock.monotonic()]
        return max(later - earlier for earlier, later in pairwise(instants))

    def forget(self) -> None:
        """Begin to watch anew."""
        self.passes.clear()
        del self.frames[:-1]

    def descriptors(self) -> int:
        """Open files, as the kernel counts them."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))  # noqa: PTH208 - names only

    def resident(self) -> int:
        """Bytes of memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def stop(self) -> float | None:
        """Ask it to end; seconds that it took, None if it did not within 10."""
        begin = _clock.monotonic()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            return None
        return _clock.monotonic() - begin


@contextmanager
def daemon(root: Path, *options: str) -> Iterator[Running]:
    """A daemon on a port of its own, ended in any case by its own pid."""
    command = [sys.executable, "-m", "neuron_observer", "daemon", "--listen", "127.0.0.1:0"]
    command += ["--host-root", str(root), *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline() if process.stderr else ""
        found = _STARTED.search(line)
        if found is None:
            raise SystemExit(f"the daemon did not start: {line}")
        running = Running(process, found[1], int(found[2]))
        running.wait(lambda look: look.frame_at is not None, "a first frame")
        yield running
    finally:
        process.kill()
