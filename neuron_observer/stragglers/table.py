"""Per-rank step times from a CSV file: streamed, checked, in bounded memory.

Columns `step, rank, busy_s` and, where they exist, `wait_s, input_s, tokens` (values) and
`role, replica, node, device` (labels). Other names are mapped to these. Raises InputError
with file and line for anything that is no such table.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, TextIO

import numpy as np

from neuron_observer.errors import InputError
from neuron_observer.stragglers.grid import MOST_CELLS, Grid
from neuron_observer.stragglers.header import Header
from neuron_observer.stragglers.robust import median, medians
from neuron_observer.stragglers.worlds import Part, Worlds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.stragglers.columns import Floats, Ints

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
CHUNK = 65_536  # rows
NO_VALUE = {"", "nan", "null", "none", "na", "n/a", "-"}


@dataclass(slots=True)
class Table:
    """What a file held."""

    name: str
    parts: list[Part] = field(default_factory=list)
    rows: int = 0
    width: int = 1  # steps folded into one
    notes: list[str] = field(default_factory=list)


def read(
    stream: TextIO,
    name: str,
    *,
    mapping: Mapping[str, str] | None = None,
    unit: str | None = None,
    most_cells: int = MOST_CELLS,
) -> Table:
    """Read a whole table; `mapping` gives the file's name of our columns."""
    names, delimiter = _names(stream, name)
    header = Header(name, names, mapping or {})
    header.check_unit(names, unit)
    reader = Reader(header, UNITS[unit or "s"], most_cells)
    rows = csv.reader(stream, delimiter=delimiter)
    try:
        while chunk := list(islice(rows, CHUNK)):
            reader.take(chunk)
    except csv.Error as error:
        raise _no_table(name, 1 + rows.line_num, error) from error
    except UnicodeDecodeError as error:
        raise _no_table(name, 2 + rows.line_num, error) from error
    if not reader.rows:
        raise InputError(f"{name}:2: no rows after the header")
    return reader.table()


def _names(stream: TextIO, name: str) -> tuple[list[str], str]:
    """The names of the columns, and what stands between them."""
    try:
        first = stream.readline().lstrip("\ufeff")
        if not first.strip():
            raise InputError(f"{name}:1: the file is empty", remedy="a header and rows are needed")
        delimiter = next((mark for mark in ",;\t" if mark in first), ",")
        return next(csv.reader([first], delimiter=delimiter)), delimiter
    except (csv.Error, UnicodeDecodeError) as error:
        raise _no_table(name, 1, error) from error


def _no_table(name: str, line: int, error: csv.Error | UnicodeDecodeError) -> InputError:
    """`line`: that was read; text is decoded some lines ahead."""
    why = str(error)
    if isinstance(error, UnicodeDecodeError):
        line += error.object.count(b"\n", 0, error.start)
        why = "is no text in UTF-8"
    return InputError(f"{name}:{line}: {why}", remedy="is this a CSV file?")


