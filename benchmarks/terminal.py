"""A program under a terminal of our own: what it writes and costs, how soon it answers keys."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measuring import ROOT
from benchmarks.startup import clean_environment
from neuron_observer.clock import SystemClock

if TYPE_CHECKING:
    import re

PATIENCE = 15.0  # seconds
CLOCK = SystemClock()


class Terminal:
    """A program under a terminal, and what it has written."""

    def __init__(self, command: list[str], columns: int = 80, rows: int = 24) -> None:
        self.begin = CLOCK.monotonic()
        self.written = b""
        environment = clean_environment() | {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self.pid, self._screen = pty.fork()
        if not self.pid:
            size = struct.pack("HHHH", rows, columns, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.chdir(ROOT)
            os.execvpe(command[0], command, environment)  # noqa: S606 - the program measured

    def until(self, pattern: re.Pattern[bytes], begin: float) -> float:
        """Milliseconds from `begin` until it has written a pattern since the last call."""
        seen = len(self.written)
        while CLOCK.monotonic() - begin < PATIENCE:
            if self.read():
                if pattern.search(self.written, seen):
                    return (CLOCK.monotonic() - begin) * 1e3
            elif not self._lives():
                break
        raise SystemExit(f"{pattern.pattern!r} was not written: {self.written[-500:]!r}")

    def read(self, seconds: float = 0.05) -> bool:
        """Take what it has written; whether there was something within so many seconds."""
        if not select.select([self._screen], [], [], seconds)[0]:
            return False
        try:
            self.written += os.read(self._screen, 65536)
        except OSError:  # it ended
            return False
        return True

    def _lives(self) -> bool:
        return os.waitpid(self.pid, os.WNOHANG)[0] == 0

    def cpu(self) -> float:
        """Milliseconds of CPU that its threads have used so far."""
        return cpu_of_process(self.pid)

    def resident(self) -> float:
        """MB of memory."""
        return resident(self.pid)

    def press(self, key: bytes) -> float:
        """Press a key; when."""
        os.write(self._screen, key)
        return CLOCK.monotonic()

    def close(self) -> None:
        """End the program and wait for it."""
        os.kill(self.pid, signal.SIGTERM)
        while select.select([self._screen], [], [], PATIENCE)[0]:
            try:
                if not os.read(self._screen, 65536):
                    break
            except OSError:
                break
        os.waitpid(self.pid, 0)
        os.close(self._screen)


def cpu_of_process(pid: int) -> float:
    """Milliseconds of CPU of the threads of a process that live now, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    spent = (int((task / "schedstat").read_text("ascii").split()[0]) for task in tasks)
    return sum(spent) / 1e6


def resident(pid: int) -> float:
    """MB of memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
