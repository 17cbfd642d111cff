"""Suppressed findings: somebody said that they shall count for nothing until a certain time.

A suppression ends by time, and it hides nothing that weighs more than what it was said of: a
probable fault that gets confirmed, or the same fault again after its repair, is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Severity, State, Verdict
from neuron_observer.rules.findings import noted
from neuron_observer.weight import of_finding, rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from neuron_observer.model import Finding
    from neuron_observer.rules.memory import Suppression

_HEAVIEST = {Severity.CRITICAL: Verdict.UNHEALTHY, Severity.WARNING: Verdict.DEGRADED}
_HIDDEN = frozenset({State.PENDING, State.FIRING, State.ACKNOWLEDGED, State.RECOVERING})


class Hush:
    """The suppressions in force."""

    def __init__(self, suppressions: Iterable[Suppression]) -> None:
        self.suppressions = tuple(suppressions)

    def add(self, suppression: Suppression) -> None:
        """One more; it takes the place of one of the same rule and chip."""
        said = suppression[:2]
        others = [one for one in self.suppressions if one[:2] != said]
        self.suppressions = (*others, suppression)

    def lift(self, rule: str, key: str | None) -> None:
        """One less."""
        self.suppressions = tuple(one for one in self.suppressions if one[:2] != (rule, key))

    def expire(self, wall: float) -> bool:
        """Forget those whose time is over; whether there were any."""
        before = self.suppressions
        self.suppressions = tuple(one for one in before if wall < one.until)
        return len(self.suppressions) < len(before)

    def __call__(self, finding: Finding, keys: Mapping[int, str]) -> Finding:
        """The finding, suppressed if one of them says so."""
        device = finding.entity.device
        key = keys.get(device) if device is not None else None
        for one in self.suppressions:
            meant = one.rule == finding.id and one.key in (None, key)
            if meant and finding.state in _HIDDEN and _hides(one, finding):
                note = noted("suppressed", one.word)
                return finding._replace(state=State.SUPPRESSED, note=note)
        return finding


def _hides(suppression: Suppression, finding: Finding) -> bool:
    return rank(of_finding(finding)) <= rank(suppression.worst)


def worst_of(findings: Iterable[Finding], severity: Severity) -> Verdict:
    """What a suppression hides: the worst that stands now, else all that the rule can tell."""
    standing = [of_finding(one) for one in findings]
    if standing:
        return max(standing, key=rank)
    return _HEAVIEST.get(severity, Verdict.HEALTHY)
