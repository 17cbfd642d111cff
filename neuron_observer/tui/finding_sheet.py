"""The table of findings, and everything that is known of the chosen one."""

from __future__ import annotations

import textwrap
from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.model import Confidence, Missing, Why
from neuron_observer.text import action_text, printable, seconds_text
from neuron_observer.tui.findings import TONES, place_text, shown
from neuron_observer.tui.lines import Line, Span, line
from neuron_observer.tui.sheet import Column, Row, Sheet, chosen, rows_shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.model import Cell, Evidence, Finding
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

_NATURAL = ("place", "id", "action", "confidence", "state", "since", "impact", "message")


def found(view: View) -> Sheet:
    """A row a finding, the worst first."""
    rows = [Row(key_of(one), of=one) for one in shown(view)]
    return Sheet(_columns(), rows, _NATURAL, "no finding" + _unless(view))


def _unless(view: View) -> str:
    return " that still stands began before then" if view.is_past else ""


def key_of(finding: Finding) -> str:
    """What tells a finding from the others."""
    return f"{finding.id} {place_text(finding.entity)}"


def finding_of(view: View) -> Finding | None:
    """The chosen finding."""
    rows = rows_shown(view, found(view))
    if not rows:
        return None
    finding: Finding = rows[chosen(view, rows)].of
    return finding


def evidence(view: View, width: int, height: int) -> list[Line]:  # noqa: ARG001 - as every panel
    """The chosen finding: what it says, rests on and asks for; then what it means."""
    one = finding_of(view)
    if one is None:
        return []
    lines = list(_said(one, width))
    for text in explained(view, one).splitlines():
        lines += wrapped(text, width, "plain") if text else [()]
    return lines


def explained(view: View, one: Finding) -> str:
    """The meaning of a finding; a sentence where nobody can tell."""
    return view.feed.explain(one.id) or "what it means cannot be told here"


def wrapped(text: str, width: int, tone: Tone, indent: str = "") -> list[Line]:
    """A paragraph in lines that fit."""
    pieces = textwrap.wrap(
        printable(text),
        max(width, 10),
        subsequent_indent=indent + "  ",
        initial_indent=indent,
        drop_whitespace=True,
    )
    return [line(Span(piece, tone)) for piece in pieces]


def _said(one: Finding, width: int) -> Iterator[Line]:
    yield line(
        Span(f"{one.severity.value} ", TONES[one.severity]),
        Span(printable(f"{place_text(one.entity)} {one.id}"), "heading"),
    )
    yield from wrapped(one.message, width, "plain")
    if one.impact:
        yield from wrapped(f"hits {one.impact}", width, TONES[one.severity])
    sure = f"{one.state.value}, {one.confidence.value}" + (
        ", in shadow: not counted" if one.shadow else ""
    )
    yield from wrapped(f"do: {action_text(one.action)} ({sure})", width, "figure")
    if one.confidence is not Confidence.CONFIRMED:
        if one.if_confirmed is not None:
            yield from wrapped(f"if confirmed: {action_text(one.if_confirmed)}", width, "plain")
        for how in one.confirm_by:
            yield from wrapped(f"confirm by: {how}", width, "plain")
    if one.note:
        yield from wrapped(f"note: {one.note}", width, "plain")
    for piece in one.evidence:
        yield from wrapped(evidence_text(piece), width, "dim")
    if one.runbook.startswith("docs/"):  # no part of what is installed
        yield from wrapped(f"more: neuron-observer explain {one.id}", width, "dim")
    elif one.runbook:
        yield from wrapped(f"runbook: {one.runbook}", width, "dim")
    yield ()


def evidence_text(of: Evidence) -> str:
    """One observation in a line."""
    was = f", before {of.previous}" if of.previous is not None else ""
    value = f" = {of.value}{was}" if of.value is not None else ""
    at = f" line {of.line}" if of.line is not None else ""
    more = "".join(f", {name} {field}" for name, field in of.fields.items())
    return f"{of.trust} {of.kind.replace('_', ' ')} {of.source}{at}{value}{more}"


def _column(
    name: str, head: str, text: str, read: Callable[[Finding], Cell], widest: int = 60
) -> Column:
    return Column(
        name,
        head,
        text,
        lambda _, row: read(row.of),
        lambda cell, _: str(cell),
        right=False,
        widest=widest,
    )


@cache
def _columns() -> tuple[Column, ...]:
    severity = _column("severity", "Severity", "How bad it is", lambda one: one.severity.value)
    tones: dict[str, Tone] = {severity.value: tone for severity, tone in TONES.items()}
    return (
        severity._replace(tone=lambda cell: tones[str(cell)]),
        _column("place", "Where", "Who it is about", lambda one: place_text(one.entity), 40),
        _column("id", "Finding", "Its id; explain tells what it means", lambda one: one.id),
        _column("action", "Action", "What to do", lambda one: action_text(one.action)),
        _column("confidence", "Sure", "How sure it is", lambda one: one.confidence.value),
        _column("state", "State", "Where it stands in its life", _state),
        Column("since", "For", "Since when it is seen", _since, lambda cell, _: seconds_text(cell)),  # type: ignore[arg-type]
        _column(
            "impact",
            "Hits",
            "Jobs and ranks that it hits",
            lambda one: one.impact or "none told",
            40,
        ),
        _column("message", "Message", "What was seen", lambda one: one.message, 200),
    )


def _state(one: Finding) -> str:
    return f"{one.state.value}, shadow" if one.shadow else one.state.value


def _since(view: View, row: Row) -> Cell:
    first: float | None = row.of.first_seen
    return (
        Missing(Why.NOT_YET, "when it began is not told")
        if first is None
        else max(view.at - first, 0.0)
    )
