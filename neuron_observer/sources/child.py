"""The one place that starts a process: neuron-monitor, neuron-ls, journalctl. All on request.

A child gets no input, a session of its own and a time limit. One that cannot be killed (state D
inside the driver) is left, counted and not waited for; while it lives no second one is started.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.clock import Clock

CHUNK = 65_536
GRACE = 1.0  # seconds that a killed child has to be gone
NOT_FOUND = 127  # the shell's statuses
NOT_EXECUTABLE = 126


class Ended(NamedTuple):
    """How a one-shot call went."""

    status: int | None  # exit status, negative for a signal; None: it did not end in time
    stdout: bytes = b""
    stderr: bytes = b""
    cut: bool = False  # it printed more than was asked for, and was ended

    @property
    def hung(self) -> bool:
        """Whether it gave no answer in time."""
        return self.status is None


class Children:
    """Starts children and remembers those that would not go."""

    def __init__(self, clock: Clock, *, kill: Callable[[int, int], None] = os.killpg) -> None:
        self._clock = clock
        self._kill = kill
        self._left: list[subprocess.Popen[bytes]] = []

    @property
    def left(self) -> int:
        """Children that could not be killed and live on."""
        self._left = [child for child in self._left if child.poll() is None]
        return len(self._left)

    def start(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a command; raises OSError if it cannot be."""
        return subprocess.Popen(  # noqa: S603 - the one place; argv is the configuration's, no shell
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )

    def end(self, child: subprocess.Popen[bytes]) -> int | None:
        """Kill a child with its descendants; its status, or None if it is left behind."""
        if child.poll() is None:
            try:
                self._kill(child.pid, signal.SIGKILL)
                child.wait(GRACE)
            except subprocess.TimeoutExpired:
                self._left.append(child)
            except ProcessLookupError:
                child.poll()
        for stream in (child.stdout, child.stderr):
            if stream:
                stream.close()
        return child.returncode

    def run(self, argv: Sequence[str], *, seconds: float, max_output: int = 1 << 22) -> Ended:
        """Call a command once; never longer than `seconds` and `GRACE`.

        A command that is missing gives status 127, one that may not be run 126, as in a shell.
        """
        if self.left:
            return Ended(None, stderr=b"a call before this one still hangs")
        try:
            child = self.start(argv)
        except FileNotFoundError as failure:
            return Ended(NOT_FOUND, stderr=str(failure).encode())
        except OSError as failure:
            return Ended(NOT_EXECUTABLE, stderr=str(failure).encode())
        deadline = self._clock.monotonic() + seconds
        stdout, stderr, cut = self._gather(child, deadline, max_output)
        hung = not cut and not self._ends_by(child, deadline)
        status = self.end(child)
        return Ended(None if hung else status, stdout, stderr, cut)

    def _gather(
        self, child: subprocess.Popen[bytes], deadline: float, max_output: int
    ) -> tuple[bytes, bytes, bool]:
        """Both streams until they end, the deadline or the bound; whether the bound was met."""
        found = (bytearray(), bytearray())
        cut = False
        with selectors.DefaultSelector() as selector:
            for stream, buffer in zip((child.stdout, child.stderr), found, strict=True):
                if stream:
                    selector.register(stream, selectors.EVENT_READ, buffer)
            while selector.get_map() and not cut:
                left = deadline - self._clock.monotonic()
                if left <= 0:
                    break
                for key, _ in selector.select(left):
                    chunk = os.read(key.fd, CHUNK)
                    key.data.extend(chunk)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    cut = cut or len(key.data) > max_output
        return bytes(found[0][:max_output]), bytes(found[1][:max_output]), cut

    def _ends_by(self, child: subprocess.Popen[bytes], deadline: float) -> bool:
        try:
            child.wait(max(deadline - self._clock.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            return False
        return True
