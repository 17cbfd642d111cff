"""What one finding weighs: whether it counts, the verdict it gives, and which is the worse. Pure.

The order of findings stands here and nowhere else: the reason of a verdict, the lists of every
verb, the lines for monitors and schedulers and the screen all go by `worst_first`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Action, Confidence, Severity, State, Verdict

if TYPE_CHECKING:
    from neuron_observer.model import Finding

_OF_PROGRAMS = frozenset({Action.FIX_PROGRAM, Action.RESTART_JOB})
_STANDING = frozenset({State.FIRING, State.ACKNOWLEDGED, State.RECOVERING})
_ORDER = {
    verdict: rank
    for rank, verdict in enumerate(
        (Verdict.HEALTHY, Verdict.UNKNOWN, Verdict.DEGRADED, Verdict.UNHEALTHY)
    )
}
_WORST = {severity: place for place, severity in enumerate(reversed(Severity))}
_SUREST = {confidence: place for place, confidence in enumerate(Confidence)}


def rank(verdict: Verdict) -> int:
    """0 for healthy, up to 3 for unhealthy."""
    return _ORDER[verdict]


def counts(finding: Finding) -> bool:
    """Whether a finding has a part in the health of what it is about."""
    return (
        finding.state in _STANDING
        and finding.confidence is not Confidence.CONTRADICTED
        and not finding.shadow
        and not is_of_job(finding)
    )


def is_of_job(finding: Finding) -> bool:
    """Whether it is about a program, or this machine is only where it shows (law 8)."""
    program = finding.program or (finding.action in _OF_PROGRAMS and not finding.blames_hardware)
    return program or finding.entity.kind in ("job", "rank")


def of_finding(finding: Finding) -> Verdict:
    """The verdict that one finding alone gives."""
    if not counts(finding) or finding.severity is Severity.INFO:
        return Verdict.HEALTHY
    if finding.severity is Severity.CRITICAL and finding.confidence is Confidence.CONFIRMED:
        return Verdict.UNHEALTHY
    return Verdict.DEGRADED


def weight(finding: Finding) -> tuple[int, int, int]:
    """The worst is the least: by the verdict it gives, then severity, then confidence."""
    verdict = -rank(of_finding(finding))
    return verdict, _WORST[finding.severity], _SUREST[finding.confidence]


def worst_first(finding: Finding) -> tuple[tuple[int, int, int], str, int, int, str]:
    """The key that sorts findings: by weight, then by id and place."""
    entity = finding.entity
    device = -1 if entity.device is None else entity.device
    core = -1 if entity.core is None else entity.core
    return weight(finding), finding.id, device, core, entity.port or ""
