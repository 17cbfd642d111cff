"""Findings and coverage into health (architecture, law 6). Pure.

UNHEALTHY (critical and confirmed) > DEGRADED (critical and probable, or a warning) > UNKNOWN (a
required signal that should be there is missing) > HEALTHY. What is pending, resolved, contradicted,
in shadow or about a program is shown and does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import (
    Action,
    Confidence,
    Coverage,
    DeviceHealth,
    Health,
    PartHealth,
    Severity,
    State,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from neuron_observer.model import Finding, Gap

_OF_PROGRAMS = frozenset({Action.FIX_PROGRAM, Action.RESTART_JOB})
_STANDING = frozenset({State.FIRING, State.ACKNOWLEDGED, State.RECOVERING})
_PARTS = frozenset({"core", "link", "port"})
_ORDER = {
    verdict: rank
    for rank, verdict in enumerate(
        (Verdict.HEALTHY, Verdict.UNKNOWN, Verdict.DEGRADED, Verdict.UNHEALTHY)
    )
}


class Opinion(NamedTuple):
    """A verdict and why."""

    verdict: Verdict
    reason: str


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


def opinion(findings: Iterable[Finding], missing: Sequence[Gap], decided: int) -> Opinion:
    """The verdict on anything: its findings, its missing signals, how many were decided."""
    found = sorted(findings, key=_worst_first)
    if found and (verdict := of_finding(found[0])) is not Verdict.HEALTHY:
        return Opinion(verdict, _told(found[0]))
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        first = missing[0]
        return Opinion(Verdict.UNKNOWN, f"{first.id} cannot be decided: {first.why}{more}")
    if not decided:
        return Opinion(Verdict.UNKNOWN, "nothing that health rests on can be read here")
    hidden = sum(one.state is State.SUPPRESSED for one in found)
    nothing = f"nothing found that counts, {hidden} suppressed" if hidden else "nothing found"
    return Opinion(Verdict.HEALTHY, f"{nothing}; {decided} required signals read")


def _worst_first(finding: Finding) -> tuple[int, str, int, int]:
    entity = finding.entity
    device = -1 if entity.device is None else entity.device
    return -rank(of_finding(finding)), finding.id, device, entity.core or 0


def _told(finding: Finding) -> str:
    return f"{finding.id} ({finding.severity.value}, {finding.confidence.value}): {finding.message}"


def fold(
    findings: Sequence[Finding],
    coverage: Coverage,
    devices: Collection[int] = (),
    decided: dict[int | None, int] | None = None,
) -> Health:
    """The health of the node and of its parts; `decided`: signals by device, None for the node."""
    by_device: dict[int | None, list[Finding]] = {}
    for finding in findings:
        by_device.setdefault(finding.entity.device, []).append(finding)
    missing: dict[int | None, list[Gap]] = {}
    for gap in coverage.missing:
        missing.setdefault(gap.entity.device if gap.entity else None, []).append(gap)
    numbers = decided or {}
    node = opinion(findings, coverage.missing, coverage.decided)
    return Health(
        node.verdict,
        node.reason,
        coverage,
        tuple(
            DeviceHealth(
                index,
                *opinion(by_device.get(index, ()), missing.get(index, ()), numbers.get(index, 0)),
            )
            for index in sorted(devices)
        ),
        _parts(findings),
    )


def _parts(findings: Sequence[Finding]) -> tuple[PartHealth, ...]:
    """Cores, links and ports with a finding that counts."""
    found: dict[object, list[Finding]] = {}
    for finding in findings:
        if finding.entity.kind in _PARTS and of_finding(finding) is not Verdict.HEALTHY:
            found.setdefault(finding.entity, []).append(finding)
    return tuple(
        PartHealth(those[0].entity, *opinion(those, (), len(those))) for those in found.values()
    )