class Reader:
    """Takes the rows of a file in chunks."""

    def __init__(self, header: Header, scale: float, most_cells: int) -> None:
        self._header = header
        self._scale = scale
        self._grid = Grid(header.values, most_cells)
        self._worlds = Worlds(header)
        self._lines: Ints = np.zeros(0, dtype=np.int64)  # line of each row of the chunk
        self._zeros = 0
        self._first_zero = 0
        self.rows = 0

    def take(self, chunk: list[list[str]]) -> None:
        """Take rows; they follow those taken before."""
        rows = chunk
        self._lines = np.arange(2 + self.rows, 2 + self.rows + len(chunk))
        if [] in chunk:
            rows = [row for row in chunk if row]
            self._lines = self._lines[[bool(row) for row in chunk]]
        self.rows += len(chunk)
        if not rows:
            return
        self._check_shape(rows)
        columns = list(zip(*rows, strict=True))
        steps = self._integers(columns, "step")
        ranks = self._integers(columns, "rank")
        values = {value: self._numbers(columns, value) for value in self._header.values}
        repeated = self._grid.add(steps, ranks, values)
        if repeated.size:
            at = int(repeated[0])
            raise InputError(
                f"{self._place(at)}: step {steps[at]} of rank {ranks[at]} stands twice",
                remedy="a restarted job repeats steps: keep one run, or number the steps on",
            )
        self._worlds.note(columns, steps, ranks, self._place)

    def table(self) -> Table:
        """All that was taken."""
        notes = []
        if self._zeros:
            first = f"first in line {self._first_zero}"
            notes.append(f"{self._zeros} busy times are 0 ({first}): taken as missing")
        if self._grid.width > 1:
            notes.append(
                f"{self._grid.width} steps are folded into one, to stay within memory: "
                "a step number is the first of its fold, and repeated rows are not noticed"
            )
        times = {name: self._grid.table(name) for name in self._header.values}
        check_units(self._header.file, self._grid.steps(), self._grid.ranks(), times["busy_s"])
        parts = self._worlds.parts(self._grid.steps(), self._grid.ranks(), times, notes)
        return Table(self._header.file, parts, self.rows, self._grid.width, notes)

    def _place(self, at: int) -> str:
        return f"{self._header.file}:{self._lines[at]}"

    def _check_shape(self, rows: list[list[str]]) -> None:
        if set(map(len, rows)) == {self._header.size}:
            return
        for at, row in enumerate(rows):
            if len(row) != self._header.size:
                raise InputError(
                    f"{self._place(at)}: {len(row)} fields, the header has {self._header.size}",
                    remedy="is the file cut off, or two files joined?",
                )

    def _integers(self, columns: list[tuple[str, ...]], name: str) -> Ints:
        texts = columns[self._header.places[name]]
        try:
            return np.array([int(text) for text in texts], dtype=np.int64)
        except (ValueError, OverflowError):
            numbers = self._floats(texts, name)
            whole = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (abs(numbers) < 2**53)
            if whole.all():
                return numbers.astype(np.int64)
            raise self._bad(
                int(np.flatnonzero(~whole)[0]), name, texts, "no whole number"
            ) from None

    def _numbers(self, columns: list[tuple[str, ...]], name: str) -> Floats:
        texts = columns[self._header.places[name]]
        numbers = self._floats(texts, name)
        for wrong, why in ((numbers < 0, "negative"), (np.isinf(numbers), "not finite")):
            if wrong.any():
                raise self._bad(int(np.flatnonzero(wrong)[0]), name, texts, why)
        if name == "busy_s":
            zero = numbers == 0
            if zero.any():
                self._first_zero = self._first_zero or int(self._lines[zero][0])
                self._zeros += int(zero.sum())
                numbers = np.where(zero, np.nan, numbers)
        return numbers if name == "tokens" else numbers * self._scale

    def _floats(self, texts: tuple[str, ...], name: str) -> Floats:
        try:
            return np.array(texts, dtype=np.float64)
        except ValueError:
            pass
        numbers = [_number(text) for text in texts]
        if None in numbers:
            raise self._bad(numbers.index(None), name, texts, "no number")
        return np.array(numbers, dtype=np.float64)

    def _bad(self, at: int, name: str, texts: tuple[str, ...], why: str) -> InputError:
        return InputError(
            f"{self._place(at)}: {name} is '{texts[at]}': {why}",
            remedy="leave the field empty where nothing was measured",
        )


def _number(text: str) -> float | None:
    """A number, NaN where none was written, None for anything else."""
    if text.strip().lower() in NO_VALUE:
        return float("nan")
    try:
        return float(text)
    except ValueError:
        return None


def check_units(file: str, steps: Ints, ranks: Ints, busy: Floats) -> None:
    """Refuse a table in which some times are a thousand times the others."""
    usual = medians(busy)
    job = median(usual)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(np.abs(np.log10(busy / job)) - 3) < 0.4
    if apart.sum() < max(2, 0.005 * np.isfinite(busy).sum()):
        return
    step, rank = (int(place[0]) for place in np.nonzero(apart))
    raise InputError(
        f"{file}: busy_s of rank {ranks[rank]} in step {steps[step]} is "
        f"{busy[step, rank] / job:.3g} times the usual: are seconds and milliseconds mixed?",
        remedy="write all times in one unit, and say which with --unit",
    )
