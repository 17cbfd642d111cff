"""Findings and coverage into health (architecture, law 6). Pure.

UNHEALTHY (critical and confirmed) > DEGRADED (critical and probable, or a warning) > UNKNOWN (a
required signal that should be there is missing) > HEALTHY. What is pending, resolved, contradicted,
in shadow or about a program is shown and does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import (
    Coverage,
    DeviceHealth,
    Health,
    PartHealth,
    State,
    Verdict,
)
from neuron_observer.weight import of_finding, worst_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from neuron_observer.model import Finding, Gap

_PARTS = frozenset({"core", "link", "port"})


class Opinion(NamedTuple):
    """A verdict and why."""

    verdict: Verdict
    reason: str


def opinion(findings: Iterable[Finding], missing: Sequence[Gap], decided: int) -> Opinion:
    """The verdict on anything: its findings, its missing signals, how many were decided."""
    found = sorted(findings, key=worst_first)
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
