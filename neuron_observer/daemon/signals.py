"""Signals that a daemon hears. A handler only puts a word into a queue: it may take no lock."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.daemon import Daemon


@contextmanager
def stopped_by_signals(daemon: Daemon) -> Iterator[None]:
    """SIGTERM and SIGINT stop a daemon instead of ending the process where it stands."""
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda *_: daemon.stop()) for number in numbers]
    try:
        yield
    finally:
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
