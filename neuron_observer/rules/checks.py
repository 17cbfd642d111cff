"""The predicates that look at one reading of one place, each with what it has to remember."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.model import Missing, Why
from neuron_observer.rules import rule as r
from neuron_observer.rules.outcome import FALSE, Outcome, false
from neuron_observer.rules.places import reached
from neuron_observer.rules.trust import is_level, trust

if TYPE_CHECKING:
    from neuron_observer.model import Place, Scalar
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Seen

_NO_NUMBER = Missing(Why.FAILED, "is no number")


class Level:
    """`above` and `below`, with hysteresis."""

    __slots__ = ("_calm", "_leaf", "_level", "_on", "_sign")

    def __init__(self, leaf: r.Above | r.Below) -> None:
        self._leaf = leaf
        self._sign = 1.0 if isinstance(leaf, r.Above) else -1.0
        self._level = is_level(leaf.metric)
        self._on = False
        self._calm = -inf  # a value up to here changes nothing; of `below` it is negative

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """Compare the value with the limit; once true, with the one at which it clears."""
        leaf = self._leaf
        self._calm = -inf
        seen = scene.view.see(leaf.metric, place)
        if isinstance(seen.cell, Missing):
            return scene.hole(leaf.metric, place, seen.cell)
        if isinstance(seen.cell, str):
            return scene.hole(leaf.metric, place, _NO_NUMBER)
        limit = self._limit(scene, place)
        if isinstance(limit, Outcome):
            return limit
        baseline = scene.baseline(leaf.metric, place) if self._level else 0
        if baseline > seen.cell:  # the count was reset since: it stands for itself again
            baseline = 0
        over = self._sign * (seen.cell - baseline)
        enter, leave = limit
        self._on = over > self._sign * (leave if self._on else enter)
        if not self._on:
            self._calm = -inf if self._level else self._sign * enter
            return FALSE
        return scene.shown(leaf.metric, place, seen, baseline, than=enter, baseline=baseline)

    def unmoved(self, seen: Seen) -> bool:
        """Whether it says of this reading what it said when it was looked at last."""
        return not isinstance(seen.cell, (Missing, str)) and self._sign * seen.cell <= self._calm

    def _limit(self, scene: Scene, place: Place) -> tuple[float, float] | Outcome:
        """Where it becomes true, and where false again."""
        than, clear_at = self._leaf.than, self._leaf.clear_at
        if not isinstance(than, str):
            enter = than * self._leaf.times
            return enter, enter if clear_at is None else clear_at
        scope = METRICS[than].scope
        at = next(iter(reached(scope, place)), place)
        cell = scene.view.see(than, at).cell
        if isinstance(cell, (Missing, str)):
            reason = cell if isinstance(cell, Missing) else _NO_NUMBER
            return scene.hole(than, at, reason)
        factor = self._leaf.times if clear_at is None else clear_at
        return cell * self._leaf.times, cell * factor


class Word:
    """`one_of`, `none_of` and `contains`."""

    __slots__ = ("_leaf", "_not")

    def __init__(self, leaf: r.OneOf | r.NoneOf | r.Contains) -> None:
        self._leaf = leaf
        self._not = False  # when it was looked at last

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """Compare the word."""
        metric = self._leaf.metric
        self._not = False
        seen = scene.view.see(metric, place)
        if isinstance(seen.cell, Missing):
            return scene.hole(metric, place, seen.cell)
        self._not = not self._holds(seen.cell)
        return FALSE if self._not else scene.shown(metric, place, seen)

    def unmoved(self, seen: Seen) -> bool:
        """Whether it is still false."""
        return self._not and not isinstance(seen.cell, Missing) and not self._holds(seen.cell)

    def _holds(self, cell: Scalar) -> bool:
        leaf = self._leaf
        if isinstance(leaf, r.Contains):
            return isinstance(cell, str) and leaf.word in cell.split(",")
        return (cell in leaf.values) is isinstance(leaf, r.OneOf)


class Stuck:
    """`stuck`: read again and again, and always the same."""

    __slots__ = ("_leaf", "_moved", "_since", "_unwatched", "_value")

    def __init__(self, leaf: r.Stuck) -> None:
        self._leaf = leaf
        self._value: object = None
        self._since: float | None = None
        self._unwatched = 0.0
        self._moved = False

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """How long it has shown the same, by the times of the reads; time unwatched is no time."""
        leaf = self._leaf
        seen = scene.view.see(leaf.metric, place)
        if isinstance(seen.cell, Missing):
            self._since, self._moved = None, False
            return scene.hole(leaf.metric, place, seen.cell)
        if self._since is None or seen.cell != self._value:
            self._moved = self._since is not None
            self._since, self._value = seen.read_at, seen.cell
            self._unwatched = scene.unwatched
        skipped = scene.unwatched - self._unwatched
        lasted = seen.read_at - self._since - skipped
        if lasted >= leaf.lasting:
            return scene.shown(leaf.metric, place, seen, seconds=lasted)
        again = max(self._since + skipped + leaf.lasting, scene.now + 0.001)
        if self._moved:
            return false(again)
        return scene.early(leaf.lasting, again)

    def unmoved(self, _seen: Seen) -> bool:
        """Any move counts."""
        return False


class Absent:
    """`absent_for`: a reading that should be there and is not."""

    __slots__ = ("_leaf", "_since", "_there")

    def __init__(self, leaf: r.AbsentFor) -> None:
        self._leaf = leaf
        self._since: float | None = None
        self._there = False  # when it was looked at last

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """How long it has been missing."""
        leaf = self._leaf
        seen = scene.view.see(leaf.metric, place)
        self._there = not isinstance(seen.cell, Missing)
        if not isinstance(seen.cell, Missing):
            self._since = None
            return FALSE
        if seen.cell.why not in leaf.whys or leaf.saying not in seen.cell.detail:
            self._since = None
            return scene.hole(leaf.metric, place, seen.cell)
        if self._since is None:
            self._since = seen.read_at
        lasted = scene.now - self._since
        if lasted < leaf.lasting:
            return false(self._since + leaf.lasting)
        shown = scene.shown(leaf.metric, place, seen, seconds=lasted, line=seen.cell.detail)
        # that no answer came is our own word
        return shown if seen.cell.why is Why.STALE else _witnessed(shown)

    def unmoved(self, seen: Seen) -> bool:
        """Whether it says of this reading what it said when it was looked at last."""
        return self._there and not isinstance(seen.cell, Missing)


def _witnessed(shown: Outcome) -> Outcome:
    """A register that was read and says that nobody answers is the hardware's own word."""
    if any(trust(sight.metric) == "hearsay" for sight in shown.sights):
        return shown
    sights = tuple(sight._replace(trust="hardware") for sight in shown.sights)
    return shown._replace(sights=sights, hard=True)
