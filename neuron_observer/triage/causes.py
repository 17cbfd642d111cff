"""Facts grouped into causes: what belongs together, what follows from what, and on which node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from neuron_observer.model import Action, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.rules.pattern import Pattern
    from neuron_observer.triage.facts import Fact

# A finding that says less than another one on the same device is part of it.
_VAGUE = {
    "hbm-uncorrectable": ("hbm-unrepairable", "hbm-repairable"),
    "hw-error": ("sram-uncorrectable", "hbm-unrepairable", "hbm-repairable", "dma-abort"),
}
_OF_A_DEVICE = frozenset({"hw_fault", "suspect"})
_HUNG = "compute-hang"
_ORDER = [Severity.INFO, Severity.WARNING, Severity.CRITICAL]


@dataclass(slots=True)
class Cause:
    """One thing that happened at one place: its facts, and what follows from it."""

    finding: str
    facts: list[Fact]
    follows: list[Cause] = field(default_factory=list)  # on the same node
    culprit: Cause | None = None  # for a victim: what it waited for, on another node

    @property
    def lead(self) -> Pattern:
        """The row that says most: of this very finding, not weak, most severe, seen first."""
        return self.leading.pattern

    @property
    def leading(self) -> Fact:
        """The fact that says most."""
        return min(
            self.facts,
            key=lambda fact: (
                fact.harmless,
                fact.pattern.finding != self.finding,
                fact.pattern.weak,
                -_ORDER.index(fact.pattern.severity),
                fact.order,
            ),
        )

    @property
    def node(self) -> str | None:
        """The node, if a fact names one."""
        return next((fact.node for fact in self.facts if fact.node is not None), None)

    @property
    def sources(self) -> set[int]:
        """The inputs that tell of it."""
        return {fact.source for fact in self.facts}

    @property
    def kinds(self) -> set[str]:
        """The kinds of input that tell of it."""
        return {fact.kind for fact in self.facts}

    @property
    def device(self) -> int | None:
        """The device, if its facts agree on one."""
        known = {fact.device for fact in self.facts} - {None}
        return known.pop() if len(known) == 1 else None

    @property
    def core(self) -> int | None:
        """The core, if its facts agree on one."""
        known = {fact.core for fact in self.facts} - {None}
        return known.pop() if len(known) == 1 else None

    @property
    def job(self) -> str | None:
        """The container or unit, if its facts agree on one."""
        known = {fact.job for fact in self.facts} - {None}
        return known.pop() if len(known) == 1 else None

    @property
    def rank(self) -> int | None:
        """The rank, if its facts agree on one."""
        known = {fact.rank for fact in self.facts} - {None}
        return known.pop() if len(known) == 1 else None

    @property
    def weak(self) -> bool:
        """Whether every fact only follows from something."""
        return all(fact.pattern.weak for fact in self.facts)

    @property
    def counted(self) -> bool:
        """Whether it is more than an information."""
        return self.lead.severity is not Severity.INFO and not self.lead.shadow

    @property
    def began(self) -> float | None:
        """When it was seen first by a clock, if a fact has one."""
        return min((fact.at for fact in self.facts if fact.at is not None), default=None)

    @property
    def first(self) -> Fact:
        """Its fact that was seen first."""
        return min(self.facts, key=lambda fact: (fact.source, fact.line))


class _ByNode:
    """Causes, and those of them that may be on the same node as a given one."""

    def __init__(self, causes: Iterable[Cause] = ()) -> None:
        self.all: list[Cause] = []
        self._by_node: dict[str | None, list[Cause]] = {}
        for cause in causes:
            self.add(cause)

    def add(self, cause: Cause) -> None:
        self.all.append(cause)
        self._by_node.setdefault(cause.node, []).append(cause)

    def beside(self, cause: Cause) -> Iterable[Cause]:
        """Those that name its node, then those that name none and may be anywhere."""
        if cause.node is None:
            return self.all
        here, anywhere = self._by_node.get(cause.node, []), self._by_node.get(None, [])
        return (*here, *anywhere)


def causes(facts: Iterable[Fact]) -> list[Cause]:
    """All causes, what only follows from them folded in; victims know their culprit."""
    seen = list(facts)
    _name_nodes(seen)
    found = _grouped(fact for fact in seen if not fact.harmless)
    _join_harmless(found, seen)
    _merge_vague(found)
    found = _fold_followers(found)
    _find_culprits(found)
    return found


def _name_nodes(facts: Sequence[Fact]) -> None:
    """An input that names one node only is all about that node."""
    names: dict[int, set[str]] = {}
    for fact in facts:
        if fact.node is not None:
            names.setdefault(fact.source, set()).add(fact.node)
    for fact in facts:
        named = names.get(fact.source, set())
        if fact.node is None and len(named) == 1:
            (fact.node,) = named


def _grouped(facts: Iterable[Fact]) -> list[Cause]:
    """One cause a finding and device; what a program does is one cause a node.

    A message that names no device belongs to the one that another message of it names.
    """
    groups: dict[tuple[object, ...], Cause] = {}
    loose: list[Fact] = []
    for fact in facts:
        where = fact.device if fact.pattern.verdict in _OF_A_DEVICE else None
        if where is None and fact.pattern.verdict in _OF_A_DEVICE:
            loose.append(fact)
            continue
        place = fact.node if fact.node is not None else fact.source
        key = (fact.pattern.finding, place, where)
        groups.setdefault(key, Cause(fact.pattern.finding, [])).facts.append(fact)
    found = _ByNode(groups.values())
    for fact in loose:
        alone = Cause(fact.pattern.finding, [fact])
        home = next((cause for cause in found.beside(alone) if _one(cause, alone)), None)
        if home is None:
            found.add(alone)
        else:
            home.facts.append(fact)
    return _views_joined(found.all)


def _views_joined(found: list[Cause]) -> list[Cause]:
    """The kernel log and the job's log of one node tell of one fault."""
    kept = _ByNode()
    for cause in found:
        beside = kept.beside(cause)
        same = [other for other in beside if _one(other, cause) and _no_clash(other, cause)]
        if len(same) == 1:
            same[0].facts.extend(cause.facts)
        else:
            kept.add(cause)
    return kept.all


