"""Conditions made ready for one place: what they read is found once, then they are evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from neuron_observer.catalogue import METRICS
from neuron_observer.model import NODE, Missing, Place, Why
from neuron_observer.rules import checks, circumstances, growth, peers, trend
from neuron_observer.rules import rule as r
from neuron_observer.rules.outcome import FALSE, Hole, Outcome, every, opposite, some, unless
from neuron_observer.rules.trust import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from neuron_observer.rules.rule import Condition, Leaf
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Seen, Spot, View

_ELSEWHERE = Missing(Why.UNSUPPORTED, "not known of this place")

_CHECKS: dict[type, Callable[..., Check]] = {
    r.Above: checks.Level,
    r.Below: checks.Level,
    r.OneOf: checks.Word,
    r.NoneOf: checks.Word,
    r.Contains: checks.Word,
    r.Increased: growth.Growth,
    r.RateAbove: growth.Growth,
    r.Stuck: checks.Stuck,
    r.AbsentFor: checks.Absent,
    r.DiffersFromPeers: peers.Peers,
    r.Trend: trend.Trend,
}


class Check(Protocol):
    """A predicate on the reading of one place."""

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """What it says now."""
        ...


_PATIENT = (checks.Level, checks.Absent, trend.Trend)  # that know what would change their answer


class Test(Protocol):
    """A condition of one place."""

    def bind(self, view: View) -> Iterable[Spot]:
        """Find what it reads; again whenever files came or went."""
        ...

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        """Whether a new reading of something that it reads is sure to change nothing."""
        ...

    def evaluate(self, scene: Scene) -> Outcome:
        """What it says now."""
        ...


Shared: TypeAlias = "dict[Condition, Test]"  # of the whole node, the same for all places


def test_of(condition: Condition, scope: str, place: Place, shared: Shared) -> Test:
    """A condition for one place."""
    if isinstance(condition, (r.AllOf, r.AnyOf)):
        parts = [test_of(part, scope, place, shared) for part in condition.parts]
        return _Joined(every if isinstance(condition, r.AllOf) else some, parts)
    if isinstance(condition, (r.Not, r.Unless)):
        turn = opposite if isinstance(condition, r.Not) else unless
        return _Turned(turn, test_of(condition.part, scope, place, shared))
    if isinstance(condition, r.Anywhere):
        if condition not in shared:
            shared[condition] = _Once(test_of(condition.part, "node", NODE, shared))
        return shared[condition]
    return _leaf(condition, scope, place)


def _leaf(leaf: Leaf, scope: str, place: Place) -> Test:
    if isinstance(leaf, r.Matches):
        return circumstances.Matches(leaf, scope, place)
    if isinstance(leaf, r.MissingDevice):
        return circumstances.MissingDevice(place)
    if isinstance(leaf, r.CollectorFails):
        return circumstances.CollectorFails(leaf)
    if isinstance(leaf, r.ClockJumped):
        return circumstances.ClockJumped(leaf)
    return _OnReadings(leaf, scope, place)


class _Joined:
    def __init__(self, join: Callable[[Iterable[Outcome]], Outcome], parts: list[Test]) -> None:
        self._join = join
        self._parts = parts

    def bind(self, view: View) -> Iterator[Spot]:
        for part in self._parts:
            yield from part.bind(view)

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        return all([part.unmoved(spot, seen) for part in self._parts])

    def evaluate(self, scene: Scene) -> Outcome:
        return self._join([part.evaluate(scene) for part in self._parts])


class _Turned:
    def __init__(self, turn: Callable[[Outcome], Outcome], part: Test) -> None:
        self._turn = turn
        self._part = part

    def bind(self, view: View) -> Iterable[Spot]:
        return self._part.bind(view)

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        return self._part.unmoved(spot, seen)

    def evaluate(self, scene: Scene) -> Outcome:
        return self._turn(self._part.evaluate(scene))


class _Once:
    """A condition that many ask for, found and evaluated once an instant."""

    def __init__(self, part: Test) -> None:
        self._part = part
        self._spots: list[Spot] = []
        self._bound = -1
        self._evaluated = -1
        self._outcome = FALSE

    def bind(self, view: View) -> list[Spot]:
        if self._bound != view.generation:
            self._spots, self._bound = list(self._part.bind(view)), view.generation
        return self._spots

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        return self._part.unmoved(spot, seen)

    def evaluate(self, scene: Scene) -> Outcome:
        if self._evaluated != scene.view.generation:
            self._outcome = self._part.evaluate(scene)
            self._evaluated = scene.view.generation
        return self._outcome


_Reading: TypeAlias = (
    r.Above
    | r.Below
    | r.OneOf
    | r.NoneOf
    | r.Contains
    | r.Increased
    | r.RateAbove
    | r.Stuck
    | r.AbsentFor
    | r.DiffersFromPeers
    | r.Trend
)


class _OnReadings:
    """A predicate on each reading that belongs to a place; one that holds is enough."""

    def __init__(self, leaf: _Reading, scope: str, place: Place) -> None:
        self._leaf = leaf
        self._scope = scope
        self._place = place
        self._checks: dict[Place, Check] = {}
        self._places: tuple[Place, ...] = ()
        self._only: Check | None = None  # where there is but one place
        self._constant: Missing | None = None

    def bind(self, view: View) -> list[Spot]:
        leaf, make = self._leaf, _CHECKS[type(self._leaf)]
        self._places = tuple(self._found(view))
        for place in self._places:
            if place not in self._checks:
                self._checks[place] = make(leaf)
        self._only = self._checks[self._places[0]] if len(self._places) == 1 else None
        device = view.devices.get(self._place.device) if self._place.device is not None else None
        always = constant(leaf.metric, device.name if device else None)
        self._constant = Missing(Why.UNSUPPORTED, always) if always else None
        return list(self._spots())

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        metric, place = spot
        if metric == self._leaf.metric:
            check = self._only or self._checks.get(place)
            return isinstance(check, _PATIENT) and check.unmoved(seen)
        return metric != getattr(self._leaf, "than", None)

    def _spots(self) -> Iterator[Spot]:
        metrics = r.metrics_of(self._leaf)
        leaf = self._leaf
        name = peers.name(leaf) if isinstance(leaf, r.DiffersFromPeers) else leaf.metric
        for place in self._places:
            yield name, place
            for metric in metrics[1:]:
                for at in r.reached(METRICS[metric].scope, place):
                    yield metric, at

    def _found(self, view: View) -> Iterable[Place]:
        scope = METRICS[self._leaf.metric].scope
        if scope in ("node", self._scope) or (scope == "device" and self._scope == "core"):
            return r.reached(scope, self._place)
        now = view.places(self._leaf.metric)
        if self._scope != "node":
            device = self._place.device
            now = [at for at in now if device is not None and at.device == device]
        return dict.fromkeys((*self._checks, *now))  # one that went is missing, not forgotten

    def evaluate(self, scene: Scene) -> Outcome:
        places = self._places
        if self._constant is not None:
            return scene.hole(self._leaf.metric, self._place, self._constant)
        if self._only is not None:
            return self._only.evaluate(scene, places[0])
        if not places:
            nowhere = Hole(self._leaf.metric, self._place, _ELSEWHERE)
            return Outcome(None, holes=(nowhere,), open=True)
        return some([self._checks[at].evaluate(scene, at) for at in places])
