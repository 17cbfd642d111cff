"""Events as rules look at them: when the last ones of a kind came, by name and place.

Bounded: a program may have thousands of lines printed, of devices that do not exist.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import NODE, Place
from neuron_observer.rules.rule import EVENTS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from neuron_observer.model import Event, Snapshot

MOST = 64  # events that are remembered, of each name and place
PLACES = 256  # places of a name that are told apart; more of them are the node


class Occurrence(NamedTuple):
    """An event, and when it came on the monotonic clock."""

    at: float
    event: Event


class Occurrences:
    """The latest events by what rules call them."""

    def __init__(self, names: Container[str]) -> None:
        self._names = names  # that a rule asks for
        self._found: dict[str, dict[Place, deque[Occurrence]]] = {}

    def follow(self, before: Occurrences) -> None:
        """Go on from what others have noted; what only these ask for was not noted by them."""
        self._found = {name: at for name, at in before._found.items() if name in self._names}

    def take(self, snapshot: Snapshot, devices: Container[int]) -> Iterable[tuple[str, Place]]:
        """Note the events of a snapshot; the names and places that are new."""
        news: dict[tuple[str, Place], None] = {}  # in order
        for event in snapshot.events:
            if event.fields.get("ours"):
                continue
            at = snapshot.monotonic - max(snapshot.at - event.at, 0.0)
            place = event.place if event.place.device in devices else NODE
            place = event.place if event.place.label else place
            for name in self._called(event):
                by_place = self._found.setdefault(name, {})
                here = place if place in by_place or len(by_place) < PLACES else NODE
                by_place.setdefault(here, deque(maxlen=MOST)).append(Occurrence(at, event))
                news[name, here] = None
        return news

    def settle(self, device: int) -> None:
        """What happened to a device so far counts for nothing any more."""
        for by_place in self._found.values():
            for place in [at for at in by_place if at.device == device]:
                del by_place[place]

    def _called(self, event: Event) -> list[str]:
        names = dict.fromkeys((event.kind, str(event.fields.get("finding", event.kind))))
        return [name for name in names if name in self._names]

    def of(self, name: str, place: Place, scope: str, since: float) -> list[Occurrence]:
        """Those at a place of this scope, after an instant, oldest first.

        What happened to the whole node (a driver reload) happened to each device.
        """
        wide = name in EVENTS
        found = [
            one
            for at, those in self._found.get(name, {}).items()
            if truncated(at, scope) == place or (wide and at == NODE)
            for one in those
            if one.at > since
        ]
        return sorted(found, key=lambda one: one.at)


def truncated(place: Place, scope: str) -> Place:
    """The place of a scope that holds this place; the node if it tells too little."""
    if scope == "device":
        return Place(place.device)
    if scope == "core":
        return Place(place.device, place.core)
    return NODE if scope == "node" or not place.label else place


def placed(names: Iterable[tuple[str, Place]], scope: str) -> dict[str, set[Place]]:
    """By name the places of a scope at which something happened."""
    found: dict[str, set[Place]] = {}
    for name, place in names:
        found.setdefault(name, set()).add(truncated(place, scope))
    return found
