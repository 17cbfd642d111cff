"""A table before it is drawn: columns, rows, their order and which of them are wanted."""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.model import NODE, Missing
from neuron_observer.tui.filters import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.model import Cell, Place, Scalar
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View, Way


_DIGITS = re.compile(r"([0-9]+)")


class Row(NamedTuple):
    """Who a row is about."""

    key: str  # the same in every frame
    place: Place = NODE
    of: Any = None  # what the sheet's columns read: a finding, a rank, an event


class Column(NamedTuple):
    """What stands in a column."""

    id: str  # of the metric where it is one
    head: str
    help: str
    value: Callable[[View, Row], Cell]
    text: Callable[[Cell, View], str]
    right: bool = True
    tone: Callable[[Cell], Tone] | None = None
    scale: float = 1.0  # from the value to the number that is shown, where it is one
    widest: int = 60  # cells; what is longer is cut


class Sheet(NamedTuple):
    """The table of a page; the first column names the row and always stays."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    natural: Sequence[str] = ()  # ids of the columns that are shown unless others are chosen
    empty: str = "nothing to show"


def columns_shown(sheet: Sheet, way: Way) -> list[Column]:
    """The first column and those that are chosen, in the order of the sheet."""
    chosen = way.columns or sheet.natural or [column.id for column in sheet.columns]
    by_id = {column.id: column for column in sheet.columns}
    first = sheet.columns[0]
    return [first, *(by_id[id_] for id_ in chosen if id_ in by_id and id_ != first.id)]


def rows_shown(view: View, sheet: Sheet) -> list[Row]:
    """The rows that the filter lets through, in the order that is wanted."""
    way = view.way
    rows = list(sheet.rows)
    if way.filter:
        wanted = Filter(way.filter)
        rows = [row for row in rows if wanted.lets_through(view, row, sheet.columns)]
    by = next((column for column in sheet.columns if column.id == way.sort), None)
    if by is None:
        return rows
    there, missing = [], []
    for row in rows:
        cell = by.value(view, row)
        if isinstance(cell, Missing):
            missing.append(row)
        else:
            there.append((_rank(cell), row))
    there.sort(key=itemgetter(0), reverse=way.falling)
    return [*(row for _, row in there), *missing]


def _rank(cell: Scalar) -> tuple[bool, float, tuple[str | int, ...]]:
    """Numbers before words; the numbers in words as such."""
    if not isinstance(cell, str):
        return False, float(cell), ()
    return True, 0.0, natural(cell)


def natural(text: str) -> tuple[str | int, ...]:
    """What words are ordered by: neuron2 is before neuron10."""
    pieces = enumerate(_DIGITS.split(text))  # every second one is a number
    return tuple(int(piece) if place % 2 else piece for place, piece in pieces)


def chosen(view: View, rows: Sequence[Row]) -> int:
    """The place of the chosen row; 0 where it is none of them."""
    return next((place for place, row in enumerate(rows) if row.key == view.way.row), 0)
