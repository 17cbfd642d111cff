"""The instances of the rules on a host: which there are, and what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.model import State
from neuron_observer.rules import rule as r
from neuron_observer.rules.conditions import EVENTS
from neuron_observer.rules.instance import Instance
from neuron_observer.rules.memory import Kept, Mark, Memory
from neuron_observer.rules.occurrences import truncated
from neuron_observer.rules.places import places_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.model import Device, Place
    from neuron_observer.rules.cover import Cover
    from neuron_observer.rules.predicates import Shared
    from neuron_observer.rules.rule import Rule
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Spot

Id: TypeAlias = "tuple[str, Place]"

EPISODES = 8  # times of earlier findings that are kept, of each chip and rule


class Roster:
    """Rules times places, kept over reloads of the driver and changes of chips."""

    def __init__(
        self, rules: Sequence[Rule], scene: Scene, cover: Cover, memory: Memory, *, one_shot: bool
    ) -> None:
        self._rules = rules
        self._scene = scene
        self._cover = cover
        self._shared: Shared = {}
        self._one_shot = one_shot
        self._kept = dict(memory.findings)  # of an earlier run, not yet met
        self._resolved = {mark: list(times) for mark, times in memory.resolved.items()}
        self._listeners = _by_event(rules)
        self._of_rule: dict[str, list[Instance]] = {rule.id: [] for rule in rules}
        self.instances: dict[Id, Instance] = {}
        self.readers: dict[Spot, list[Instance]] = {}
        self.serials: dict[int, str] = {}
        self._before: dict[Id, Instance] = {}  # of an engine that this one follows, not yet met
        self.left: list[Instance] = []  # of chips that are no longer here
        self.dropped: list[Id] = []

    def follow(self, before: Roster) -> None:
        """Go on from the instances of other rules on the same host."""
        self._shared, self._kept, self.serials = before._shared, before._kept, before.serials
        instances = list(before.instances.values())
        self._before = {(one.rule.id, one.place): one for one in instances}
        old = {rule.id: rule for rule in before._rules}
        rules = {rule.id: rule for rule in self._rules if rule.id in old}
        same = {id_ for id_, rule in rules.items() if r.same(rule, old[id_])}
        for instance in instances:
            id_ = instance.rule.id
            here = id_ in rules and rules[id_].scope == old[id_].scope
            if id_ in same or (here and not instance.placed):
                self._add(rules[id_], instance.place, placed=instance.placed)

    def arrange(self, devices: Iterable[Device]) -> list[Instance]:
        """Files, devices or the driver came or went: instances for what is here now."""
        for device in devices:
            self._recognise(device)
        wanted: dict[Id, Rule] = {}
        for rule in self._rules:
            places, why = places_of(rule, self._scene.view)
            wanted |= {(rule.id, place): rule for place in places}
            self._cover.elsewhere[rule.id] = why
        for id_, instance in list(self.instances.items()):
            idle = instance.life is None and instance.place.device is None
            if id_ not in wanted and idle and instance.placed:
                self._drop(id_)
        for id_, rule in wanted.items():
            if id_ not in self.instances:
                self._add(rule, id_[1], placed=True)
        self._before = {}
        self.readers = {}
        for instance in self.instances.values():
            self._bind(instance)
        return list(self.instances.values())

    def _bind(self, instance: Instance) -> None:
        for spot in instance.bind(self._scene.view):
            self.readers.setdefault(spot, []).append(instance)

    def _recognise(self, device: Device) -> None:
        """Note who is where; another chip at an index ends what was found of the one before."""
        index, key = device.index, device.key
        before, serial = self._scene.keys.get(index), self.serials.get(index)
        if before == key or (serial is not None and device.serial is None):
            return
        self._scene.keys[index] = key
        if device.serial is not None:
            self.serials[index] = device.serial
        here = [id_ for id_ in self.instances if id_[1].device == index]
        if serial is not None:  # another chip
            for id_ in here:
                self._leave(self.instances[id_])
                self._drop(id_)
        elif before is not None:  # its serial number became known
            self._rename(before, key)
            for id_ in here:
                self._restore(self.instances[id_])

    def _leave(self, instance: Instance) -> None:
        if instance.life is not None and instance.life.state is not State.PENDING:
            instance.life = instance.life._replace(state=State.RESOLVED)
            self.left.append(instance)

    def _rename(self, before: str, key: str) -> None:
        scene = self._scene
        scene.counters = {
            (key if k == before else k, m, p): v for (k, m, p), v in scene.counters.items()
        }
        self._resolved = {
            mark._replace(key=key) if mark.key == before else mark: times
            for mark, times in self._resolved.items()
        }

    def _add(self, rule: Rule, place: Place, *, placed: bool) -> Instance:
        instance = Instance(rule, place, self._shared, placed=placed, one_shot=self._one_shot)
        before = self._before.pop((rule.id, place), None)
        if before is not None:
            instance = before.heir(instance)
        self.instances[rule.id, place] = instance
        self._of_rule[rule.id].append(instance)
        self._cover.add(instance)
        self._restore(instance)
        return instance

    def _restore(self, instance: Instance) -> None:
        if instance.life is None:
            kept = self._kept.pop(self.mark(instance), None)
            if kept is not None:
                instance.restore(kept, self._scene.now)

    def _drop(self, id_: Id) -> None:
        instance = self.instances.pop(id_)
        instance.scheduled = None
        self.dropped.append(id_)
        self._of_rule[id_[0]].remove(instance)
        self._cover.remove(instance)

    def told(self, news: Iterable[tuple[str, Place]]) -> set[Instance]:
        """Instances that wait for one of the events; made where an event tells no better place."""
        found: set[Instance] = set()
        for name, place in news:
            for rule in self._listeners.get(name, ()):
                begins = name not in EVENTS and _begins(rule, name)
                if not begins or _looks_anywhere(rule):
                    found.update(self._of_rule[rule.id])
                if begins:
                    found.add(self._at(rule, truncated(place, rule.scope)))
        return found

    def _at(self, rule: Rule, place: Place) -> Instance:
        instance = self.instances.get((rule.id, place))
        if instance is None:
            instance = self._add(rule, place, placed=False)
            self._bind(instance)
        return instance

    def mark(self, instance: Instance) -> Mark:
        """What an instance's finding is kept as."""
        place = instance.place
        return Mark(instance.rule.id, self._scene.key(place), place._replace(device=None))

    def changed(self, instance: Instance, before: State | None, wall: float) -> None:
        """Remember what was resolved: the same fault again may ask for another remedy."""
        again = instance.rule.again
        state = instance.life.state if instance.life else None
        if again is None or state is before:
            return
        mark = self.mark(instance)
        if state is State.RESOLVED:
            times = self._resolved.setdefault(mark, [])
            times.append(wall)
            del times[:-EPISODES]
        elif state is State.FIRING and before in (None, State.PENDING, State.RESOLVED):
            since = wall - again.within
            instance.escalated = any(at >= since for at in self._resolved.get(mark, ()))

    def memory(self) -> Memory:
        """What a later run must know."""
        scene = self._scene
        standing = {
            self.mark(one): Kept(one.life, one.confirmed, one.escalated)
            for one in self.instances.values()
            if one.life is not None and one.life.state is not State.RESOLVED
        }
        return Memory(
            dict(scene.baselines),
            dict(scene.counters),
            {**self._kept, **standing},
            {mark: tuple(times) for mark, times in self._resolved.items()},
        )


def _by_event(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """Name of an event → the rules that wait for it."""
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        for name in r.events(rule):
            found.setdefault(name, []).append(rule)
    return found


def _begins(rule: Rule, name: str) -> bool:
    """Whether an event makes a condition of the rule true; others end or excuse it."""
    return any(isinstance(leaf, r.Matches) and leaf.finding == name for leaf in r.leaves(rule.when))


def _looks_anywhere(rule: Rule) -> bool:
    """Whether an event at one place matters to the rule at another."""
    return any(
        isinstance(leaf, r.Matches) and scope != rule.scope
        for leaf, scope in r.scoped(rule.when, rule.scope)
    )
