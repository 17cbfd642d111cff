"""`increased` and `rate_above`: what a counter grew by while we watched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.model import Missing, Why
from neuron_observer.rules import rule as r
from neuron_observer.rules.outcome import FALSE, Outcome, false
from neuron_observer.rules.trust import not_live

if TYPE_CHECKING:
    from neuron_observer.model import Place
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Seen

# The driver resets every device at load, and each start of a job its cores (neuron_reset.c).
_NEVER_ZERO = frozenset({"core.reset_requests"})
_TWO_READS = Missing(Why.NOT_YET, "needs two reads")


class Growth:
    """`increased` and `rate_above`: what a counter grew by while we watched, step by step.

    A counter that falls was reset; then it grew by what it shows. The steps of one second are one.
    """

    __slots__ = (
        "_before",
        "_driver",
        "_last",
        "_leaf",
        "_on",
        "_rests",
        "_since",
        "_steps",
        "_sum",
    )

    def __init__(self, leaf: r.Increased | r.RateAbove) -> None:
        self._leaf = leaf
        # read time, amount, rises in it; a tuple: thousands stay empty, and share the empty one
        self._steps: tuple[tuple[float, int, int], ...] = ()
        self._sum = 0
        self._last: int | None = None
        self._before: int | None = None  # the value before the latest step
        self._since = 0.0  # of the first read
        self._on = False
        self._driver: str | None = None  # whose counters were looked at last
        self._rests = False  # false, and so until the counter moves

    @property
    def _window(self) -> float:
        leaf = self._leaf
        return leaf.window if isinstance(leaf, r.RateAbove) else leaf.within

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """What it grew by in the window, against the limit."""
        seen = scene.view.see(self._leaf.metric, place)
        if self._rests and seen.cell == self._last and scene.driver == self._driver:
            return FALSE
        self._rests = False
        if isinstance(seen.cell, int):
            self._note(scene, place, seen, seen.cell)
        self._forget(self._ended(scene, place))
        self._on = self._is_above()
        if self._on:
            return self._shown(scene, place, seen)
        if isinstance(seen.cell, Missing):
            return scene.hole(self._leaf.metric, place, seen.cell)
        self._driver = scene.driver
        reason = not_live(self._leaf.metric, self._driver)
        if reason:
            return scene.hole(self._leaf.metric, place, Missing(Why.UNSUPPORTED, reason))
        return self._watched(scene, place, seen)

    def unmoved(self, seen: Seen) -> bool:
        """Whether it rests and the counter stands where it stood; the driver is another matter."""
        return self._rests and seen.cell == self._last

    def _note(self, scene: Scene, place: Place, seen: Seen, value: int) -> None:
        metric, last = self._leaf.metric, self._last
        if last == value:
            return
        stored = scene.note(metric, place, value)
        if last is None:
            self._since = seen.read_at
            last = stored
            if last is not None and isinstance(self._leaf, r.Increased):
                self._since = float("-inf")  # an earlier run did the first of two reads
            if last is None:
                last = value
                edge = isinstance(self._leaf, r.Increased)
                if value and edge and metric not in _NEVER_ZERO:
                    shown = scene.shown(metric, place, seen)
                    scene.before_watched[metric, place] = shown.sights[0]
        amount = value - last if value >= last else value
        if amount:
            self._before = last if value >= last else 0
            self._add(seen.read_at, amount)
        self._last = value

    def _add(self, at: float, amount: int) -> None:
        self._sum += amount
        if self._steps and at - self._steps[-1][0] < 1.0:
            begun, so_far, rises = self._steps[-1]
            self._steps = *self._steps[:-1], (begun, so_far + amount, rises + 1)
        else:
            self._steps = *self._steps, (at, amount, 1)

    def _ended(self, scene: Scene, place: Place) -> float:
        """Until when (monotonic) growth does not count: its window is over, or it was remedied."""
        since, leaf = scene.now - self._window, self._leaf
        if not self._steps or not isinstance(leaf, r.Increased) or not leaf.ended_by:
            return since
        scope = METRICS[leaf.metric].scope
        ends = scene.occurrences.of(leaf.ended_by, place, scope, since)
        return max((one.at for one in ends), default=since)

    def _forget(self, ended: float) -> None:
        if self._steps and self._steps[0][0] <= ended:
            self._steps = tuple(one for one in self._steps if one[0] > ended)
            self._sum = sum(amount for _, amount, _ in self._steps)

    def _is_above(self) -> bool:
        leaf = self._leaf
        if isinstance(leaf, r.Increased):
            if self._on and leaf.clear_at is not None:
                return self._sum > leaf.clear_at
            enough = self._sum >= leaf.by
            return enough and (leaf.steps == 1 or self._rises(leaf.apart) >= leaf.steps)
        limit = leaf.than
        if self._on and leaf.clear_at is not None:
            limit = leaf.clear_at
        return self._sum > limit * leaf.window / leaf.per

    def _rises(self, apart: float) -> int:
        if not apart:
            return sum(rises for _, _, rises in self._steps)
        found, last = 0, float("-inf")
        for at, _, _ in self._steps:
            if at - last >= apart:
                found, last = found + 1, at
        return found

    def _shown(self, scene: Scene, place: Place, seen: Seen) -> Outcome:
        leaf = self._leaf
        again = self._steps[0][0] + self._window if self._steps else None
        extra: dict[str, int | float] = {"count": self._sum, "seconds": self._window}
        if isinstance(leaf, r.RateAbove):
            extra |= {"rate": self._sum / leaf.window * leaf.per, "than": leaf.than}
        outcome = scene.shown(leaf.metric, place, seen, self._before, **extra)
        return outcome._replace(again=again)

    def _watched(self, scene: Scene, place: Place, seen: Seen) -> Outcome:
        """False, once it has been watched long enough to say so."""
        metric = self._leaf.metric
        if isinstance(self._leaf, r.Increased):
            if seen.read_at > self._since or self._steps:
                self._rests = not self._steps
                return false(self._steps[0][0] + self._window if self._steps else None)
            scene.view.await_read(metric, place)
            return scene.hole(metric, place, _TWO_READS)
        end = self._since + self._window
        if scene.now < end:
            return scene.early(self._window, end)
        return false(self._steps[0][0] + self._window if self._steps else None)
