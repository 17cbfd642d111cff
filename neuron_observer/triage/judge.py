"""Causes into findings and a verdict (architecture, laws 5, 6, 8 and 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import (
    Action,
    Confidence,
    Coverage,
    Entity,
    EntityKind,
    Evidence,
    Finding,
    Gap,
    Severity,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Scalar
    from neuron_observer.triage.causes import Cause
    from neuron_observer.triage.facts import Fact
    from neuron_observer.triage.inputs import Input

EVIDENCE = 8  # facts of a cause that are handed on; counts tell of the rest
HOLDERS = 8  # processes that are named
_PROGRAM = frozenset({"app_error", "capacity", "victim"})
_NOT_COVERED = (
    Gap("hardware_registers", "a log is hearsay: run `neuron-observer check` on the node"),
)


def ordered(causes: Sequence[Cause]) -> list[Cause]:
    """What to act on first: hardware faults, other causes, victims, notes; each by time.

    Clocks are compared only where every cause has one; else the order of inputs and lines counts.
    """
    timed = all(cause.began is not None for cause in causes if cause.counted)
    return sorted(causes, key=lambda cause: _order(cause, timed=timed))


def _order(cause: Cause, *, timed: bool) -> tuple[int, float, int, int]:
    rank = {"hw_fault": 0, "victim": 2}.get(cause.lead.verdict, 1) if cause.counted else 3
    at = cause.began if timed and cause.began is not None else 0.0
    return rank, at, cause.first.source, cause.first.line


def finding(cause: Cause, inputs: Sequence[Input]) -> Finding:
    """The finding that a cause makes."""
    lead = cause.lead
    severity, action = lead.severity, lead.action
    if lead.shadow or cause.culprit is not None:
        severity = Severity.INFO
    if cause.culprit is not None:
        action = Action.NONE
    shown = sorted(cause.facts, key=lambda fact: (fact.source, fact.line))
    followers = [fact for follower in cause.follows for fact in follower.facts]
    times = [
        at for fact in (*shown, *followers) for at in (fact.at, fact.last_at) if at is not None
    ]
    return Finding(
        id=cause.finding,
        entity=_entity(cause),
        severity=severity,
        confidence=Confidence.PROBABLE,
        action=action,
        message=_message(cause, inputs),
        if_confirmed=lead.if_confirmed,
        confirm_by=lead.confirm_by,
        blames_hardware=lead.blames_hardware,
        evidence=tuple(
            _evidence(fact, inputs, follows=fact in followers)
            for fact in (*shown[:EVIDENCE], *followers[:EVIDENCE])
        ),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        runbook=lead.runbook,
    )


def _entity(cause: Cause) -> Entity:
    kind: EntityKind = "node"
    if cause.lead.verdict in _PROGRAM:
        kind = "job"  # the node's own health is not in question
    elif cause.device is not None:
        kind = "device" if cause.core is None else "core"
    serial = next(
        (str(fact.fields["serial-num"]) for fact in cause.facts if "serial-num" in fact.fields),
        None,
    )
    place = (cause.node, cause.device, cause.core)
    return Entity(kind, *place, serial=serial, job=cause.job, rank=cause.rank)


def _message(cause: Cause, inputs: Sequence[Input]) -> str:
    parts = [cause.lead.meaning]
    if cause.culprit is not None:
        there = place(cause.culprit, inputs)
        parts = [f"Waited for {there}, where the cause most likely is; not at fault itself."]
    holders = _holders(cause)
    if holders:
        parts.append(f"Core held by pid {', '.join(holders)}.")
    if cause.lead.shadow:
        parts.append("The reading is inferred from the driver's code and not counted.")
    if any(f.kind == "kernel_line" and f.by_kernel is False for f in cause.facts):
        parts.append("A process wrote the line into the kernel log, not the kernel.")
    return " ".join(parts)


def _holders(cause: Cause) -> list[str]:
    """Processes that hold the core that is wanted; all of them where no core is named."""
    wanted = {fact.core for fact in cause.facts if fact.core is not None}
    held = [fact for fact in cause.facts if fact.pattern.id.startswith("listing-held")]
    return sorted({str(fact.fields["pid"]) for fact in held if _holds(fact, wanted)})[:HOLDERS]


def _holds(fact: Fact, wanted: set[int]) -> bool:
    first, last = fact.fields.get("first_core"), fact.fields.get("last_core")
    if not wanted or not isinstance(first, int) or not isinstance(last, int):
        return True
    return any(first <= core <= last for core in wanted)


def place(cause: Cause, inputs: Sequence[Input]) -> str:
    """The node (else the input), device and core of a cause, in words."""
    parts = [cause.node if cause.node is not None else f"the node of {label(cause.first, inputs)}"]
    if cause.device is not None:
        parts.append(f"device {cause.device}")
    if cause.core is not None:
        parts.append(f"core {cause.core}")
    if cause.job is not None:
        parts.append(f"job {cause.job}")
    if cause.rank is not None:
        parts.append(f"rank {cause.rank}")
    return ", ".join(parts)


def label(fact: Fact, inputs: Sequence[Input]) -> str:
    """The input of a fact, as short as it can be told from the others."""
    name = inputs[fact.source].name
    short = name.rsplit("/", 1)[-1]
    return short if sum(source.name.endswith(f"/{short}") for source in inputs) < 2 else name


def _evidence(fact: Fact, inputs: Sequence[Input], *, follows: bool) -> Evidence:
    fields: dict[str, Scalar] = {
        "pattern": fact.pattern.id,
        "count": fact.count,
        "last_line": fact.last_line,
        "follows": int(follows),
        "grade": fact.pattern.fact.grade,
    }
    if fact.code is not None:
        fields["code"] = fact.code
    if fact.pids:
        fields["pids"] = ", ".join(str(pid) for pid in fact.pids)
    return Evidence(
        kind=fact.kind,
        trust="hearsay",
        source=inputs[fact.source].name,
        value=fact.text,
        at=fact.at,
        line=fact.line,
        fields=fields | {f"field_{key}": value for key, value in fact.fields.items()},
    )


def verdict(
    found: Sequence[Finding], inputs: Sequence[Input], facts: int
) -> tuple[Verdict, Coverage]:
    """The verdict on what was handed over, and what it rests on.

    Nothing that is known, or an input that was not read to its end, cannot give HEALTHY.
    """
    unread = [source for source in inputs if source.failed or source.partial]
    coverage = Coverage(
        decided=len(inputs) - len(unread),
        required=len(inputs),
        missing=tuple(Gap(source.name, "; ".join(source.notes)) for source in unread),
        not_covered=_NOT_COVERED,
    )
    severities = {finding.severity for finding in found}
    if severities & {Severity.CRITICAL, Severity.WARNING}:
        return Verdict.DEGRADED, coverage
    if unread or not facts:
        return Verdict.UNKNOWN, coverage
    return Verdict.HEALTHY, coverage
