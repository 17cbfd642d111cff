"""`differs_from_peers`: what is off the median of the same readings of the same chips.

All readings of a metric are compared at once, and only the places that stand out, or did so at the
instant before, are looked at: of 128 cores that is nearly always none.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from neuron_observer.model import Missing, Why
from neuron_observer.rules.median import median
from neuron_observer.rules.outcome import FALSE, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.model import Cell, Place
    from neuron_observer.rules import rule as r
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Seen, Spot, View

PER_DEVIATION = 1.4826  # robust deviations a median absolute deviation, of normal noise
_NO_NUMBER = Missing(Why.FAILED, "is no number")


class Spread(NamedTuple):
    """How readings are spread, as far as they are numbers."""

    size: int = 0
    middle: float = 0.0  # median
    deviation: float = 0.0  # median absolute deviation
    lowest: float = 0.0
    highest: float = 0.0


Group: TypeAlias = "tuple[Spread, list[Place], list[Cell]]"


def spread(cells: Iterable[Cell]) -> Spread:
    """The spread of readings."""
    values = sorted([cell for cell in cells if isinstance(cell, (int, float))])
    if not values:
        return Spread()
    middle = median(values)
    deviation = median([abs(value - middle) for value in values])
    return Spread(len(values), middle, deviation, values[0], values[-1])


@cache
def name(leaf: r.DiffersFromPeers) -> str:
    """What a comparison is called among the spots that changed."""
    return repr(leaf)


class Crowds:
    """The readings that are compared with one another, and who stands out among them."""

    def __init__(self, leaves: Iterable[r.DiffersFromPeers], view: View) -> None:
        self._view = view
        self._out: dict[r.DiffersFromPeers, set[Place]] = {leaf: set() for leaf in leaves}
        self._names = {leaf: name(leaf) for leaf in self._out}
        self._metrics = {leaf.metric for leaf in self._out}
        self._members: dict[tuple[str, r.Among], dict[object, list[Place]]] = {}
        self._groups: dict[tuple[str, r.Among], dict[object, Group]] = {}

    def take(self, changed: set[Spot], *, moved: bool) -> list[Spot]:
        """The comparisons to look at, by name and place; all anew when files or devices moved."""
        metrics = self._metrics if moved else {metric for metric, _ in changed} & self._metrics
        if moved:
            self._members.clear()
        if not metrics:
            return []
        self._groups = {key: those for key, those in self._groups.items() if key[0] not in metrics}
        found: list[Spot] = []
        for leaf, before in self._out.items():
            if leaf.metric in metrics:
                now = self._out[leaf] = set(self._standing_out(leaf))
                found += [(self._names[leaf], place) for place in before | now]
        return found

    def spread(self, leaf: r.DiffersFromPeers, place: Place) -> Spread:
        """Of the readings with which one is compared, itself included."""
        group = self._grouped(leaf.metric, leaf.among).get(self._group(leaf.among, place))
        return group[0] if group else Spread()

    def _standing_out(self, leaf: r.DiffersFromPeers) -> Iterator[Place]:
        """Where the comparison is not plainly false."""
        for group, places, cells in self._grouped(leaf.metric, leaf.among).values():
            few, limit = group.size <= leaf.peers, limit_of(leaf, group)
            most = max(off(leaf, group.lowest, group), off(leaf, group.highest, group))
            if not few and group.size == len(cells) and most <= limit:
                continue
            for place, cell in zip(places, cells, strict=True):
                if few or isinstance(cell, (Missing, str)) or off(leaf, cell, group) > limit:
                    yield place

    def _grouped(self, metric: str, among: r.Among) -> dict[object, Group]:
        found = self._groups.get((metric, among))
        if found is None:
            every = self._view.cells(metric)
            found = {}
            for group, members in self._membership(metric, among).items():
                cells = [every[place] for place in members]
                found[group] = spread(cells), members, cells
            self._groups[metric, among] = found
        return found

    def _membership(self, metric: str, among: r.Among) -> dict[object, list[Place]]:
        members = self._members.get((metric, among))
        if members is None:
            members = self._members[metric, among] = {}
            for place in self._view.places(metric):
                members.setdefault(self._group(among, place), []).append(place)
        return members

    def _group(self, among: r.Among, place: Place) -> object:
        return self._view.chip(place) if among == "chip" else place.device


def off(leaf: r.DiffersFromPeers, value: float, group: Spread) -> float:
    """How far a value is off, to the side that counts."""
    away = value - group.middle
    return abs(away) if leaf.side == "both" else away if leaf.side == "high" else -away


def limit_of(leaf: r.DiffersFromPeers, group: Spread) -> float:
    """How far it may be off: by the spread, and by the least that matters."""
    least = max(leaf.least, leaf.least_share * abs(group.middle))
    return max(leaf.by * PER_DEVIATION * group.deviation, least)


class Peers:
    """`differs_from_peers` at one place."""

    __slots__ = ("_leaf",)

    def __init__(self, leaf: r.DiffersFromPeers) -> None:
        self._leaf = leaf

    def evaluate(self, scene: Scene, place: Place) -> Outcome:
        """How far it is off, against the spread and against the least that matters."""
        leaf = self._leaf
        seen = scene.view.see(leaf.metric, place)
        if isinstance(seen.cell, (Missing, str)):
            reason = seen.cell if isinstance(seen.cell, Missing) else _NO_NUMBER
            return scene.hole(leaf.metric, place, reason)
        group = scene.crowds.spread(leaf, place)
        if group.size <= leaf.peers:
            reason = Missing(Why.UNSUPPORTED, f"fewer than {leaf.peers} peers")
            return scene.hole(leaf.metric, place, reason)
        if off(leaf, seen.cell, group) <= limit_of(leaf, group):
            return FALSE
        middle = group.middle
        return scene.shown(leaf.metric, place, seen, middle, than=middle, count=group.size - 1)

    def unmoved(self, _seen: Seen) -> bool:
        """Any move counts, also those of the others."""
        return False
