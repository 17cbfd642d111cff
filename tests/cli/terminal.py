"""A program under a terminal of its own, of which everything written is seen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 30.0  # seconds; a busy machine takes longer, a broken program would for ever
_CLOCK = SystemClock()


class Terminal:
    """`neuron-observer` with some arguments."""

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        size: tuple[int, int] = (80, 24),
    ) -> None:
        self.written = b""
        self._ended = False
        self._screen, slave = pty.openpty()
        self._slave = slave
        self.resize(*size)
        self._before = termios.tcgetattr(slave)
        command = [sys.executable, "-m", "neuron_observer", *arguments]
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        given = {"TERM": "xterm", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
        given["XDG_CONFIG_HOME"] = "/nowhere"  # no settings of whoever runs the tests
        self.pid = os.fork()
        if not self.pid:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for stream in (0, 1, 2):
                os.dup2(slave, stream)
            os.execve(command[0], command, kept | given | dict(environment or {}))  # noqa: S606

    def until(self, pattern: bytes) -> None:
        """Wait until something was written."""
        begin = _CLOCK.monotonic()
        while not re.search(pattern, self.written):
            assert _CLOCK.monotonic() - begin < PATIENCE, self.written[-2000:]
            self._read()

    def _read(self) -> None:
        if select.select([self._screen], [], [], 0.05)[0]:
            self.written += os.read(self._screen, 65536)

    def again(self, pattern: bytes) -> None:
        """Wait until something is written from now on."""
        self.written = b""
        self.until(pattern)

    def resize(self, columns: int, rows: int) -> None:
        """Make the window larger or smaller; the kernel tells the program."""
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def is_blocked(self) -> bool:
        """Whether its first thread waits for another one, three times in a row; nothing is read."""
        for _ in range(3):
            _CLOCK.wait(0.02)
            if "futex" not in Path(f"/proc/{self.pid}/wchan").read_text("ascii"):
                return False
        return True

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._screen, keys)

    def send(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Take the terminal away."""
        os.close(self._slave)
        os.close(self._screen)
        self._screen = -1

    def stopped(self) -> None:
        """Wait until it is stopped, as by Ctrl-Z, and read what it wrote before."""
        begin = _CLOCK.monotonic()
        while not os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)[0]:
            assert _CLOCK.monotonic() - begin < PATIENCE, self.written[-2000:]
            self._read()
        self._read()

    def exit_code(self) -> int:
        """Wait for the end; a signal's number is negative."""
        begin = _CLOCK.monotonic()
        while True:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self._ended = True
                break
            assert _CLOCK.monotonic() - begin < PATIENCE, self.written[-2000:]
            if self._screen >= 0:
                self._read()
            else:
                _CLOCK.wait(0.02)
        if self._screen >= 0:
            self._read()
        return os.waitstatus_to_exitcode(status)

    def is_restored(self) -> bool:
        """Whether the terminal is as before: modes, first screen, cursor, mouse, paste."""
        off = all(
            self._last(mode) == b"l" for mode in (b"1049", b"1000", b"1003", b"1006", b"2004")
        )
        return off and self._last(b"25") == b"h" and termios.tcgetattr(self._slave) == self._before

    def _last(self, mode: bytes) -> bytes:
        """Whether a private mode was set (h) or reset (l) last; empty: it never was touched."""
        found: list[bytes] = re.findall(rb"\x1b\[\?%s([hl])" % mode, self.written)
        return found[-1] if found else b""

    def close(self) -> None:
        """Give the terminal back; what still runs under it is ended."""
        if self._screen >= 0:
            os.close(self._slave)
            os.close(self._screen)
        if not self._ended:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self._ended = True
