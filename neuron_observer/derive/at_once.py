"""Rates of all cores of a device at once, where every counter is a number that rose.

So it is nearly always while a job runs. Whatever is out of the ordinary gives nothing here and is
looked at counter by counter (`derive.rates`), which gives the same where both give something.
"""

from __future__ import annotations

from itertools import chain, repeat
from operator import itemgetter, sub, truediv
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from neuron_observer.model import Batch, Layout, Place

METRICS: Final = (
    "core.utilization",
    "core.inference_rate",
    "core.flop_rate",
    "core.flops_per_busy_second",
)
_COUNTERS: Final = ("core.time_in_use", "core.inferences", "core.flops")
_WHOLE: Final = {int}
_MILLION: Final = repeat(1e6)  # microseconds in a second


class AtOnce:
    """Rates of some cores whose counters one batch holds."""

    def __init__(self, layout: Layout, places: tuple[Place, ...]) -> None:
        starts = [layout.columns[metric].start for metric in _COUNTERS]
        rows = chain.from_iterable(range(start, start + len(places)) for start in starts)
        self._pick = itemgetter(*rows)
        self._cores = len(places)

    @staticmethod
    def fits(layout: Layout, places: tuple[Place, ...]) -> bool:
        """Whether a layout has all counters of these cores, and of no others."""
        columns = [layout.columns.get(metric) for metric in _COUNTERS]
        return bool(places) and all(c is not None and c.places == places for c in columns)

    def rates(self, before: Batch, now: Batch) -> list[Any] | None:
        """Cells of `METRICS`, each of all cores; None where one of them takes a closer look."""
        seconds = now.read_at - before.read_at
        try:
            rose: list[Any] = [*map(sub, self._pick(now.cells), self._pick(before.cells))]
        except TypeError:  # something is missing
            return None
        if seconds <= 0 or set(map(type, rose)) != _WHOLE or min(rose) <= 0:
            return None
        cores = self._cores
        busy = [*map(truediv, rose[:cores], _MILLION)]
        shares = [*map(truediv, busy, repeat(seconds))]
        if max(shares) > 1:
            return None
        ran_and_flops = map(truediv, rose[cores:], repeat(seconds))
        return [*shares, *ran_and_flops, *map(truediv, rose[2 * cores :], busy)]
