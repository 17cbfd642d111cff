"""`trend`: a robust slope, the median of the slopes between pairs (Theil 1950, Sen 1968)."""

from __future__ import annotations

from collections import deque
from itertools import combinations, pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.model import Missing, Value
from neuron_observer.rules.outcome import Outcome, false

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.model import Place, Scalar
    from neuron_observer.rules import rule as r
    from neuron_observer.rules.scene import Scene

POINTS = 24  # so many give enough pairs, and are cheap
_FEWEST = 8  # values that say anything
_COVERED = 0.8  # share of the window that they must span


class Slope(NamedTuple):
    """How values went."""

    per_second: float
    rises: int  # pairs of neighbours of which the later is higher
    falls: int


def slope(
    values: Sequence[Value], window: float, *, counts: bool, least: float = 0.0
) -> Slope | None:
    """How values went, or None while they say too little; a fall of a counter is a reset.

    No slope is steeper than the steepest between neighbours. Where that is within `least` (upwards;
    negative: downwards) it is given instead, at a tenth of the cost.
    """
    points = [(v.read_time, v.value) for v in values if isinstance(v.value, (int, float))]
    if len(points) < _FEWEST or points[-1][0] - points[0][0] < _COVERED * window:
        return None
    if counts:
        points = _grown(points)
    steps = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in pairwise(points) if x2 > x1]
    if not steps:
        return None
    rises, falls = sum(step > 0 for step in steps), sum(step < 0 for step in steps)
    steepest = max(steps) if least >= 0 else min(steps)
    if abs(steepest) <= abs(least) or steepest * least < 0:
        return Slope(steepest, rises, falls)
    slopes = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(points, 2) if x2 > x1]
    return Slope(median(slopes), rises, falls)


def _grown(points: list[tuple[float, int | float]]) -> list[tuple[float, int | float]]:
    """What a counter grew by since the first value."""
    grown: list[tuple[float, int | float]] = []
    total: int | float = 0
    before = points[0][1]
    for at, value in points:
        total += value - before if value >= before else value
        before = value
        grown.append((at, total))
    return grown


class Trend:
    """`trend`: a robust slope over values that are kept, one each 24th of the window.

    A window may be longer than the history that others keep; what that has is taken to begin with.
    """

    def __init__(self, leaf: r.Trend) -> None:
        self._leaf = leaf
        self._pause = leaf.window / POINTS
        self._kept: deque[Value] = deque(maxlen=POINTS + 2)
        self._begun = False
        self._counts = METRICS[leaf.metric].kind is Kind.COUNTER
        self._points: list[tuple[float, int | float]] = []  # those kept, as far as they are numbers
        self._steep: tuple[int, int] | None = None  # of their slopes: past the limit, and all

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """The slope and the number of moves, against the limits."""
        leaf = self._leaf
        seen = scene.view.see(leaf.metric, place)
        if isinstance(seen.cell, Missing):
            return scene.hole(leaf.metric, place, seen.cell)
        self._keep(scene, place, Value(seen.cell, seen.read_at))
        again = self._kept[-1].read_time + self._pause
        again = max(again, scene.now + 0.001)
        if len(self._kept) + 1 < _FEWEST:
            return scene.early(leaf.metric, place, leaf.window, again)
        if self._is_flat(seen.read_at, seen.cell):
            return false(again)
        values = [*self._kept, Value(seen.cell, seen.read_at)]
        found = slope(values, leaf.window, counts=self._counts, least=leaf.than / leaf.per)
        if found is None:
            return scene.early(leaf.metric, place, leaf.window, again)
        climbs = found.per_second * leaf.per
        rises = found.rises if leaf.than >= 0 else found.falls
        past = climbs > leaf.than if leaf.than >= 0 else climbs < leaf.than
        if not past or rises < leaf.rises:
            return false(again)
        outcome = scene.shown(
            leaf.metric, place, seen, rate=climbs, than=leaf.than, count=rises, seconds=leaf.window
        )
        return outcome._replace(again=again)

    def _is_flat(self, at: float, value: Scalar) -> bool:
        """Whether so few slopes are past the limit that the median is not: cheap, and often so."""
        if self._counts or isinstance(value, str):
            return False
        if self._steep is None:
            self._points = [
                (v.read_time, v.value) for v in self._kept if isinstance(v.value, (int, float))
            ]
            pairs = combinations(self._points, 2)
            self._steep = self._count((y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in pairs)
        points = self._points
        if len(points) + 1 < _FEWEST or at - points[0][0] < _COVERED * self._leaf.window:
            return False
        steep, slopes = self._count((value - y) / (at - x) for x, y in points if at > x)
        return 2 * (steep + self._steep[0]) < slopes + self._steep[1]

    def _count(self, slopes: Iterable[float]) -> tuple[int, int]:
        """How many are past the limit, and how many there are."""
        than, per = self._leaf.than, self._leaf.per
        climbs = [one * per for one in slopes]
        steep = [one for one in climbs if (one > than if than >= 0 else one < than)]
        return len(steep), len(climbs)

    def _keep(self, scene: Scene, place: Place, value: Value) -> None:
        if not self._begun and scene.history is not None:
            self._begun = True
            earlier = scene.history.values(self._leaf.metric, place, self._leaf.window)
            for one in earlier:
                self._add(one)
        self._add(value)

    def _add(self, value: Value) -> None:
        begin = value.read_time - self._leaf.window
        while self._kept and self._kept[0].read_time < begin:
            self._kept.popleft()
            self._steep = None
        if not self._kept or value.read_time >= self._kept[-1].read_time + self._pause:
            self._kept.append(value)
            self._steep = None
