"""Findings, the worst first: where, what, how sure, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Action, Confidence, Severity, State
from neuron_observer.text import printable
from neuron_observer.tui.lines import Line, Span, apart, line
from neuron_observer.tui.sheet import natural

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from neuron_observer.model import Entity, Finding
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

TONES: Mapping[Severity, Tone] = {
    Severity.CRITICAL: "bad",
    Severity.WARNING: "warn",
    Severity.INFO: "plain",
}
_WORST_FIRST = list(TONES)
_SUREST_FIRST = (Confidence.CONFIRMED, Confidence.PROBABLE, Confidence.CONTRADICTED)


def shown(view: View) -> list[Finding]:
    """Those that are not over, the worst and surest first; last what does not count, or not yet."""
    return worst_first(one for one in view.frame.findings if _stands(view, one))


def worst_first(of: Iterable[Finding]) -> list[Finding]:
    """The same of any findings."""
    return sorted(
        (one for one in of if one.state is not State.RESOLVED),
        key=lambda one: (
            one.shadow,
            one.state is State.PENDING,
            _WORST_FIRST.index(one.severity),
            _SUREST_FIRST.index(one.confidence),
            natural(place_text(one.entity)),
        ),
    )


def _stands(view: View, one: Finding) -> bool:
    """Whether it is not over; of the past those are known that still stand."""
    began = not view.is_past or (one.first_seen is not None and one.first_seen <= view.at)
    return one.state is not State.RESOLVED and began


def alarms(view: View) -> dict[str, str]:
    """What counts as a fault now: who it is about and its id → how bad it is."""
    return {
        f"{place_text(one.entity)} {one.id}": one.severity.value
        for one in view.frame.findings
        if one.severity is not Severity.INFO and one.state is State.FIRING and not one.shadow
    }


def findings(view: View, width: int, height: int) -> list[Line]:
    """One line a finding; the last line counts those that do not fit."""
    every = shown(view)
    lines = [_finding(one) for one in every[:height]]
    left = len(every) - len(lines)
    if left and lines:
        lines[-1] = apart(lines[-1], line(Span(f"  {left} more", "heading")), width)
    return lines


def place_text(of: Entity) -> str:
    """Who a finding is about."""
    where: list[str] = [of.kind] if of.device is None else [f"neuron{of.device}"]
    if of.core is not None:
        where.append(f"core {of.core}")
    where += [str(part) for part in (of.port, of.job) if part is not None]
    if of.rank is not None:
        where.append(f"rank {of.rank}")
    return " ".join(where)


def _finding(one: Finding) -> Line:
    todo = "" if one.action is Action.NONE else f", {one.action.value.replace('_', ' ')}"
    hits = f"; hits {printable(one.impact)}" if one.impact else ""
    sure = one.confidence.value
    if one.shadow:
        sure = f"in shadow, not counted, {sure}"
    elif one.state is not State.FIRING:
        sure = f"{one.state.value}, {sure}"
    return line(
        Span(f"{one.severity.value} ", "dim" if one.shadow else TONES[one.severity]),
        f"{printable(place_text(one.entity))} {one.id}{todo} ",
        Span(f"({sure}) {printable(one.message)}{hits}", "dim"),
    )
