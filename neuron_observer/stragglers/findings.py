"""Suspects as findings, and as the text that an alert carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import (
    Action,
    Confidence,
    Entity,
    Evidence,
    Finding,
    Scalar,
    Severity,
    State,
)
from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.suspects import Agreement, Kind, Scope, Suspect
from neuron_observer.text import action_text

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Ints, Labels, Topology
    from neuron_observer.stragglers.slowdown import Slowdown
    from neuron_observer.stragglers.suspects import Assessment

SEVERITIES = {
    Tier.NOTICE: Severity.INFO,
    Tier.WARNING: Severity.WARNING,
    Tier.CRITICAL: Severity.CRITICAL,
}

RULES = {Kind.IMBALANCE: "imbalance", Kind.ALWAYS: "always-slow"}  # else "straggler"

PROFILE = "profile the suspect and one healthy peer; compare Active Throttled % and kernel times"

# kind → (what to do now, what to do once confirmed, how to confirm)
REMEDIES: dict[Kind, tuple[Action, Action | None, tuple[str, ...]]] = {
    Kind.COMPUTE: (Action.WATCH, Action.REPLACE_INSTANCE, (PROFILE, "run the job without it")),
    Kind.CHIP: (Action.WATCH, Action.REPLACE_INSTANCE, ("the device's ECC and health counters",)),
    Kind.THROTTLED: (Action.WATCH, Action.REPLACE_INSTANCE, (PROFILE,)),
    Kind.HOST: (Action.FIX_PROGRAM, None, ("CPU pressure, run queue and cgroup limits there",)),
    Kind.INPUT: (Action.FIX_PROGRAM, None, ("data loader workers and storage of that host",)),
    Kind.NETWORK: (
        Action.LOOK_AT_OTHER_WORKERS,
        Action.REPLACE_INSTANCE,
        ("EFA counters on both ends: retransmits, unresponsive and impaired remotes",),
    ),
    Kind.IMBALANCE: (Action.NONE, None, ()),
    Kind.ALWAYS: (Action.WATCH, Action.REPLACE_INSTANCE, (PROFILE,)),
    Kind.UNKNOWN: (Action.WATCH, None, (PROFILE,)),
}

KIND_WORDS = {
    Kind.COMPUTE: "compute-slow",
    Kind.CHIP: "HBM or chip",
    Kind.THROTTLED: "throttled",
    Kind.HOST: "host-slow",
    Kind.INPUT: "input-slow",
    Kind.NETWORK: "network-slow",
    Kind.IMBALANCE: "workload imbalance, not hardware",
    Kind.ALWAYS: "always slow",
    Kind.UNKNOWN: "unknown",
}


def findings(
    assessment: Assessment, topology: Topology, *, job: str | None = None
) -> tuple[Finding, ...]:
    """All that an assessment says, open suspects first; job-wide slowness last."""
    suspects = (*assessment.suspects, *assessment.closed)
    found = [of_suspect(suspect, topology, at=assessment.at, job=job) for suspect in suspects]
    if assessment.slowdown is not None:
        named = any(s.tier >= Tier.WARNING and not s.closed for s in suspects)
        found.append(_of_slowdown(assessment.slowdown, assessment, named=named, job=job))
    return tuple(found)


def of_suspect(
    suspect: Suspect, topology: Topology, *, at: float | None, job: str | None = None
) -> Finding:
    """One suspect as a finding; `at` is the wall clock of now, None where time is not known."""
    action, confirmed, confirm_by = REMEDIES[suspect.kind]
    timed = at is not None
    return Finding(
        id=RULES.get(suspect.kind, "straggler"),
        entity=entity(suspect, topology, job),
        severity=SEVERITIES[suspect.tier],
        confidence=Confidence.CONFIRMED if suspect.hardware else Confidence.PROBABLE,
        action=action,
        message=message(suspect, topology),
        state=State.RESOLVED if suspect.closed else State.FIRING,
        if_confirmed=confirmed,
        confirm_by=confirm_by,
        blames_hardware=suspect.hardware and suspect.kind in {Kind.CHIP, Kind.THROTTLED},
        evidence=_evidence(suspect),
        first_seen=suspect.since if timed else None,
        last_seen=at,
        runbook=f"docs/stragglers.md#{suspect.kind.value.replace('_', '-')}",
    )


def _evidence(suspect: Suspect) -> tuple[Evidence, ...]:
    fields: dict[str, Scalar] = {
        "first_step": suspect.first_step,
        "last_step": suspect.last_step,
        "ratio": round(suspect.ratio, 4),
        "max_ratio": round(suspect.worst, 4),
        "slow_steps": suspect.slow_steps,
        "scope": suspect.scope.value,
        "class": suspect.kind.value,
        "ranks": ",".join(str(rank) for rank in suspect.ranks),
    }
    if suspect.cost is not None:
        fields["cost"] = round(suspect.cost, 4)
    if suspect.lost is not None:
        fields["lost_rank_seconds"] = round(suspect.lost, 3)
    value = round(suspect.ratio, 4)
    evidence = [Evidence("statistic", "hearsay", "step times", value, 1, fields=fields)]
    if suspect.hardware:
        evidence += [Evidence("counter", "hardware", text) for text in suspect.basis]
    return tuple(evidence)


def entity(suspect: Suspect, topology: Topology, job: str | None = None) -> Entity:
    """Who the suspect is, as far as the topology tells."""
    row = suspect.rows[0] if suspect.rows else None
    node = _name(topology.node, row)
    if suspect.scope is Scope.CORE:
        device, core = _index(topology.device_index, row), _index(topology.core, row)
        rank = suspect.ranks[0]
        return Entity("rank", node=node, device=device, core=core, job=job, rank=rank)
    if suspect.scope is Scope.DEVICE:
        return Entity("device", node=node, device=_index(topology.device_index, row), job=job)
    if suspect.scope is Scope.NODE:
        return Entity("node", node=node, job=job)
    return Entity("link" if suspect.scope is Scope.LINK else "job", job=job)


def _name(labels: Labels | None, row: int | None) -> str | None:
    return None if labels is None or row is None else labels.name(row)


def _index(values: Ints | None, row: int | None) -> int | None:
    return None if values is None or row is None or values[row] < 0 else int(values[row])


def where(suspect: Suspect, topology: Topology) -> str:
    """The suspect in words: `rank 137 (node ip-10-0-3-21, device 6, core 25)`."""
    of = entity(suspect, topology)
    place = [
        f"{kind} {at}" for kind, at in (("node", of.node), ("device", of.device)) if at is not None
    ]
    if suspect.scope is Scope.CORE:
        place += [] if of.core is None else [f"core {of.core} (logical)"]
        return f"rank {of.rank}" + (f" ({', '.join(place)})" if place else "")
    if suspect.scope in {Scope.DEVICE, Scope.NODE} and place:
        return f"{', '.join(place)} ({ranks(suspect)})"
    return f"{suspect.group or suspect.scope.value} ({ranks(suspect)})"


def ranks(suspect: Suspect, most: int = 8) -> str:
    """Its ranks, the first few by number."""
    if not suspect.ranks:
        return "no rank in particular"
    shown = ", ".join(str(rank) for rank in suspect.ranks[:most])
    more = len(suspect.ranks) - most
    return f"ranks {shown}" + (f" and {more} more" if more > 0 else "")


def message(suspect: Suspect, topology: Topology) -> str:
    """One line: who, how much, since when and until when, what kind."""
    who, ratio = where(suspect, topology), f"{suspect.ratio:.2f}x"
    steps = (
        f"steps {suspect.first_step}-{suspect.last_step}"
        if suspect.closed
        else f"since step {suspect.first_step}"
    )
    kind = KIND_WORDS[suspect.kind]
    if suspect.kind is Kind.ALWAYS:
        return f"{who}: {ratio} the same role on other nodes since before we watched"
    if suspect.kind is Kind.NETWORK:
        return f"{who}: transfers take {ratio} their usual time, {steps} ({kind})"
    if suspect.kind is Kind.INPUT:
        return f"{who}: waits for input, step {ratio}, {steps} ({kind})"
    return f"{who}: busy {ratio} its peers and its own past, {steps} ({kind})"


def alert(suspect: Suspect, topology: Topology, slowdown: Slowdown | None, basis: str) -> str:
    """The text of an alert: what, effect, class, what it is not, what to do, what it rests on."""
    _, confirmed, confirm_by = REMEDIES[suspect.kind]
    waits = {
        Agreement.AGREES: "; it waits less than its peers, as a culprit must",
        Agreement.DIFFERS: "; it does NOT wait less than its peers: measurement, or off the path",
        Agreement.UNKNOWN: "",
    }[suspect.agreement]
    slow = f"{suspect.slow_steps} slow steps up to step {suspect.last_step}"
    lines = [
        f"{SEVERITIES[suspect.tier].value.upper()} {message(suspect, topology)}",
        f"What:   {slow}, at worst {suspect.worst:.2f}x{waits}",
        f"Effect: {_effect(suspect, slowdown)}",
        f"Class:  {KIND_WORDS[suspect.kind]}: {'; '.join(suspect.basis) or 'no side columns'}",
    ]
    if suspect.excluded:
        lines.append(f"Not:    {', '.join(suspect.excluded)} (unchanged)")
    if confirm_by:
        then = f"; if confirmed: {action_text(confirmed)}" if confirmed else ""
        lines.append(f"Do:     {'; '.join(confirm_by)}{then}")
    lines.append(f"Basis:  {basis}")
    return "\n".join(lines)


def _effect(suspect: Suspect, slowdown: Slowdown | None) -> str:
    parts = []
    if slowdown is not None:
        parts.append(
            f"job step {slowdown.before:.3g} → {slowdown.now:.3g} s ({slowdown.ratio:.2f}x)"
        )
    if suspect.lost is not None and suspect.cost is not None:
        parts.append(f"about {suspect.lost:.3g} rank-seconds lost a step ({suspect.cost:.1%})")
    return "; ".join(parts) or "on the job unknown"


def _of_slowdown(
    slowdown: Slowdown, assessment: Assessment, *, named: bool, job: str | None
) -> Finding:
    """The job is slower; says so even where nobody can be named, and why."""
    why = "" if named else f"; nobody can be named: {'; '.join(assessment.refusals)}"
    fields: dict[str, Scalar] = {
        "first_step": slowdown.first_step,
        "last_step": assessment.step,
        "ratio": round(slowdown.ratio, 4),
    }
    source = Evidence(
        "statistic",
        "hearsay",
        "step period",
        round(slowdown.now, 4),
        round(slowdown.before, 4),
        fields=fields,
    )
    return Finding(
        id="job-slow",
        entity=Entity("job", job=job),
        severity=Severity.WARNING,
        confidence=Confidence.CONFIRMED,
        action=Action.WATCH if named else Action.LOOK_AT_OTHER_WORKERS,
        message=(
            f"the job is {slowdown.ratio:.2f}x as slow since step {slowdown.first_step} "
            f"({slowdown.before:.3g} → {slowdown.now:.3g} s a step){why}"
        ),
        evidence=(source,),
        first_seen=slowdown.since,
        last_seen=assessment.at,
        runbook="docs/stragglers.md#job-slow",
    )
