"""A check in words: verdict, findings and what to do, inventory, and what was not seen."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from neuron_observer.model import Confidence, Severity, State, Verdict
from neuron_observer.rules.explain import ACTIONS, entity_text
from neuron_observer.text import printable
from neuron_observer.weight import counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from neuron_observer.checks.verdict import Checked
    from neuron_observer.model import Finding, Gap

PLACES = 4  # of one finding that are named
MISSING = 8  # signals that are named
_MARKS = {True: "ok     ", False: "WRONG  ", None: "note   "}


def report(checked: Checked, *, width: int = 100) -> list[str]:
    """All of it, by lines of at most `width` where a word does not need more."""
    lines = [*_wrapped(headline(checked), width, 0)]
    if checked.scope.told:
        lines += _wrapped(f"Judged: {checked.scope.told}", width, 8)
    lines += ["", *findings(checked.findings, width)] if checked.findings else []
    if checked.shadow:
        lines += ["", "In shadow (shown, never counted)", *findings(checked.shadow, width)]
    if checked.inventory:
        lines += ["", "Inventory"]
        for item in checked.inventory:
            lines += _wrapped(f"  {_MARKS[item.right]} {item.topic}: {item.text}", width, 12)
    return [*lines, "", *cover(checked, width)]


def headline(checked: Checked) -> str:
    """The verdict and why, in one line."""
    return f"{checked.verdict.value.upper()}: {printable(checked.reason)}"


def findings(found: Sequence[Finding], width: int = 100) -> list[str]:
    """Findings, those that are the same thing at several places together."""
    lines: list[str] = []
    for group in grouped(found):
        lines += _finding(group, width)
    return lines


def grouped(found: Iterable[Finding]) -> list[list[Finding]]:
    """Findings by what they are, how sure, and what to do, in order."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for one in found:
        key = (one.id, one.severity, one.confidence, one.state, one.action)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def places(group: Sequence[Finding]) -> str:
    """Where: `device 3`, or several of them."""
    names = list(dict.fromkeys(entity_text(one.entity) for one in group))
    more = f" and {len(names) - PLACES} more" if len(names) > PLACES else ""
    return ", ".join(names[:PLACES]) + more


def hits(group: Iterable[Finding]) -> str:
    """Which jobs and ranks: each once; empty where that is not known."""
    told = list(dict.fromkeys(printable(one.impact) for one in group if one.impact))
    more = f"; and {len(told) - PLACES} more" if len(told) > PLACES else ""
    return "; ".join(told[:PLACES]) + more


def _finding(group: Sequence[Finding], width: int) -> Iterator[str]:
    first = group[0]
    state = "" if first.state is State.FIRING else f", {first.state.value}"
    sure = f"{first.confidence.value}{state}{'' if _matters(first) else ', not counted'}"
    yield f"{first.severity.value.upper():<9} {first.id}: {places(group)} ({sure})"
    yield from _wrapped(f"    {printable(first.message)}", width, 4)
    if first.note:
        yield from _wrapped(f"    {printable(first.note)}.", width, 6)
    if first.severity is Severity.INFO:
        return
    yield from _wrapped(f"    Hits: {hits(group)}.", width, 6) if hits(group) else ()
    action = f"    What to do: {ACTIONS[first.action]}.{_not_yet_sure(first)}"
    yield from _wrapped(action, width, 6)
    yield f"    More: neuron-observer explain {first.id}"


def _not_yet_sure(first: Finding) -> str:
    """What would make it certain, and what is to be done then; nothing once it is."""
    if first.confidence is Confidence.CONFIRMED:
        return ""
    then = ""
    if first.if_confirmed and first.if_confirmed is not first.action:
        then = f" Once confirmed: {ACTIONS[first.if_confirmed]}."
    return then + (f" Confirmed by: {'; '.join(first.confirm_by)}." if first.confirm_by else "")


def _matters(finding: Finding) -> bool:
    return finding.severity is Severity.INFO or counts(finding)


def cover(checked: Checked, width: int = 100) -> list[str]:
    """What the verdict rests on, and what was not seen: each reason once."""
    covered = checked.coverage
    lines = [f"Coverage: {covered.decided} of {covered.required} required signals decided"]
    for gap in covered.missing[:MISSING]:
        where = f" of {entity_text(gap.entity)}" if gap.entity else ""
        lines += _wrapped(f"  missing: {gap.id}{where}: {printable(gap.why)}", width, 4)
    if len(covered.missing) > MISSING:
        lines.append(f"  and {len(covered.missing) - MISSING} more are missing")
    if covered.not_covered:
        lines.append(f"Not covered here: {len(covered.not_covered)} rules")
        for why, ids in by_reason(covered.not_covered).items():
            lines += _wrapped(f"  {printable(why)}: {', '.join(ids)}", width, 4)
    return lines


def by_reason(gaps: Iterable[Gap]) -> dict[str, list[str]]:
    """Reason → the ids that it is the reason of."""
    found: dict[str, list[str]] = {}
    for gap in gaps:
        found.setdefault(gap.why, []).append(gap.id)
    return found


def status(checked: Checked) -> list[str]:
    """A few lines: verdict, reason, coverage, counts."""
    covered = checked.coverage
    counted = [one for one in checked.findings if _matters(one)]
    by_severity = ", ".join(
        f"{sum(one.severity is severity for one in counted)} {severity.value}"
        for severity in (Severity.CRITICAL, Severity.WARNING, Severity.INFO)
    )
    ill = [one for one in checked.devices if one.verdict is not Verdict.HEALTHY]
    every = len(checked.devices) + checked.lacking
    healthy = f"{len(checked.devices) - len(ill)} of {every} healthy"
    named = [f"{one.index} {one.verdict.value}" for one in ill[:PLACES]]
    named += [f"{len(ill) - PLACES} more"] if len(ill) > PLACES else []
    named += [f"{checked.lacking} not there"] if checked.lacking else []
    uncounted = f"{len(checked.findings) - len(counted)} not counted"
    required = f"{covered.decided} of {covered.required} required signals decided"
    return [
        headline(checked),
        f"devices:  {healthy}{': ' if named else ''}{', '.join(named)}",
        f"findings: {by_severity}; {uncounted}, {len(checked.shadow)} in shadow",
        f"coverage: {required}, {len(covered.not_covered)} rules not covered",
    ]


def _wrapped(line: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
