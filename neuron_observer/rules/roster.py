"""The instances of the rules on a host: which there are, and what they read."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.model import State
from neuron_observer.rules import rule as r
from neuron_observer.rules.instance import Instance
from neuron_observer.rules.memory import Kept, Mark, Memory
from neuron_observer.rules.occurrences import truncated
from neuron_observer.rules.places import Places
from neuron_observer.rules.rule import EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from neuron_observer.model import Device, Finding, Place
    from neuron_observer.rules.cover import Cover
    from neuron_observer.rules.predicates import Shared
    from neuron_observer.rules.rule import Rule
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Spot

Id: TypeAlias = "tuple[str, Place]"

_NOBODY: Mapping[Place, tuple[Instance, ...]] = MappingProxyType({})
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
        known = {rule.id for rule in rules}
        # of an earlier run, not yet met
        self._kept = {mark: one for mark, one in memory.findings.items() if mark.rule in known}
        self._keys = memory.keys  # which chip was where, until its serial number tells
        self._guessed: set[int] = set()  # indexes of which only that is known
        self._resolved = {mark: list(times) for mark, times in memory.resolved.items()}
        self._listeners = _by_event(rules)
        self._of_rule: dict[str, dict[Place, Instance]] = {rule.id: {} for rule in rules}
        self._readers: dict[str, dict[Place, tuple[Instance, ...]]] = {}  # by what they read
        self.serials: dict[int, str] = {}
        self._before: dict[Id, Instance] = {}  # of an engine that this one follows, not yet met
        self.left: list[Instance] = []  # of chips that are no longer here
        self.gone: list[Finding] = []  # the same of an earlier run
        self.dropped: list[Id] = []

    def follow(self, before: Roster) -> None:
        """Go on from the instances of other rules on the same host."""
        self._shared, self.serials, self._guessed = before._shared, before.serials, before._guessed
        known = self._of_rule.keys()
        self._kept = {mark: one for mark, one in before._kept.items() if mark.rule in known}
        instances = list(before)
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
        known = Places(self._scene.view)
        for rule in self._rules:
            wanted, self._cover.elsewhere[rule.id] = known.of(rule)
            here, keep = self._of_rule[rule.id], frozenset(wanted)
            for place, instance in list(here.items()):
                idle = instance.life is None and place.device is None
                if place not in keep and idle and instance.placed:
                    self._drop(instance)
            for place in wanted:
                if place not in here:
                    self._add(rule, place, placed=True)
        self._meet()
        self._before = {}
        self._readers = self._bound()
        return list(self)

    def _bound(self) -> dict[str, dict[Place, tuple[Instance, ...]]]:
        """Have all instances find what they read; tuples, for most are of one."""
        found: dict[str, dict[Place, list[Instance]]] = {}
        for instance in self:
            for name, place in instance.bind(self._scene.view):
                found.setdefault(name, {}).setdefault(place, []).append(instance)
        return {
            name: {place: tuple(those) for place, those in by_place.items()}
            for name, by_place in found.items()
        }

    def __iter__(self) -> Iterator[Instance]:
        """All instances, rule by rule."""
        return (one for those in self._of_rule.values() for one in those.values())

    def at(self, rule_id: str, place: Place) -> Instance:
        """The instance of a rule at a place."""
        return self._of_rule[rule_id][place]

    def readers(self, spot: Spot) -> Sequence[Instance]:
        """Those that read something, or take part in a comparison."""
        return self._readers.get(spot[0], _NOBODY).get(spot[1], ())

    def concerned(self, spot: Spot) -> Sequence[Instance]:
        """Those to which a new reading may matter."""
        readers = self.readers(spot)
        if not readers:
            return ()
        seen = self._scene.view.see(*spot)
        return [one for one in readers if not one.unmoved(spot, seen)]

    def _recognise(self, device: Device) -> None:
        """Note who is where; another chip at an index ends what was found of the one before."""
        index, key = device.index, device.key
        before, serial = self._scene.keys.get(index), self.serials.get(index)
        if before is None and index in self._keys:
            before = self._remember(device)
        if device.serial is None and (serial is not None or index in self._guessed):
            return
        guessed = index in self._guessed
        self._guessed.discard(index)
        if device.serial is not None:
            self.serials[index] = device.serial
        if before == key:
            return
        if serial is not None or guessed or before is None:
            self._scene.depart(index)
        self._scene.keys[index] = key
        here = [one for one in self if one.place.device == index]
        if serial is not None or guessed:  # another chip
            for instance in here:
                self._leave(instance)
                self._drop(instance)
        elif before is not None:  # its serial number became known
            self._rekey(before, key)
            for instance in here:
                self._restore(instance)

    def _remember(self, device: Device) -> str | None:
        """Until its serial number is read a device is taken for the one that was there before."""
        known = self._keys[device.index]
        if known == device.key:
            return None
        if device.serial is None:
            self._scene.keys[device.index] = known
            self._guessed.add(device.index)
            return known
        # it had no serial number then; another one is another chip
        return known if known.endswith(f"/{device.index}") else None

    def _meet(self) -> None:
        """Findings of an earlier run at places that only an event told, and of chips that left."""
        keys = self._scene.keys
        indexes = {key: index for index, key in keys.items()}
        rules = {rule.id: rule for rules in self._listeners.values() for rule in rules}
        certain = bool(keys) and keys.keys() == self.serials.keys()
        for mark in list(self._kept):
            if mark.key and mark.key not in indexes:
                if certain:
                    told = self._kept.pop(mark).told
                    self.gone += [told] if told else []
            elif mark.rule in rules:
                place = mark.place._replace(device=indexes.get(mark.key))
                if place not in self._of_rule[mark.rule]:
                    self._add(rules[mark.rule], place, placed=False)

    def _leave(self, instance: Instance) -> None:
        if instance.life is not None and instance.life.state is not State.PENDING:
            instance.stood_until(self._scene.wall_before)
            instance.life = instance.life._replace(state=State.RESOLVED)
            self.left.append(instance)

    def _rekey(self, before: str, key: str) -> None:
        self._scene.rekey(before, key)
        self._resolved = {_named(mark, before, key): at for mark, at in self._resolved.items()}
        self._kept = {_named(mark, before, key): one for mark, one in self._kept.items()}

    def _add(self, rule: Rule, place: Place, *, placed: bool) -> Instance:
        instance = Instance(rule, place, self._shared, placed=placed, one_shot=self._one_shot)
        before = self._before.pop((rule.id, place), None)
        if before is not None:
            instance = before.heir(instance)
        self._of_rule[rule.id][place] = instance
        self._cover.add(instance)
        self._restore(instance)
        return instance

    def _restore(self, instance: Instance) -> None:
        if instance.life is None:
            kept = self._kept.pop(self.mark(instance), None)
            if kept is not None:
                instance.restore(kept, self._scene.now, self._scene.wall)

    def _drop(self, instance: Instance) -> None:
        del self._of_rule[instance.rule.id][instance.place]
        instance.scheduled = None
        self.dropped.append((instance.rule.id, instance.place))
        self._cover.remove(instance)

    def told(self, news: Iterable[tuple[str, Place]]) -> list[Instance]:
        """Instances that wait for one of the events; made where an event tells no better place."""
        found: list[Instance] = []
        for name, place in news:
            for rule in self._listeners.get(name, ()):
                begins = name not in EVENTS and _begins(rule, name)
                if not begins or _looks_anywhere(rule):
                    found += self._of_rule[rule.id].values()
                if begins:
                    found.append(self._at(rule, truncated(place, rule.scope)))
        return found

    def _at(self, rule: Rule, place: Place) -> Instance:
        instance = self._of_rule[rule.id].get(place)
        if instance is None:
            instance = self._add(rule, place, placed=False)
            for name, at in instance.bind(self._scene.view):
                those = self._readers.setdefault(name, {})
                those[at] = (*those.get(at, ()), instance)
        return instance

    def renew(self, instance: Instance) -> None:
        """Have an instance begin anew."""
        instance.renew(self._scene.view, self._shared)

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

    def memory(self, told: Mapping[Id, Finding]) -> Memory:
        """What a later run must know, with the findings as they are told."""
        scene = self._scene
        standing = {
            self.mark(one): self._kept_of(one, told)
            for one in self
            if one.life is not None and one.life.state is not State.RESOLVED
        }
        return Memory(
            dict(scene.baselines),
            scene.all_counters(),
            {**self._kept, **standing},
            {mark: tuple(times) for mark, times in self._resolved.items()},
            settled=dict(scene.settled),
            keys={**self._keys, **scene.keys},
        )

    def _kept_of(self, one: Instance, told: Mapping[Id, Finding]) -> Kept:
        one.stood_until(self._scene.wall)
        life = one.life
        assert life is not None  # noqa: S101 - only of those that have a finding
        finding = told.get((one.rule.id, one.place))
        finding = finding._replace(last_seen=life.last_seen) if finding else None
        return Kept(life, one.confirmed, one.escalated, self._until(one), one.word, finding)

    def _until(self, instance: Instance) -> float | None:
        """Until when (wall clock) what it was told counts at least."""
        again = instance.outcome.again if instance.outcome.truth else None
        if instance.doubted_until > self._scene.now:  # not seen since an earlier run told it
            again = max(again or 0.0, instance.doubted_until)
        return None if again is None else self._scene.view.wall_of(again)


def _named(mark: Mark, before: str, key: str) -> Mark:
    return mark._replace(key=key) if mark.key == before else mark


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
