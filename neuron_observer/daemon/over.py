"""Findings that are over, as far as this run saw their end: where nothing writes them, these are
all that is known of them.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING

from neuron_observer.model import State

if TYPE_CHECKING:
    from neuron_observer.model import Finding, Frame

MOST = 500  # of an answer, and of what is held


class Over:
    """The loop's thread notes, any thread reads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: deque[tuple[float, Finding]] = deque(maxlen=MOST)

    def note(self, frame: Frame) -> None:
        """Keep what ends with a frame; call it with every one."""
        ended = [one for one in frame.findings if one.state is State.RESOLVED]
        if ended:
            with self._lock:
                self._held.extend((frame.snapshot.at, one) for one in ended)

    def held(self) -> list[tuple[float, Finding]]:
        """All that is here, with the time of their end; the latest last."""
        with self._lock:
            return list(self._held)
