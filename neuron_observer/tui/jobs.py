"""The jobs on the overview: a line a process, as many as fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.tui.job_sheet import jobs as sheet_of
from neuron_observer.tui.job_sheet import marks, members
from neuron_observer.tui.lines import Line, Span, apart, line
from neuron_observer.tui.table import Drawn, draw
from neuron_observer.tui.view import Way

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

_COLUMNS = (
    *("user", "job", "rank", "mark", "cores", "hbm", "cpu", "memory", "age"),
    *("busy", "wait", "behind", "state"),
)


def lines_needed(view: View) -> int:
    """A heading and a line a process; one line where there is none."""
    return 1 + len(members(view))


def jobs(view: View, width: int, height: int) -> list[Line]:
    """Those with a finding first; the heading counts those that do not fit."""
    sheet = sheet_of(view)
    if not sheet.rows:
        return [line(Span("Jobs", "heading"), Span(f"  {sheet.empty}", "dim"))]
    drawn = table_of(view, width, height)
    lines = drawn.lines[:height]
    left = len(sheet.rows) - len(drawn.rows)
    if left > 0 and lines:
        more = f"  {left} more: 0" if width >= 100 else f" +{left}"
        lines[0] = apart(lines[0], line(Span(more, "heading")), width)
    return lines


def table_of(view: View, width: int, height: int) -> Drawn:
    """The table as it stands there; nobody is chosen in it."""
    sheet = sheet_of(view)
    rows = sorted(sheet.rows, key=lambda row: not marks(row.of))
    plain = view._replace(way=Way(row="nobody", columns=_COLUMNS))
    return draw(plain, sheet._replace(rows=rows), width, height + 1, mark_chosen=False)
