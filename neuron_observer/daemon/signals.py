"""Signals that a daemon hears."""

from __future__ import annotations

import signal
from contextlib import contextmanager
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
