"""An interactive shell under a terminal of its own, as somebody types into it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
PATIENCE = 30.0  # seconds
_CLOCK = SystemClock()


class Shell:
    """bash with job control, without anybody's own settings."""

    def __init__(self) -> None:
        self.written = b""
        self._screen, slave = pty.openpty()
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PS1": "$ "}
        environment |= {"TERM": "dumb", "LANG": "C"}
        opened = (os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0)  # the first: it controls
        self.pid = os.posix_spawnp(
            "bash",
            ["bash", "--norc", "--noprofile", "--noediting", "-i"],
            environment,
            setsid=True,
            file_actions=[opened, *((os.POSIX_SPAWN_DUP2, 0, stream) for stream in (1, 2))],
        )
        os.close(slave)

    def close(self) -> None:
        """Hang up, and end it."""
        os.close(self._screen)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._screen, keys.encode())

    def until(self, pattern: bytes) -> re.Match[bytes]:
        """Wait until something was written; what was written before is done with."""
        begin = _CLOCK.monotonic()
        while not (found := re.search(pattern, self.written)):
            assert _CLOCK.monotonic() - begin < PATIENCE, self.written[-2000:].decode()
            if select.select([self._screen], [], [], 0.05)[0]:
                self.written += os.read(self._screen, 65536)
        self.written = self.written[found.end() :]
        return found


@contextmanager
def typing() -> Iterator[Shell]:
    """A shell that is closed at the end."""
    shell = Shell()
    try:
        yield shell
    finally:
        shell.close()
