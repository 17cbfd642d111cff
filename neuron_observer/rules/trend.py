"""`trend`: a robust slope, the median of the slopes between pairs (Theil 1950, Sen 1968)."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.model import Missing, Value
from neuron_observer.rules.median import median
from neuron_observer.rules.outcome import Outcome, false

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Place
    from neuron_observer.rules import rule as r
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Seen

POINTS = 24  # so many give enough pairs, and are cheap
_FEWEST = 8  # values that say anything
_COVERED = 0.8  # share of the window that they must span
_GAP = 0.25  # share of it that may lie between two: nobody knows how they went while nobody read
_ABOUT = 1 - 1e-9  # of the limit: nearer to it rounding may decide, so a slope counts as steep
_MOMENT = 1e-6  # seconds, for the same reason


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

    The median of slopes is past the limit only if half of them are. Those between values that are
    kept are counted once each; then one comparison tells that a value makes too few more, and with
    it every later value that is no higher, until the next one is kept.
    """

    __slots__ = ("_begun", "_bound", "_leaf", "_steep", "_times", "_until", "_values")

    def __init__(self, leaf: r.Trend) -> None:
        self._leaf = leaf
        self._begun = False
        self._times: list[float] = []  # of what is kept
        self._values: list[int | float] = []  # negative where a fall is looked for
        self._steep = 0  # pairs of them whose slope is past the limit, or about there
        self._until = -inf  # until then a value within the bound changes nothing
        self._bound = inf  # on the side that the limit is on

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """The slope and the number of moves, against the limits."""
        leaf = self._leaf
        seen = scene.view.see(leaf.metric, place)
        self._until = -inf
        if isinstance(seen.cell, Missing):
            return scene.hole(leaf.metric, place, seen.cell)
        pause = leaf.window / POINTS
        if isinstance(seen.cell, str):
            return scene.early(leaf.window, scene.now + pause)
        self._keep(scene, place, seen.cell, seen.read_at)
        first, last = self._times[0], self._times[-1]
        again = max(last + pause, scene.now + 0.001)
        enough = first + _COVERED * leaf.window
        until = min(last + pause, first + leaf.window) - _MOMENT
        if len(self._times) + 1 < _FEWEST or seen.read_at - first < _COVERED * leaf.window:
            self._until, self._bound = min(until, enough - _MOMENT), inf
            return scene.early(leaf.window, again)
        self._until, self._bound = until, self._highest(seen.read_at)
        if self._sign * seen.cell <= self._bound:
            return false(again)
        return self._measured(scene, place, seen, seen.cell, again)

    def unmoved(self, seen: Seen) -> bool:
        """Whether it says of this reading what it said when it was looked at last."""
        return (
            seen.read_at < self._until
            and not isinstance(seen.cell, (Missing, str))
            and self._sign * seen.cell <= self._bound
        )

    def _measured(
        self, scene: Scene, place: Place, seen: Seen, value: float, again: float
    ) -> Outcome:
        leaf = self._leaf
        times = (*self._times, seen.read_at)
        if max(later - earlier for earlier, later in pairwise(times)) > _GAP * leaf.window:
            self._until = -inf
            return scene.early(leaf.window, again)
        pairs = zip(self._times, self._values, strict=True)
        kept = [Value(self._sign * y, x) for x, y in pairs]
        counts = METRICS[leaf.metric].kind is Kind.COUNTER
        values = [*kept, Value(value, seen.read_at)]
        found = slope(values, leaf.window, counts=counts, least=leaf.than / leaf.per)
        if found is None:
            return scene.early(leaf.window, again)
        climbs = found.per_second * leaf.per
        rises = found.rises if leaf.than >= 0 else found.falls
        past = climbs > leaf.than if leaf.than >= 0 else climbs < leaf.than
        if not past or rises < leaf.rises:
            return false(again)
        self._until = -inf
        outcome = scene.shown(
            leaf.metric, place, seen, rate=climbs, than=leaf.than, count=rises, seconds=leaf.window
        )
        return outcome._replace(again=again)

    @property
    def _sign(self) -> int:
        return 1 if self._leaf.than >= 0 else -1

    @property
    def _limit(self) -> float:
        """The slope that is about past the limit, upwards."""
        return abs(self._leaf.than) / self._leaf.per * _ABOUT

    def _highest(self, now: float) -> float:
        """What a value that is read now or later may be while the median stays within the limit."""
        size = len(self._times)
        if METRICS[self._leaf.metric].kind is Kind.COUNTER:  # its falls are resets
            return -inf
        slopes = size * (size - 1) // 2 + size - 1  # all with a later one, but for one kept now
        allowed = (slopes - 1) // 2 - self._steep
        if not 0 <= allowed < size:
            return -inf if allowed < 0 else inf
        limit, pairs = self._limit, zip(self._times, self._values, strict=True)
        bound = sorted([y + limit * (now - x) for x, y in pairs])[allowed]
        return bound - abs(bound) * 1e-12

    def _keep(self, scene: Scene, place: Place, value: float, read_at: float) -> None:
        if not self._begun and scene.history is not None:
            self._begun = True
            leaf = self._leaf
            for one in scene.history.values(leaf.metric, place, leaf.window):
                if not isinstance(one.value, str):
                    self._add(one.read_time, self._sign * one.value)
        self._add(read_at, self._sign * value)

    def _add(self, at: float, value: float) -> None:
        window, times, values = self._leaf.window, self._times, self._values
        while times and times[0] < at - window:
            begin, first = times.pop(0), values.pop(0)
            limit, pairs = self._limit, zip(times, values, strict=True)
            self._steep -= sum([y - first > limit * (x - begin) for x, y in pairs])
        if not times or at >= times[-1] + window / POINTS:
            limit, pairs = self._limit, zip(times, values, strict=True)
            self._steep += sum([value - y > limit * (at - x) for x, y in pairs])
            times.append(at)
            values.append(value)
