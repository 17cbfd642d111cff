"""Conditions made ready for one place: what they read is found once, then they are evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from neuron_observer.catalogue import METRICS
from neuron_observer.model import NODE, Missing, Place, Why
from neuron_observer.rules import checks, circumstances, growth, peers, trend
from neuron_observer.rules import rule as r
from neuron_observer.rules.outcome import FALSE, Outcome, every, opposite, some, unknown, unless
from neuron_observer.rules.places import reached
from neuron_observer.rules.trust import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from neuron_observer.rules.rule import Condition, Leaf
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Seen, Spot, View

_NOWHERE = unknown(Missing(Why.UNSUPPORTED, "not known of this place"), open=True)

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

    def unmoved(self, seen: Seen) -> bool:
        """Whether it is sure to say of this reading what it said when it was looked at last."""
        ...

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """What it says now."""
        ...


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
    of = METRICS[leaf.metric].scope
    if of in ("node", scope) or (of == "device" and scope == "core"):
        at = reached(of, place)
        return _OnReading(leaf, at[0]) if at else _Nowhere()
    return _OnReadings(leaf, None if scope == "node" else place)


class _Joined:
    __slots__ = ("_join", "_parts")

    def __init__(self, join: Callable[[Iterable[Outcome]], Outcome], parts: list[Test]) -> None:
        self._join = join
        self._parts = tuple(parts)

    def bind(self, view: View) -> Iterator[Spot]:
        for part in self._parts:
            yield from part.bind(view)

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        for part in self._parts:  # noqa: SIM110 - a generator takes as long as the parts
            if not part.unmoved(spot, seen):
                return False
        return True

    def evaluate(self, scene: Scene) -> Outcome:
        return self._join([part.evaluate(scene) for part in self._parts])


class _Turned:
    __slots__ = ("_part", "_turn")

    def __init__(self, turn: Callable[[Outcome], Outcome], part: Test) -> None:
        self._turn = turn
        self._part = part

    def bind(self, view: View) -> Iterable[Spot]:
        return self._part.bind(view)

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        return self._part.unmoved(spot, seen)

    def evaluate(self, scene: Scene) -> Outcome:
        return self._turn(self._part.evaluate(scene))


class _Nowhere:
    """A predicate on a reading that a place cannot have: of the core of an event without one."""

    __slots__ = ()

    def bind(self, _view: View) -> Iterable[Spot]:
        return ()

    def unmoved(self, _spot: Spot, _seen: Seen) -> bool:
        return True

    def evaluate(self, _scene: Scene) -> Outcome:
        return _NOWHERE


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


class _OnReading:
    """A predicate on the one reading that belongs to a place: its own, or of what holds it."""

    __slots__ = ("_at", "_check", "_constant", "_leaf")

    def __init__(self, leaf: _Reading, place: Place) -> None:
        self._leaf = leaf
        self._at = place
        self._check: Check = _CHECKS[type(leaf)](leaf)
        self._constant: Missing | None = None

    def bind(self, view: View) -> Iterator[Spot]:
        self._constant = _constant(self._leaf, self._at, view)
        return _spots(self._leaf, self._at)

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        if spot[0] == self._leaf.metric:
            return self._check.unmoved(seen)
        return spot[0] != getattr(self._leaf, "than", None)

    def evaluate(self, scene: Scene) -> Outcome:
        if self._constant is not None:
            return scene.hole(self._leaf.metric, self._at, self._constant)
        return self._check.evaluate(scene, self._at)


class _OnReadings:
    """A predicate on each reading that belongs to a place; one that holds is enough."""

    __slots__ = ("_checks", "_constant", "_leaf", "_place")

    def __init__(self, leaf: _Reading, place: Place | None) -> None:
        self._leaf = leaf
        self._place = place  # whose parts count; None: those of the whole node
        self._checks: dict[Place, Check] = {}  # of one that went is kept: it is missing now
        self._constant: Missing | None = None

    def bind(self, view: View) -> Iterator[Spot]:
        leaf, place = self._leaf, self._place
        for at in view.places(leaf.metric):
            mine = place is None or (place.device is not None and at.device == place.device)
            if mine and at not in self._checks:
                self._checks[at] = _CHECKS[type(leaf)](leaf)
        self._constant = _constant(leaf, place or NODE, view)
        return (spot for at in self._checks for spot in _spots(leaf, at))

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        if spot[0] == self._leaf.metric:
            return spot[1] in self._checks and self._checks[spot[1]].unmoved(seen)
        return spot[0] != getattr(self._leaf, "than", None)

    def evaluate(self, scene: Scene) -> Outcome:
        if self._constant is not None:
            return scene.hole(self._leaf.metric, self._place or NODE, self._constant)
        if len(self._checks) == 1:
            ((at, check),) = self._checks.items()
            return check.evaluate(scene, at)
        if not self._checks:
            return _NOWHERE
        return some([check.evaluate(scene, at) for at, check in self._checks.items()])


def _spots(leaf: _Reading, place: Place) -> Iterator[Spot]:
    """What a predicate reads at a place."""
    yield peers.name(leaf) if isinstance(leaf, r.DiffersFromPeers) else leaf.metric, place
    for metric in r.metrics_of(leaf)[1:]:
        for at in reached(METRICS[metric].scope, place):
            yield metric, at


def _constant(leaf: _Reading, place: Place, view: View) -> Missing | None:
    """Why its metric says nothing on the chip here."""
    always = constant(leaf.metric, view.chip(place))
    return Missing(Why.UNSUPPORTED, always) if always else None
