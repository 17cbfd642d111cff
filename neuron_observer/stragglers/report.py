"""The account of a table as findings, coverage and text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuron_observer.model import (
    Action,
    Confidence,
    Coverage,
    Entity,
    Evidence,
    Finding,
    Gap,
    Scalar,
    Severity,
    State,
    Verdict,
)
from neuron_observer.stragglers.findings import alert, of_suspect
from neuron_observer.stragglers.suspects import Regime

if TYPE_CHECKING:
    from neuron_observer.stragglers.imbalance import Imbalance
    from neuron_observer.stragglers.retrospective import Account
    from neuron_observer.stragglers.table import Table

RUNBOOK = "docs/stragglers.md#imbalance"


@dataclass(frozen=True, slots=True)
class Report:
    """What is said of a whole table."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    coverage: Coverage
    text: str


def report(table: Table, accounts: list[Account]) -> Report:
    """Findings, coverage and text of a table; the worst part decides."""
    findings = [finding for account in accounts for finding in _findings(account)]
    missing = tuple(
        Gap("straggler", why, Entity("job"))
        for account in accounts
        if account.assessment is None
        for why in account.refusals
    )
    judged = sum(account.assessment is not None for account in accounts)
    coverage = Coverage(judged, len(accounts), missing, _not_covered(table, accounts))
    return Report(_verdict(findings, judged), tuple(findings), coverage, _text(table, accounts))


def _verdict(findings: list[Finding], judged: int) -> Verdict:
    if any(finding.severity is not Severity.INFO for finding in findings):
        return Verdict.DEGRADED
    return Verdict.HEALTHY if judged else Verdict.UNKNOWN


def _findings(account: Account) -> list[Finding]:
    topology = account.part.topology
    named = [of_suspect(suspect, topology, at=None) for suspect in account.suspects]
    return named + [_imbalance(uneven) for uneven in account.imbalances]


def _imbalance(uneven: Imbalance) -> Finding:
    fields: dict[str, Scalar] = {
        "first_step": uneven.first_step,
        "last_step": uneven.last_step,
        "ratio": round(uneven.ratio, 4),
        "scope": "workload",
        "class": "imbalance",
        "role": uneven.group,
        "ranks": ",".join(str(rank) for rank in uneven.ranks),
    }
    ratio = round(uneven.ratio, 4)
    return Finding(
        id="imbalance",
        entity=Entity("job"),
        severity=Severity.INFO,
        confidence=Confidence.CONFIRMED,
        action=Action.NONE,
        message=uneven.text,
        state=State.FIRING,
        evidence=(Evidence("statistic", "hearsay", "step times", ratio, 1, fields=fields),),
        runbook=RUNBOOK,
    )


def _not_covered(table: Table, accounts: list[Account]) -> tuple[Gap, ...]:
    """What this table cannot tell."""
    gaps = {Gap("table", note): None for note in table.notes}
    for account in accounts:
        if account.assessment is None:
            continue
        gaps.update({Gap("straggler", why): None for why in account.refusals})
        if account.assessment.regime is Regime.NOISY:
            why = f"busy times vary by themselves: below {account.assessment.limit:.0%} unseen"
            gaps[Gap("small-slowdowns", why)] = None
        if account.unlevelled:
            gaps[Gap("always-slow", account.unlevelled)] = None
        if account.part.wait is None:
            gaps[Gap("network-slow", "no column wait_s")] = None
        if account.part.input is None:
            gaps[Gap("input-slow", "no column input_s")] = None
    return tuple(gaps)


REGIMES = {
    Regime.LEARNING: "no rank has enough steps",
    Regime.FIXED: "own past and the job's median",
    Regime.TWO_WAY: "own past, role and replica",
    Regime.NOISY: "own past in medians of windows, for they vary by themselves",
    Regime.BLIND: "no busy times",
}


def _text(table: Table, accounts: list[Account]) -> str:
    lines = [f"{table.name}: {table.rows} rows"]
    lines += [f"  note: {note}" for note in table.notes]
    for account in accounts:
        lines += _part(account)
    return "\n".join(lines)


def _part(account: Account) -> list[str]:
    part = account.part
    steps = f"steps {part.steps[0]}-{part.steps[-1]} ({len(part.steps)})"
    lines = [f"{steps}, {part.topology.size} ranks"]
    if account.assessment is None:
        return [*lines, *(f"  cannot be judged: {why}" for why in account.refusals)]
    regime, noise = account.assessment.regime, account.assessment.sigma
    basis = (
        f"busy times compared with {REGIMES[regime]}; noise {noise:.1%}, "
        f"slowdowns from {account.assessment.limit:.0%} on are seen"
    )
    for suspect in account.suspects:
        text = alert(suspect, part.topology, account.assessment.slowdown, basis)
        lines += [f"  {line}" for line in text.splitlines()]
    lines += [f"  INFO {uneven.text}" for uneven in account.imbalances]
    if not account.suspects:
        lines.append("  no rank is slower than its peers and its own past")
    lines.append(f"  {basis}")
    lines += [f"  nobody named: {why}" for why in account.refusals]
    if account.unlevelled:
        lines.append(f"  slow from the start: not decided, {account.unlevelled}")
    return lines
