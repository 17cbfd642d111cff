"""Suspects of a running job → findings with all that an alert says. Loaded with the detector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Confidence, Evidence, Finding, Severity
from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.findings import KIND_WORDS, REMEDIES, SEVERITIES
from neuron_observer.stragglers.suspects import Agreement, Kind, Scope
from neuron_observer.stragglers.telling import entity, of_slowdown, place, who

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from neuron_observer.model import Scalar
    from neuron_observer.stragglers.ranks import Row
    from neuron_observer.stragglers.slowdown import Slowdown
    from neuron_observer.stragglers.suspects import Assessment, Suspect
    from neuron_observer.stragglers.telling import About

_WAITS = {
    Agreement.AGREES: "; it waits less than its peers, as a culprit must",
    Agreement.DIFFERS: "; it does NOT wait less than its peers: measurement, or off the path",
    Agreement.UNKNOWN: "",
}
_IDS = {Kind.IMBALANCE: "imbalance"}
_HARDWARE = {Kind.CHIP, Kind.THROTTLED, Kind.NETWORK}


def accuse(
    assessment: Assessment, about: About, *, reasons: Sequence[str], hints: Sequence[str]
) -> Iterator[Finding]:
    """All that stands against somebody, or against nobody in particular."""
    of_job = [one for one in assessment.suspects if one.scope is Scope.JOB]
    others = [one for one in assessment.suspects if one.scope is not Scope.JOB]
    seen = set()
    for suspect in sorted(others, key=lambda one: -one.tier):
        found = of_suspect(suspect, about, assessment.slowdown)
        if (found.id, found.entity) not in seen:
            seen.add((found.id, found.entity))
            yield found
    slower = assessment.slowdown
    if slower is None:
        sure = [one for one in of_job if one.tier >= Tier.WARNING]
        yield from (of_suspect(one, about, None) for one in sure[:1])
    else:
        named = any(one.tier >= Tier.WARNING for one in others)
        causes = [f"{KIND_WORDS[one.kind]}: {'; '.join(one.basis)}" for one in of_job]
        kind = of_job[0].kind.value if of_job else "unknown"
        why = tuple(dict.fromkeys((*assessment.refusals, *reasons)))
        yield of_slowdown(
            slower,
            about,
            named=named or bool(of_job),
            kind=kind,
            reasons=why,
            hints=[*causes, *hints],
            remedy=REMEDIES[of_job[0].kind] if of_job else None,
        )


def of_suspect(suspect: Suspect, about: About, slower: Slowdown | None) -> Finding:
    """One suspect; what it rests on decides whether it is more than probable."""
    rows = [about.rows[at] for at in suspect.rows]
    action, confirmed, confirm_by = REMEDIES[suspect.kind]
    fields = _fields(suspect, about, slower)
    ratio = round(suspect.ratio, 4)
    evidence = [Evidence("heartbeat", "hearsay", "step times of the hook", ratio, 1, fields=fields)]
    if suspect.hardware:
        evidence += [Evidence("counter", "hardware", text) for text in suspect.basis]
    name = "job-slow" if suspect.scope is Scope.JOB else _IDS.get(suspect.kind, "straggler")
    return Finding(
        id=name,
        entity=entity(about, rows),
        severity=SEVERITIES[suspect.tier] if suspect.tier > Tier.NONE else Severity.INFO,
        confidence=Confidence.CONFIRMED if suspect.hardware else Confidence.PROBABLE,
        action=action,
        message=_message(suspect, rows, slower),
        if_confirmed=confirmed,
        confirm_by=confirm_by,
        blames_hardware=suspect.hardware and suspect.kind in _HARDWARE,
        evidence=tuple(evidence),
        first_seen=suspect.since,
        last_seen=about.wall,
        runbook=f"docs/runbooks/{name}.md",
        program=True,
    )


def _message(suspect: Suspect, rows: Sequence[Row], slower: Slowdown | None) -> str:
    """One line: who and where, how much, of what kind, what it does to the job."""
    devices = {row.device for row in rows}
    where = place(rows[0]) if len(rows) == 1 else ""
    if suspect.scope is Scope.DEVICE and len(devices) == 1:
        where = f" (all on neuron{devices.pop()})"
    elif suspect.scope is Scope.NODE:
        where = " (of this node)"
    ratio = f"{suspect.ratio:.2f}x"
    kind = KIND_WORDS[suspect.kind]
    effect = ""
    if slower is not None:
        effect = f"; job step {slower.before:.3g} → {slower.now:.3g} s"
    if suspect.kind is Kind.ALWAYS:
        return f"{who(rows)}{where}: {ratio} the same role elsewhere since before we watched"
    if suspect.kind is Kind.NETWORK:
        return f"{suspect.group or who(rows)}: transfers take {ratio} their usual time ({kind})"
    if suspect.kind is Kind.INPUT:
        return f"{who(rows)}{where}: waits for its data, step {ratio} ({kind}){effect}"
    return f"{who(rows)}{where}: busy {ratio} its peers and its own past ({kind}){effect}"


def _fields(suspect: Suspect, about: About, slower: Slowdown | None) -> dict[str, Scalar]:
    worst = f", at worst {suspect.worst:.2f}x" if suspect.worst > 1 else ""
    unit = "slow steps" if about.fold == 1 else f"times {about.fold} slow steps"
    steps = f"{suspect.slow_steps} {unit}" if suspect.slow_steps else "its usual level"
    size = about.world_size or len(about.rows)
    effect = [f"job step {slower.before:.3g} → {slower.now:.3g} s"] if slower else []
    fields: dict[str, Scalar] = {
        "class": suspect.kind.value,
        "scope": suspect.scope.value,
        "ratio": round(suspect.ratio, 4),
        "ranks": ",".join(str(rank) for rank in suspect.ranks),
        "first_step": suspect.first_step,
        "last_step": suspect.last_step,
        "what": f"{steps}{worst}, against {len(about.rows) - len(suspect.rows)} peers here"
        f"{_WAITS[suspect.agreement]}",
        "cause": f"{KIND_WORDS[suspect.kind]}: {'; '.join(suspect.basis) or 'nothing else seen'}",
        "basis": about.basis,
    }
    if suspect.cost is not None and suspect.lost is not None:
        lost = suspect.lost / len(about.rows) * size
        unless = " unless a rank elsewhere is slower still" if about.elsewhere else ""
        effect.append(
            f"about {lost:.3g} rank-seconds lost a step over {size} ranks"
            f" ({suspect.cost:.1%}){unless}"
        )
        fields["cost"] = round(suspect.cost, 4)
        fields["lost_rank_seconds"] = round(lost, 3)
    fields["effect"] = "; ".join(effect) or "on the job none that can be seen"
    if suspect.excluded:
        fields["not"] = f"{', '.join(suspect.excluded)} (unchanged)"
    return fields
