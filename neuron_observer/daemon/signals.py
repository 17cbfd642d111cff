"""Signals that a daemon hears. A handler only puts a word into a queue: it may take no lock."""

from __future__ import annotations

import os
import select
import signal
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.daemon import Daemon


class Bell:
    """Wakes one thread that waits; a signal rings it too, whichever thread got it."""

    def __init__(self) -> None:
        self._end, self.fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def __del__(self) -> None:
        """Nobody can ring it any more."""
        os.close(self._end)
        os.close(self.fd)

    def ring(self) -> None:
        """From any thread or signal handler; one that rings already need not be rung."""
        with suppress(BlockingIOError):
            os.write(self.fd, b"!")

    def wait(self, seconds: float) -> None:
        """Until it rings, or so long."""
        poller = select.poll()
        poller.register(self._end, select.POLLIN)
        if poller.poll(seconds * 1000):
            os.read(self._end, 512)


@contextmanager
def stopped_by_signals(daemon: Daemon) -> Iterator[None]:
    """SIGTERM and SIGINT stop a daemon instead of ending the process where it stands."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: daemon.stop()) for number in numbers]
    rung = signal.set_wakeup_fd(daemon.bell.fd, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(rung)
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def hangups() -> Iterator[SimpleQueue[None]]:
    """Every SIGHUP, as an item of a queue; none of them ends the process, not while it begins."""
    heard: SimpleQueue[None] = SimpleQueue()  # its `put` may be interrupted by itself
    before = signal.signal(signal.SIGHUP, lambda *_: heard.put(None))
    try:
        yield heard
    finally:
        signal.signal(signal.SIGHUP, before)
