"""The feed of a running loop: the last frame, the history behind it, the last events."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.history import History
    from neuron_observer.model import Event, Frame, Place, Value

EVENTS = 2000  # that are held


class LiveFeed:
    """One thread publishes, any thread reads: frame and events are replaced, never changed."""

    def __init__(self, history: History, clock: Clock, explain: Callable[[str], str]) -> None:
        self._history = history
        self._clock = clock
        self._explain = explain
        self._frame: Frame | None = None
        self._events: tuple[tuple[float, Event], ...] = ()  # monotonic time at which it was seen

    def publish(self, frame: Frame) -> None:
        """This is the last frame from now on."""
        snapshot = frame.snapshot
        if snapshot.events:
            seen = tuple((snapshot.monotonic, event) for event in snapshot.events)
            self._events = (*self._events, *seen)[-EVENTS:]
        self._frame = frame

    def latest(self) -> Frame | None:
        """The last frame, or None before the first; its age is the reader's to tell."""
        return self._frame

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """What was read of one metric over the last `seconds`, oldest first; gaps stay gaps."""
        return self._history.values(metric, place, seconds)

    def last(self, metric: str, place: Place, begin: float, end: float) -> Value | None:
        """What was read last between two instants; None if nothing is held of them."""
        return self._history.last(metric, place, begin, end)

    def events(self, seconds: float) -> Sequence[Event]:
        """Events seen in the last `seconds`, oldest first, 2,000 at most."""
        since = self._clock.monotonic() - seconds
        return [event for seen, event in self._events if seen >= since]

    def explain(self, finding_id: str) -> str:
        """The meaning of a finding in plain text; empty if the id is unknown."""
        return self._explain(finding_id)
