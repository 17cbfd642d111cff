"""What a filter of a table lets through: words, words that may not be there, and comparisons.

    neuron3 trn -idle util>80 hbm>=70G state=D

All terms must hold. A word is looked for in every column, without regard to case. A comparison
names a column by its heading or its id; percentages are compared as they are shown, bytes may have
the suffix K, M, G or T (of 1024). A value that is missing is never larger or smaller than anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import Missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from neuron_observer.model import Cell
    from neuron_observer.tui.sheet import Column, Row
    from neuron_observer.tui.view import View

_TERM = re.compile(r"([^<>=!]+)(>=|<=|!=|>|<|=)(.+)")
_NUMBER = re.compile(r"(-?\d+(?:\.\d*)?)([kmgt]?)(?:i?b)?%?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class _Term(NamedTuple):
    head: str  # empty: a word
    sign: str
    said: str


class Filter:
    """A filter as somebody typed it."""

    def __init__(self, text: str) -> None:
        self._terms = [_term(word) for word in text.lower().replace("&", " ").split()]

    def lets_through(self, view: View, row: Row, columns: Sequence[Column]) -> bool:
        """Whether all terms hold for a row."""
        return all(_holds(term, view, row, columns) for term in self._terms)


def _term(word: str) -> _Term:
    found = _TERM.fullmatch(word)
    return _Term(*found.groups()) if found else _Term("", "", word)


def _holds(term: _Term, view: View, row: Row, columns: Sequence[Column]) -> bool:
    if term.head:
        named = [one for one in columns if term.head in (one.head.lower(), one.id.lower())]
        return any(_compares(term, column.value(view, row), column) for column in named)
    word = term.said.removeprefix("-")
    texts = (column.text(column.value(view, row), view).lower() for column in columns)
    there = word in row.key.lower() or any(word in text for text in texts)
    return there != term.said.startswith("-")


def _compares(term: _Term, cell: Cell, column: Column) -> bool:
    number = _NUMBER.fullmatch(term.said)
    if isinstance(cell, Missing):
        return False
    if isinstance(cell, str) or number is None:
        equal = str(cell).lower() == term.said
        return equal if term.sign == "=" else not equal if term.sign == "!=" else False
    asked = float(number[1]) * 1024.0 ** _POWERS[number[2].lower()]
    return _COMPARE[term.sign](cell * column.scale, asked)
