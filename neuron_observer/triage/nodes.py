"""What nodes told of themselves in bundles: their findings stand, the logs only say more of them.

A node has read its registers for hours; its log is hearsay. So lines of a bundle's own logs make
no findings: they are evidence of those that the node has, by their numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.model import Coverage, Evidence, Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.bundle.opened import Told
    from neuron_observer.triage.facts import Fact
    from neuron_observer.triage.inputs import Input

LINES = 8  # of a log, as evidence of one finding
RANK = (Verdict.HEALTHY, Verdict.UNKNOWN, Verdict.DEGRADED, Verdict.UNHEALTHY)


class Node(NamedTuple):
    """A node as its bundle tells: findings with the lines of its logs; lines of no finding."""

    source: int  # index of the input
    verdict: Verdict
    reason: str
    coverage: Coverage
    findings: tuple[Finding, ...]
    lines: tuple[Fact, ...]  # that the findings rest on
    beside: tuple[Fact, ...]  # of kinds that have no finding
    about: Mapping[str, Any]

    def document(self, name: str) -> dict[str, Any]:
        """As JSON."""
        return {
            "input": name,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "findings": len(self.findings),
            **self.about,
        }


def nodes(inputs: Sequence[Input], facts: Sequence[Fact]) -> tuple[Node, ...]:
    """The nodes of all bundles; they get names where there are several inputs."""
    alone = sum(source.part_of is None for source in inputs) == 1
    return tuple(
        _node(index, source.told, inputs, facts, named=None if alone else source.short)
        for index, source in enumerate(inputs)
        if source.told is not None
    )


def _node(
    index: int, told: Told, inputs: Sequence[Input], facts: Sequence[Fact], *, named: str | None
) -> Node:
    mine = [fact for fact in facts if inputs[fact.source].part_of == index]
    used: list[Fact] = []
    findings = []
    for one in told.findings:
        fitting = [fact for fact in mine if _fits(fact, one)]
        used += [fact for fact in fitting if fact not in used]
        lines = tuple(_evidence(fact, inputs) for fact in fitting[:LINES])
        entity = one.entity if named is None else one.entity._replace(node=named)
        findings.append(one._replace(entity=entity, evidence=(*one.evidence, *lines)))
    beside = [fact for fact in mine if fact not in used and not fact.harmless]
    return Node(
        index,
        *(told.verdict, told.reason, told.coverage),
        tuple(findings),
        tuple(used),
        tuple(beside),
        told.about,
    )


def _fits(fact: Fact, finding: Finding) -> bool:
    """Whether a line is about a finding: of its kind and not of another device, or named by it."""
    if fact.pattern.finding == finding.id:
        device = finding.entity.device
        return None in (fact.device, device) or fact.device == device
    told = [str(one.value) for one in finding.evidence if one.kind == "kernel_line" and one.value]
    return any(value in fact.text for value in told)


def _evidence(fact: Fact, inputs: Sequence[Input]) -> Evidence:
    return Evidence(
        kind=fact.kind,
        trust="hearsay",
        source=inputs[fact.source].name,
        value=fact.text,
        at=fact.at,
        line=fact.line,
        fields={
            "pattern": fact.pattern.id,
            "count": fact.count,
            "last_line": fact.last_line,
        },
    )


def folded(
    found: Sequence[Node], logs: tuple[Verdict, Coverage] | None, *, whole: bool
) -> tuple[Verdict, Coverage]:
    """The worst verdict of nodes and logs; what was not read to its end is never healthy."""
    parts: list[tuple[Verdict, Coverage]] = [(one.verdict, one.coverage) for one in found]
    parts += [logs] if logs is not None else []
    verdict = max((part[0] for part in parts), key=RANK.index)
    if verdict is Verdict.HEALTHY and not whole:
        verdict = Verdict.UNKNOWN
    return verdict, Coverage(
        sum(part[1].decided for part in parts),
        sum(part[1].required for part in parts),
        tuple(gap for part in parts for gap in part[1].missing),
        tuple(dict.fromkeys(gap for part in parts for gap in part[1].not_covered)),
    )