def _no_clash(cause: Cause, other: Cause) -> bool:
    return None in {cause.device, other.device} or cause.device == other.device


def _one(cause: Cause, other: Cause) -> bool:
    return cause.finding == other.finding and near(cause, other)


def _join_harmless(found: list[Cause], facts: Iterable[Fact]) -> None:
    """Normal facts that tell more of a cause: who holds the core that another one wants."""
    for fact in facts:
        if fact.harmless and fact.pattern.finding != fact.pattern.id:
            for cause in found:
                known = cause.device in {None, fact.device}
                if cause.finding == fact.pattern.finding and known:
                    cause.facts.append(fact)


def _merge_vague(found: list[Cause]) -> None:
    for cause in list(found):
        for finding in _VAGUE.get(cause.finding, ()):
            better = next(
                (
                    other
                    for other in found
                    if other.finding == finding and near(other, cause) and _no_clash(other, cause)
                ),
                None,
            )
            if better is not None:
                better.facts.extend(cause.facts)
                found.remove(cause)
                break


def together(one: Cause, other: Cause) -> bool:
    """Whether two causes are on the same node for sure: named alike, or told by one input."""
    if one.node is not None and other.node is not None:
        return one.node == other.node
    return bool(one.sources & other.sources)


def near(one: Cause, other: Cause) -> bool:
    """Whether two causes may be on the same node.

    Inputs of two kinds that do not both name their node may be two views of one node; two logs
    of the same kind are of two nodes.
    """
    unnamed = one.node is None or other.node is None
    return together(one, other) or (unnamed and not one.kinds & other.kinds)


def _fold_followers(found: list[Cause]) -> list[Cause]:
    """What a fault makes happen on its own node is part of it: time-outs, tear-down, codes."""
    kept, roots = [], _ByNode()
    for cause in sorted(found, key=_strength):
        root = next((root for root in roots.beside(cause) if _follows(cause, root)), None)
        if root is not None:
            root.follows.append(cause)
            continue
        kept.append(cause)
        if cause.counted and not cause.weak:
            roots.add(cause)
    return kept


def _strength(cause: Cause) -> tuple[bool, int, bool, int, int]:
    """What can explain others comes first."""
    rank = {"hw_fault": 0, "victim": 2}.get(cause.lead.verdict, 1)
    settles = cause.lead.action is Action.REPLACE_INSTANCE
    return cause.weak, rank, not settles, cause.first.source, cause.first.line


def _follows(cause: Cause, root: Cause) -> bool:
    kind, fault = cause.lead.verdict, root.lead.verdict
    if kind == "victim":
        causes_it = fault == "hw_fault" or (fault != "victim" and _before(root, cause))
        return causes_it and together(cause, root)
    if cause.weak:
        return near(cause, root)
    if kind == fault == "hw_fault":  # what the replacement of the chip settles anyway
        settled = root.lead.action is Action.REPLACE_INSTANCE is not cause.lead.action
        return settled and root.device == cause.device is not None and near(cause, root)
    same = _no_clash(cause, root) and near(cause, root)
    return kind == "suspect" and fault == "hw_fault" and same


def _before(one: Cause, other: Cause) -> bool:
    """By clock if both have one, else by line within one input; else it may be."""
    if one.began is not None and other.began is not None:
        return one.began <= other.began
    return one.first.source != other.first.source or one.first.line <= other.first.line


def _find_culprits(found: list[Cause]) -> None:
    """Victims wait for the node with the fault; if two could be it, nobody is named."""
    faults = [cause for cause in found if cause.lead.verdict == "hw_fault" and cause.counted]
    if not faults:
        faults = [cause for cause in found if cause.finding == _HUNG and not cause.weak]
    if not faults:
        faults = [c for c in found if c.lead.verdict in {"app_error", "capacity"} and c.counted]
    if len({(fault.node, fault.first.source) for fault in faults}) == 1:
        for cause in found:
            if cause.lead.verdict == "victim" and not together(cause, faults[0]):
                cause.culprit = faults[0]
