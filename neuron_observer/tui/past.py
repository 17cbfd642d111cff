"""Cells of an earlier time, out of the feed's history; what is not held is missing and says so."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.feed import last_of
from neuron_observer.model import Missing, Why
from neuron_observer.tui.view import Cells

if TYPE_CHECKING:
    from neuron_observer.feed import Feed
    from neuron_observer.model import Cell, Frame, Place

NOT_HELD = Missing(Why.STALE, "nothing is held of that time")
NOT_READ = Missing(Why.STALE, "not read at that time")
_OFTEN = ("fast", "normal", "derived")
_REACHES = (5.0, 35.0)  # seconds for which a value stands: three or more periods of its lane


class Past(Cells):
    """The cells as they were some seconds before a frame."""

    def __init__(self, frame: Frame, feed: Feed, back: float) -> None:
        super().__init__(frame)
        self.back = back
        self._feed = feed
        self._known: dict[tuple[str, Place], Cell] = {}

    def at(self, metric: str, place: Place) -> Cell:
        """The last value before that time; what never changes is as it is now."""
        spec = METRICS.get(metric)
        if spec is None or spec.kind is Kind.INFO:
            return super().at(metric, place)
        if (metric, place) not in self._known:
            reach = _REACHES[spec.lane not in _OFTEN]
            self._known[metric, place] = self._then(metric, place, reach)
        return self._known[metric, place]

    def _then(self, metric: str, place: Place, reach: float) -> Cell:
        instant = self.frame.snapshot.monotonic - self.back
        value = last_of(self._feed, metric, place, instant - reach, instant)
        if value is not None:
            return value.value
        now = super().at(metric, place)
        if isinstance(now, Missing) and now.why in (Why.UNSUPPORTED, Why.DENIED):
            return now  # and never was
        earlier = last_of(self._feed, metric, place, -inf, instant - reach)
        return NOT_HELD if earlier is None else NOT_READ
