"""Facts grouped into causes: what belongs together, what follows from what, and on which node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from neuron_observer.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.rules.patterns import Pattern
    from neuron_observer.triage.facts import Fact

# A finding that says less than another one on the same device is part of it.
_VAGUE = {
    "hbm-uncorrectable": ("hbm-unrepairable", "hbm-repairable"),
    "hw-error": ("sram-uncorrectable", "hbm-unrepairable", "hbm-repairable", "dma-abort"),
}
_HUNG = "compute-hang"
_ORDER = [Severity.INFO, Severity.WARNING, Severity.CRITICAL]


@dataclass(slots=True)
class Cause:
    """One thing that happened at one place: its facts, and what follows from it."""

    finding: str
    node: str | None
    facts: list[Fact]
    follows: list[Cause] = field(default_factory=list)  # on the same node
    culprit: Cause | None = None  # for a victim: what it waited for, on another node

    @property
    def lead(self) -> Pattern:
        """The row that says most: not weak, most severe, seen first."""
        return self.leading.pattern

    @property
    def leading(self) -> Fact:
        """The fact that says most."""
        return min(
            self.facts,
            key=lambda fact: (
                fact.harmless,
                fact.pattern.weak,
                -_ORDER.index(fact.pattern.severity),
                fact.order,
            ),
        )

    @property
    def device(self) -> int | None:
        """The device, if its facts agree on one."""
        known = {fact.device for fact in self.facts} - {None}
        return known.pop() if len(known) == 1 else None

    @property
    def core(self) -> int | None:
        """The core, if its facts agree on one."""
        known = {fact.core for fact in self.facts if fact.device is not None or self.device is None}
        known -= {None}
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
    def first(self) -> Fact:
        """Its fact that was seen first."""
        return min(self.facts, key=lambda fact: (fact.source, fact.line))


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
    groups: dict[tuple[object, ...], Cause] = {}
    loose: list[Fact] = []
    for fact in facts:
        if fact.device is None and fact.core is None:
            loose.append(fact)
            continue
        key = (fact.pattern.finding, _place(fact), fact.device, fact.core)
        groups.setdefault(key, Cause(fact.pattern.finding, fact.node, [])).facts.append(fact)
    found = list(groups.values())
    _merge_coreless(found)
    for fact in loose:  # the message names no place: it belongs to what happened there first
        home = next((cause for cause in found if _same(cause, fact)), None)
        if home is None:
            home = Cause(fact.pattern.finding, fact.node, [])
            found.append(home)
        home.facts.append(fact)
        home.node = home.node or fact.node
    return found


def _place(fact: Fact) -> object:
    """The node, or the input where no line names a node."""
    return fact.node if fact.node is not None else fact.source


def _merge_coreless(found: list[Cause]) -> None:
    """`device 3` and `device 3 core 1` are one place, if only one core of it is named."""
    for cause in list(found):
        if cause.core is not None and cause.device is not None:
            continue
        others = [
            other
            for other in found
            if other is not cause
            and other.finding == cause.finding
            and _place(other.facts[0]) == _place(cause.facts[0])
            and (cause.device is None or other.device == cause.device)
            and (cause.core is None or cause.device is None)
            and other.device is not None
        ]
        if len(others) == 1:
            others[0].facts.extend(cause.facts)
            found.remove(cause)


def _same(cause: Cause, fact: Fact) -> bool:
    """Whether a fact without a place may belong to a cause: same finding, same or unknown node."""
    if cause.finding != fact.pattern.finding:
        return False
    if cause.node is not None and fact.node is not None:
        return cause.node == fact.node
    here = {known.source for known in cause.facts}
    return fact.source in here or fact.kind not in {known.kind for known in cause.facts}


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
                    if other.finding == finding
                    and _near(other, cause)
                    and (cause.device is None or cause.device == other.device)
                ),
                None,
            )
            if better is not None:
                better.facts.extend(cause.facts)
                found.remove(cause)
                break


def _near(one: Cause, other: Cause) -> bool:
    """Whether two causes may be on the same node: named alike, or one of them not named."""
    if one.node is not None and other.node is not None:
        return one.node == other.node
    sources = {fact.source for fact in one.facts} & {fact.source for fact in other.facts}
    return bool(sources) or (
        one.node is None
        and other.node is None
        and not {fact.kind for fact in one.facts} & {fact.kind for fact in other.facts}
    )


def _fold_followers(found: list[Cause]) -> list[Cause]:
    """What a fault makes happen on its own node is part of it: time-outs, tear-down, codes."""
    roots = sorted((cause for cause in found if _is_root(cause)), key=_root_order)
    kept = []
    for cause in found:
        root = next((root for root in roots if root is not cause and _follows(cause, root)), None)
        if root is None:
            kept.append(cause)
        else:
            root.follows.append(cause)
    return kept


def _is_root(cause: Cause) -> bool:
    return cause.counted and not cause.weak


def _root_order(cause: Cause) -> tuple[int, int, int]:
    rank = {"hw_fault": 0, "victim": 2}.get(cause.lead.verdict, 1)
    return rank, cause.first.source, cause.first.line


def _follows(cause: Cause, root: Cause) -> bool:
    if not _near(cause, root):
        return False
    if cause.weak:
        return True
    kind, fault = cause.lead.verdict, root.lead.verdict
    elsewhere = None not in {cause.device, root.device} and cause.device != root.device
    if fault == "hw_fault":
        return kind == "victim" or (kind == "suspect" and not elsewhere)
    if kind == "victim":
        return fault in {"suspect", "app_error", "capacity"} and _before(root, cause)
    return False


def _before(one: Cause, other: Cause) -> bool:
    """By clock if both have one, else by line within one input; else it may be."""
    if one.first.at is not None and other.first.at is not None:
        return one.first.at <= other.first.at
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
            if cause.lead.verdict == "victim" and not _near(cause, faults[0]):
                cause.culprit = faults[0]
