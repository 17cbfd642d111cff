"""Several nodes side by side: a line each with verdict, worst finding and age."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from neuron_observer.model import Verdict
from neuron_observer.text import printable, seconds_text
from neuron_observer.tui.findings import TONES as SEVERITIES
from neuron_observer.tui.findings import place_text, worst_first
from neuron_observer.tui.lines import Line, Span, apart, fit, line
from neuron_observer.tui.node_line import verdict
from neuron_observer.tui.view import GONE_AFTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.feed import Glance
    from neuron_observer.tui.signs import Signs

_NAME = 24  # cells; a longer name is cut in the middle
_TYPE = 15  # cells of the instance type, where there is room
_VERDICT = 11
_AGE = 10
_ROOM = 100  # columns from which on the instance type stands there
_LATE = GONE_AFTER + 2.0  # seconds; a node is asked each two


def listed(
    glances: Sequence[Glance], now: float, signs: Signs, width: int, chosen: int | None = None
) -> list[Line]:
    """A heading, and a line a node; the chosen one is marked."""
    name_width = min(max((len(one.name) for one in glances), default=0), _NAME, max(width // 3, 4))
    lines = [_heading(glances)]
    for number, one in enumerate(glances):
        mark = Span(f"{signs.chosen} " if number == chosen else "  ", "heading")
        name = Span(
            _short(printable(one.name), name_width).ljust(name_width + 1),
            "chosen" if number == chosen else "heading",
        )
        left = (mark, name, Span(" "), *_told(one, now, signs, width))
        lines.append(apart(left, _age(one, now, signs), width))
    return [fit(one, width) for one in lines]


def _heading(glances: Sequence[Glance]) -> Line:
    """How many are how, the worst first."""
    found = Counter(_state(one) for one in glances)
    told = ", ".join(f"{found[what]} {what}" for what in _STATES if found[what])
    return line(Span(f"{len(glances)} nodes: {told}", "heading"))


_SILENT, _NEW = "without an answer", "not heard of yet"
_STATES = (
    Verdict.UNHEALTHY.value,
    Verdict.DEGRADED.value,
    _SILENT,
    Verdict.UNKNOWN.value,
    _NEW,
    Verdict.HEALTHY.value,
)


def _state(of: Glance) -> str:
    if of.problem:
        return _SILENT
    return of.health.verdict.value if of.health else _NEW


def _told(of: Glance, now: float, signs: Signs, width: int) -> Line:
    """Verdict and worst finding, or why there is none."""
    kind = printable(of.instance_type or "")[:_TYPE].ljust(_TYPE) if width >= _ROOM else ""
    if of.problem:
        wait = f"; asked again in {max(of.again - now, 0.0):.0f} s"
        return (Span(f"{kind}{signs.dash} "), Span(printable(of.problem) + wait, "bad"))
    if of.health is None:
        return (Span(kind), Span(_NEW, "dim"))
    judged = verdict(of.health)
    word = Span(judged.text.partition(":")[0].ljust(_VERDICT), judged.tone)
    return (Span(kind), word, *_worst(of))


def _worst(of: Glance) -> Line:
    """The worst finding and how many there are besides; without one the reason of the verdict."""
    found = worst_first(of.findings)
    if not found:
        return (Span(printable(of.health.reason) if of.health else "", "dim"),)
    first, more = found[0], len(found) - 1
    what = f"{printable(first.id)} {place_text(first.entity)}: {printable(first.message)}"
    rest = (Span(f" ({more} more)", "dim"),) if more else ()
    return (Span(what, SEVERITIES[first.severity]), *rest)


def _age(of: Glance, now: float, signs: Signs) -> Line:
    if of.health is None:
        return line(f" {signs.dash:>{_AGE}}")
    seconds = max(now - of.at, 0.0)
    text = "<1 s" if seconds < 1 else seconds_text(int(seconds))
    return line(Span(f" {text:>{_AGE - 4}} old", "bad" if seconds > _LATE else "dim"))


def _short(name: str, width: int) -> str:
    """Cut in the middle: hosts differ at both ends."""
    if len(name) <= width:
        return name
    head = (width - 1) // 2
    return f"{name[:head]}~{name[len(name) - (width - 1 - head) :]}"
