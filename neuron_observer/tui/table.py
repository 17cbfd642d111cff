"""A sheet as lines: only the rows and columns that fit; and what stands at a cell of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import Missing
from neuron_observer.text import printable
from neuron_observer.tui.lines import BLANK, Line, Span, joined, line
from neuron_observer.tui.reasons import named
from neuron_observer.tui.sheet import Column, Row, chosen, columns_shown, rows_shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.sheet import Sheet
    from neuron_observer.tui.view import View

_GAP = 2  # cells between two columns
_MARK = 1  # before the chosen row
_NAMED = 2  # columns in the last line that are missing for one reason


class Drawn(NamedTuple):
    """A table as it stands on the screen."""

    lines: list[Line]
    columns: Sequence[tuple[Column, int, int]]  # with its first cell and the one after its last
    rows: Sequence[Row]  # those that are seen

    def column_at(self, x: int) -> Column | None:
        """The column at a cell of the heading."""
        return next((one for one, begin, end in self.columns if begin <= x < end + _GAP), None)

    def row_at(self, y: int) -> Row | None:
        """The row at a line; the heading is line 0."""
        return self.rows[y - 1] if 1 <= y <= len(self.rows) else None


def draw(view: View, sheet: Sheet, width: int, height: int, *, mark_chosen: bool = True) -> Drawn:
    """The part of a table that is seen: the chosen row is always one of its rows.

    Below the rows a line tells which part it is and why values of the chosen row are missing.
    """
    rows = rows_shown(view, sheet)
    at = chosen(view, rows)
    room = max(height - 2, 1)
    top = max(min(at - room // 2, len(rows) - room), 0)
    seen = rows[top : top + room]
    columns = columns_shown(sheet, view.way)
    columns = [columns[0], *columns[1 + min(view.way.shift, max(len(columns) - 2, 0)) :]]
    texts = [[_text(column, row, view) for column in columns] for row in seen]
    placed = _placed(columns, texts, width, view.way.sort)
    lines = [_heading(view, placed)]
    for row, cells in zip(seen, texts, strict=True):
        lines.append(_row(view, placed, cells, is_chosen=mark_chosen and row is rows[at]))
    if not seen and room:
        why = sheet.empty if not sheet.rows else f"nothing matches {view.way.filter!r}"
        lines.append(line("  ", Span(why, "dim")))
    lines += [BLANK] * (height - 1 - len(lines))
    part = _Part(top, len(seen), len(rows), len(sheet.rows), len(columns) - len(placed))
    lines.append(_status(view, sheet, part, rows[at : at + 1]))
    return Drawn(lines, placed, seen)


class _Part(NamedTuple):
    """Which part of a table is seen."""

    top: int
    seen: int
    rows: int
    all_rows: int  # without the filter
    columns_left: int  # that do not fit at the right


def _status(view: View, sheet: Sheet, part: _Part, row: Sequence[Row]) -> Line:
    pieces = []
    if part.seen < part.rows:
        pieces.append(f"{part.top + 1}-{part.top + part.seen} of {part.rows}")
    if view.way.filter:
        pieces.append(f"{part.rows} of {part.all_rows} match {view.way.filter}")
    if part.columns_left:
        pieces.append(f"{part.columns_left} more column{'s' * (part.columns_left > 1)}")
    said = [line(Span(printable(piece), "heading")) for piece in pieces]
    reasons = [
        line(f"{view.signs.dash} {named(heads, _NAMED)}: ", Span(reason, "dim"))
        for reason, heads in missing_in(view, sheet, row).items()
    ]
    return joined([*said, *reasons], Span("  "))


def _text(column: Column, row: Row, view: View) -> tuple[str, Tone]:
    cell = column.value(view, row)
    if isinstance(cell, Missing):
        return view.signs.dash, "dim"
    text = printable(column.text(cell, view))[: column.widest]
    return text, column.tone(cell) if column.tone else "plain"


def _placed(
    columns: Sequence[Column],
    texts: Sequence[Sequence[tuple[str, Tone]]],
    width: int,
    sort: str,
) -> list[tuple[Column, int, int]]:
    """Columns as wide as what is seen of them, as many as fit; the last one may be cut."""
    placed: list[tuple[Column, int, int]] = []
    x = _MARK
    for number, column in enumerate(columns):
        head = len(column.head) + (column.id == sort)
        needed = max([head, *(len(row[number][0]) for row in texts)])
        least = needed if column.right else min(needed, max(head, 12))
        if placed and x + least > width:
            break
        placed.append((column, x, min(x + needed, max(width, x + 1))))
        x += needed + _GAP
    return placed


def _heading(view: View, placed: Sequence[tuple[Column, int, int]]) -> Line:
    spans: list[Span] = [Span(" " * _MARK)]
    way = view.way
    for column, begin, end in placed:
        mark = view.signs.falling if way.falling else view.signs.rising
        text = column.head + (mark if column.id == way.sort else "")
        cell = text.rjust(end - begin) if column.right else text.ljust(end - begin)
        spans += [Span(cell[: end - begin], "heading"), Span(" " * _GAP)]
    return tuple(spans)


def _row(
    view: View,
    placed: Sequence[tuple[Column, int, int]],
    cells: Sequence[tuple[str, Tone]],
    *,
    is_chosen: bool,
) -> Line:
    spans: list[Span] = [Span(view.signs.chosen if is_chosen else " ", "plain")]
    for number, (column, begin, end) in enumerate(placed):
        text, tone = cells[number]
        room = end - begin
        filled = text[:room].rjust(room) if column.right else text[:room].ljust(room)
        spans += [
            Span(filled, "chosen" if is_chosen and not number else tone),
            Span(" " * _GAP),
        ]
    return tuple(spans)


def missing_in(view: View, sheet: Sheet, rows: Sequence[Row]) -> dict[str, list[str]]:
    """Reason → headings of what is missing for it in some rows, in the order of the columns."""
    found: dict[str, list[str]] = {}
    for column in columns_shown(sheet, view.way):
        for row in rows:
            cell = column.value(view, row)
            if isinstance(cell, Missing):
                reason = f"{cell.why.value}: {cell.detail}" if cell.detail else cell.why.value
                heads = found.setdefault(printable(reason), [])
                if column.head not in heads:
                    heads.append(column.head)
    return found


def as_text(view: View, sheet: Sheet) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the whole table as it is looked at, for the clipboard."""
    columns = columns_shown(sheet, view.way)
    rows = rows_shown(view, sheet)
    return [one.head for one in columns], [
        [_text(c, row, view)[0] for c in columns] for row in rows
    ]


def record(view: View, sheet: Sheet) -> list[Line]:
    """The chosen row with all its columns, one a line, and why values are missing."""
    rows = rows_shown(view, sheet)
    if not rows:
        return []
    row = rows[chosen(view, rows)]
    lines = [line(Span(printable(row.key), "heading"))]
    for column in sheet.columns[1:]:
        cell = column.value(view, row)
        text, tone = _text(column, row, view)
        why = ""
        if isinstance(cell, Missing):
            why = f" {cell.why.value}: {cell.detail}" if cell.detail else f" {cell.why.value}"
        lines.append(
            line(
                f"{column.head or column.id:<26}",
                Span(f"{text}{printable(why)}", tone),
                Span(f"  {column.help}", "dim"),
            )
        )
    return lines
