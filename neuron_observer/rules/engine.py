"""The engine: snapshots in, findings and health out.

An instance is a rule at a place. Only those instances are evaluated of which something that they
read has changed, or whose time has come; the others still say what they said.
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import chain, count
from typing import TYPE_CHECKING

from neuron_observer.catalogue.chips import is_checked, parse_version
from neuron_observer.model import State
from neuron_observer.rules import findings as words
from neuron_observer.rules import health
from neuron_observer.rules import rule as r
from neuron_observer.rules.circumstances import LOG
from neuron_observer.rules.cover import GRACE, Cover
from neuron_observer.rules.explain import explain
from neuron_observer.rules.hush import Hush, worst_of
from neuron_observer.rules.median import median
from neuron_observer.rules.memory import Memory, Suppression, Word
from neuron_observer.rules.occurrences import Occurrences
from neuron_observer.rules.peers import Crowds
from neuron_observer.rules.roster import Roster
from neuron_observer.rules.scene import Scene
from neuron_observer.rules.trust import is_level
from neuron_observer.rules.view import View
from neuron_observer.weight import worst_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from neuron_observer.model import Coverage, Device, Finding, Health, Severity, Snapshot
    from neuron_observer.rules.instance import Instance
    from neuron_observer.rules.roster import Id
    from neuron_observer.rules.rule import Rule
    from neuron_observer.rules.scene import History

LONG_GAP = 5.0  # seconds between ticks that may be a time in which nobody read
_ALWAYS = {LOG, "device.serial", "node.devices", "node.devices_expected", "node.devices_hidden"}


class Engine:
    """A judge: `(snapshot, history) → (findings, health)`. A one-shot gives it one snapshot."""

    def __init__(
        self,
        rules: Sequence[Rule],
        *,
        memory: Memory | None = None,
        one_shot: bool = False,
        trust_untested_driver: bool = False,
    ) -> None:
        self.rules = tuple(rules)
        self._trust_untested = trust_untested_driver
        memory = memory or Memory()
        view = View(_ALWAYS.union(*(r.inputs(rule) for rule in rules)))
        names = frozenset[str]().union(*(r.events(rule) for rule in rules))
        compared = [leaf for rule in rules for leaf in r.every_leaf(rule)]
        crowds = Crowds([leaf for leaf in compared if isinstance(leaf, r.DiffersFromPeers)], view)
        self.scene = Scene(view, Occurrences(names), crowds)
        self.scene.stored = memory.counters
        self.scene.departed.update(memory.counters)
        self.scene.baselines.update(memory.baselines)
        self.scene.settled.update(memory.settled)
        self.hush = Hush(memory.suppressions)
        self._earlier = memory.events  # until the first snapshot
        self._ended: list[Finding] = []  # by somebody's word
        self._cover = Cover(self.rules, 0.0 if one_shot else GRACE)
        self._roster = Roster(self.rules, self.scene, self._cover, memory, one_shot=one_shot)
        self._due: list[tuple[float, int, Instance]] = []
        self._order = count()
        self._findings: dict[Id, Finding] = {}
        self._gaps: deque[float] = deque(maxlen=8)
        self._watching_since: float | None = None
        self._capped = False
        self._before_watched: Finding | None = None
        self._sights_told = 0
        # None once a finding came, went or changed.
        self._folded: tuple[Coverage, Mapping[int, Device], Health] | None = None
        self.evaluated = 0  # instances, at the last snapshot

    def __call__(
        self, snapshot: Snapshot, history: History | None = None
    ) -> tuple[tuple[Finding, ...], Health]:
        """What is wrong, and how the node is."""
        scene, roster = self.scene, self._roster
        self._go_on(snapshot)
        scene.history = history
        scene.wall_before, scene.wall = scene.wall, snapshot.at
        changed, moved = scene.view.take(snapshot)
        dirty: dict[Instance, None] = {}  # in order, so that two runs are alike
        if moved:
            version = parse_version(snapshot.driver.version)
            self._capped = not (self._trust_untested or is_checked(version))
            dirty |= dict.fromkeys(roster.arrange(snapshot.devices))
            self._folded = None
            while roster.dropped:
                self._findings.pop(roster.dropped.pop(), None)
        for spot in changed:
            dirty |= dict.fromkeys(roster.concerned(spot))
        for spot in scene.crowds.take(changed, moved=moved):
            dirty |= dict.fromkeys(roster.readers(spot))
        if self._earlier:
            earlier = snapshot._replace(events=self._earlier)
            news = scene.occurrences.take(earlier, scene.view.devices)
            dirty |= dict.fromkeys(roster.told(news))
            self._earlier = ()
        told = roster.told(scene.occurrences.take(snapshot, scene.view.devices))
        dirty |= dict.fromkeys(chain(told, self._woken(snapshot.monotonic)))
        self.evaluated = len(dirty)
        for instance in dirty:
            self._evaluate(instance, snapshot.at)
        return self._judged(snapshot.at)

    def _go_on(self, snapshot: Snapshot) -> None:
        """Move to the snapshot's time; a long gap among short ones is a time nobody watched."""
        scene = self.scene
        if self._watching_since is None:
            self._watching_since = snapshot.at
        else:
            gap = snapshot.monotonic - scene.now
            usual = median(self._gaps) if len(self._gaps) > 3 else gap
            if gap > max(LONG_GAP, 4 * usual):
                scene.unwatched += gap
            else:
                self._gaps.append(gap)
        scene.now = snapshot.monotonic

    def _wake(self, instance: Instance, at: float) -> None:
        instance.scheduled = at
        heapq.heappush(self._due, (at, next(self._order), instance))

    def _woken(self, now: float) -> Iterator[Instance]:
        while self._due and self._due[0][0] <= now:
            at, _, instance = heapq.heappop(self._due)
            if instance.scheduled == at:
                instance.scheduled = None
                yield instance

    def _evaluate(self, instance: Instance, wall: float) -> None:
        scene, roster = self.scene, self._roster
        before = instance.evaluate(scene, wall)
        if before is not None or instance.life is not None:
            roster.changed(instance, before, wall)
            self._note(instance)
        grace = self._cover.update(instance, scene.now)
        at = instance.next_look(scene.now)
        if grace is not None:
            at = grace if at is None else min(at, grace)
        if at is not None and (instance.scheduled is None or at < instance.scheduled):
            self._wake(instance, at)

    def _note(self, instance: Instance) -> None:
        id_ = instance.rule.id, instance.place
        self._folded = None
        if instance.life is None:
            self._findings.pop(id_, None)
        else:
            self._findings[id_] = self._finding(instance)

    def _finding(self, instance: Instance) -> Finding:
        return words.finding(instance, self.scene, self._roster.serials, capped=self._capped)

    def _judged(self, wall: float) -> tuple[tuple[Finding, ...], Health]:
        roster = self._roster
        found = [words.left(self._finding(instance)) for instance in roster.left]
        found += map(words.left, roster.gone)
        found += self._ended
        for told_once in (roster.left, roster.gone, self._ended):
            told_once.clear()
        if self.hush.suppressions and self.hush.expire(wall):
            self._folded = None
        for id_, finding in self._findings.items():
            shows = roster.at(*id_).outcome.truth and finding.state is not State.RESOLVED
            found.append(finding._replace(last_seen=wall) if shows else finding)
        told = self._told_before_watched(wall)
        found += [told] if told else []
        if self.hush.suppressions:
            found = [self.hush(one, self.scene.keys) for one in found]
        found.sort(key=worst_first)
        coverage = self._cover.coverage(roster.serials)
        devices = self.scene.view.devices
        if self._folded is None or self._folded[:2] != (coverage, devices):
            folded = health.fold(found, coverage, devices, self._cover.decided)
            self._folded = coverage, devices, folded
        return tuple(found), self._folded[2]

    def _told_before_watched(self, wall: float) -> Finding | None:
        """Made anew only when there is more to tell."""
        sights = self.scene.before_watched
        if len(sights) != self._sights_told:
            self._sights_told = len(sights)
            since = self._watching_since or wall
            self._before_watched = words.before_watched(sights.values(), self.scene, since)
            self._folded = None
        return self._before_watched

    def successor(self, rules: Sequence[Rule], *, trust_untested_driver: bool) -> Engine:
        """An engine of other rules that goes on where this one stands, which then has ended.

        Of a rule that is the same the instances go on as they are; of one that changed the life of
        its findings does. What a rule that is no more found is no more. Itself if nothing differs.
        """
        alike = len(rules) == len(self.rules) and all(map(r.same, rules, self.rules))
        if alike and trust_untested_driver == self._trust_untested:
            return self
        heir = Engine(rules, memory=self.memory(), trust_untested_driver=trust_untested_driver)
        heir.scene.follow(self.scene)
        heir._roster.follow(self._roster)
        heir._gaps, heir._watching_since = self._gaps, self._watching_since
        return heir

    def memory(self) -> Memory:
        """What a later run must know."""
        kept = self._roster.memory(self._findings)
        return kept._replace(suppressions=self.hush.suppressions, events=self._earlier)

    def acknowledge(self, finding_id: str, device: int | None, word: Word) -> int:
        """Somebody knows of these findings, on all devices or one; how many there are."""
        found = [
            one
            for one in self._roster
            if one.rule.id == finding_id
            and device in (None, one.place.device)
            and self._stands(one)
        ]
        for instance in found:
            instance.acknowledge(word)
            self._note(instance)
        return len(found)

    def _stands(self, instance: Instance) -> bool:
        return instance.life is not None and instance.life.state is not State.RESOLVED

    def suppress(
        self,
        rule_id: str,
        device: int | None,
        until: float,
        word: Word,
        severity: Severity | None = None,
    ) -> bool:
        """Have a rule's findings count for nothing until then; False if there is no such rule.

        `severity` is that of findings which no rule tells.
        """
        rule = next((rule for rule in self.rules if rule.id == rule_id), None)
        severity = rule.severity if rule else severity
        if severity is None:
            return False
        standing = [
            one
            for one in self._findings.values()
            if one.id == rule_id and device in (None, one.entity.device)
        ]
        key = None if device is None else self.scene.keys.get(device, "")
        worst = worst_of(standing, severity)
        self.hush.add(Suppression(rule_id, key, until, worst, word))
        self._folded = None
        return True

    def unsuppress(self, rule_id: str, device: int | None) -> bool:
        """Have a rule's findings count again; False if they did."""
        before = self.hush.suppressions
        key = None if device is None else self.scene.keys.get(device, "")
        self.hush.lift(rule_id, key)
        self._folded = None
        return len(self.hush.suppressions) < len(before)

    def set_healthy(self, device: int, word: Word | None = None) -> None:
        """Take a device's counts as they are for its baseline, and its findings for settled."""
        scene = self.scene
        key = scene.keys.get(device)
        if word and key:
            scene.settled[key] = word
        scene.occurrences.settle(device)
        scene.stored = {**scene.stored, **scene.all_counters()}
        metrics = {m for rule in self.rules for m in r.inputs(rule) if is_level(m)}
        for metric in metrics:
            for place in scene.view.places(metric):
                cell = scene.view.see(metric, place).cell
                if place.device == device and isinstance(cell, int):
                    scene.baselines[scene.key(place), metric] = cell
        for instance in self._roster:
            if instance.place.device == device:
                ended = self._findings.pop((instance.rule.id, instance.place), None)
                if ended is not None and ended.state is not State.PENDING:
                    instance.stood_until(scene.wall)
                    self._ended.append(words.ended(self._finding(instance), words.SETTLED))
                self._roster.renew(instance)
                self._folded = None
                self._wake(instance, scene.now)

    def explain(self, finding_id: str) -> str:
        """What a finding means, what shows it now, what to do; empty if the id is unknown."""
        standing = [one for one in self._findings.values() if one.id == finding_id]
        rule = next((rule for rule in self.rules if rule.id == finding_id), None)
        return explain(rule, standing) if rule else ""
