"""Text: families and series → lines of Prometheus 0.0.4 and OpenMetrics 1.0.

Both formats share every line with a value; only the lines above a family differ. Labels stand in
the order of their names. Specifications: prometheus.io/docs/instrumenting/exposition_formats and
the OpenMetrics specification, "Text format".
"""

from __future__ import annotations

from enum import Enum
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from neuron_observer.catalogue.families import Family, FamilyType
from neuron_observer.exporters.series import Block, samples, scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from neuron_observer.exporters.series import Labels, Sample
    from neuron_observer.model import Cell

EOF = b"# EOF\n"


class Format(str, Enum):
    """The two text formats, by their media types."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


_NUMBERS = {int, float}
_NO_UNIT = (FamilyType.INFO, FamilyType.STATESET)


def escape(text: str) -> str:
    """A label's value between its quotes."""
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def head(family: Family, form: Format) -> str:
    """HELP, TYPE and, in OpenMetrics, UNIT."""
    if form is Format.TEXT:
        text = family.help.replace("\\", r"\\").replace("\n", r"\n")
        kind = "counter" if family.type is FamilyType.COUNTER else "gauge"
        name = family.sample_name
        return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"
    name = family.name
    lines = f"# HELP {name} {escape(family.help)}\n# TYPE {name} {family.type.value}\n"
    if family.unit and family.type not in _NO_UNIT:
        lines += f"# UNIT {name} {family.unit}\n"
    return lines


def label_text(labels: Labels) -> str:
    """`{name="value",…}`, or nothing."""
    inside = ",".join([f'{name}="{escape(value)}"' for name, value in labels])
    return f"{{{inside}}}" if inside else ""


def lines(family: Family, of: Iterable[Sample]) -> str:
    """A line a series."""
    name = family.sample_name
    return "".join([f"{name}{label_text(labels)} {value!r}\n" for labels, value in of])


class Writer:
    """Writes one block again and again: what does not change is put together once."""

    def __init__(self, block: Block) -> None:
        self.family, self.size = block.family, len(block.rows)
        self.text = ""
        self.series = 0
        self._cells: Sequence[Cell] = ()
        self._kinds: set[type] = set()
        self._take = _taker(block.rows)
        self._scale = _scaler(block.family.scale)
        # All lines with a place for each value, in place of the labels; none where a line is more.
        self._form = ""
        self._block: Block | None = block
        if block.family.type in (FamilyType.COUNTER, FamilyType.GAUGE):
            name = block.family.sample_name
            forms = [f"{name}{label_text(labels)}" for labels in block.labels]
            self._form = "".join([f"{form.replace('%', '%%')} %r\n" for form in forms])
            self._block = None

    def update(self, cells: Sequence[Cell]) -> bool:
        """Take the cells of a batch; whether the text differs from before."""
        taken = self._take(cells)
        kinds = set(map(type, taken))
        if taken == self._cells and self._written_alike(taken, kinds):
            return False
        self._cells, self._kinds = taken, kinds
        if self._block:
            self.text = lines(self.family, samples(self._block, taken))
            self.series = self.text.count("\n")
        elif kinds <= _NUMBERS and (float not in kinds or all(map(isfinite, taken))):
            self.text = self._form % tuple(map(self._scale, taken) if self._scale else taken)
            self.series = len(taken)
        else:
            self._write_some(taken)
        return True

    def _write_some(self, taken: Sequence[Cell]) -> None:
        """What is missing or no number has no line."""
        scale = self._scale or (lambda value: value)
        written = [
            f"{form % scale(cell)}\n"
            for form, cell in zip(self._form.split("\n"), taken, strict=False)  # a last empty one
            if isinstance(cell, int | float) and isfinite(cell)
        ]
        self.text, self.series = "".join(written), len(written)

    def _written_alike(self, taken: Sequence[Cell], kinds: set[type]) -> bool:
        """Whether equal cells are written alike: 0, 0.0 and -0.0 are not."""
        if float not in kinds and float not in self._kinds:
            return True
        return list(map(repr, taken)) == list(map(repr, self._cells))


def _taker(rows: tuple[int, ...]) -> Callable[[Sequence[Cell]], Sequence[Any]]:
    """Takes the cells of some rows; a run of rows is a slice, which costs a tenth."""
    first, size = rows[0], len(rows)
    if rows == tuple(range(first, first + size)):
        return lambda cells: cells[first : first + size]
    return itemgetter(*rows)


def _scaler(scale: float) -> Callable[[float], int | float] | None:
    return None if scale == 1 else lambda value: scaled(value, scale)
