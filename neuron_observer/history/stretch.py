"""A stretch of reads: what changed, row by row, and the same packed into bytes.

Packed, whole numbers are differences and everything is compressed; nothing is rounded.
"""

from __future__ import annotations

import marshal
import zlib
from bisect import bisect_right
from itertools import accumulate, chain, compress, count, repeat
from operator import ne, sub
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.model import Missing, Value
from neuron_observer.picking import picker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.model import Cell

_READS = 64  # of a stretch, then it is full
_CHANGES = 1024  # the same
_READ_BYTES = 32  # what a read takes until it is packed
_CHANGE_BYTES = 48  # a value and the number of its read
_COLUMN_BYTES = 250  # a row that changed
_PACKED_BYTES = 300  # what a packed stretch takes besides its content


class Column(NamedTuple):
    """The changes of one row; missing cells are None."""

    reads: Sequence[int] = ()  # the number of the read at which each value came
    values: Sequence[Any] = ()
    differences: bool = False  # each value is how much more it is than the one before


class Series(NamedTuple):
    """One row of a stretch."""

    times: Sequence[float]  # monotonic, of each read
    first: Any  # at the first read
    column: Column

    def values(self, since: float) -> list[Value]:
        """The value of each read from a time on; none where it was missing."""
        reads, values, differences = self.column
        line = accumulate(values, initial=self.first) if differences else (self.first, *values)
        bounds = (0, *reads, len(self.times))
        lengths = map(sub, bounds[1:], bounds)
        held = chain.from_iterable(map(repeat, line, lengths))
        return [
            Value(value, time)
            for value, time in zip(held, self.times, strict=True)
            if value is not None and time >= since
        ]

    def last(self, begin: float, end: float) -> Value | None:
        """The value that was read last between two instants; None where all were missing."""
        within = [(time, n) for n, time in enumerate(self.times) if begin <= time <= end]
        for time, number in sorted(within, reverse=True):
            value = self._at(number)
            if value is not None:
                return Value(value, time)
        return None

    def _at(self, number: int) -> Any:
        reads, values, differences = self.column
        known = bisect_right(reads, number)
        if differences:
            return self.first + sum(values[:known])
        return values[known - 1] if known else self.first


class Packed(NamedTuple):
    """A stretch as bytes."""

    content: bytes
    first: float  # monotonic, the earliest read
    last: float  # the latest

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return len(self.content) + _PACKED_BYTES


class Unpacked:
    """A packed stretch, to be looked at."""

    def __init__(self, content: bytes) -> None:
        fields = marshal.loads(zlib.decompress(content))  # noqa: S302 - our own, of this process
        self._start, self._times, self._columns = fields

    def series(self, row: int) -> Series:
        """One row."""
        column = self._columns.get(row)
        return Series(self._times, self._start[row], Column(*column) if column else Column())


class Stretch:
    """Reads that are not packed yet: the cells at the first, then what changed."""

    def __init__(self, cells: list[Cell], read_at: float) -> None:
        self._start = cells
        self._times = [read_at]
        self._columns: dict[int, tuple[list[int], list[Cell]]] = {}
        self._changes = 0
        # The last reads changed the same rows, as those of a steady job do: not in columns yet.
        self._rows: tuple[int, ...] = ()
        self._pick = picker(())
        self._reads: list[int] = []
        self._steps: list[tuple[Cell, ...]] = []

    def add(
        self, before: list[Cell], cells: list[Cell], read_at: float, told: tuple[int, ...] = ()
    ) -> bool:
        """One read more; `before` is what the read before it gave, `told` which rows differ.

        Whether it is time to pack it.
        """
        read = len(self._times)
        self._times.append(read_at)
        if cells is not before:
            self._take(read, cells, _differing(before, cells, told))
        return read >= _READS - 1 or self._changes >= _CHANGES

    def _take(self, read: int, cells: list[Cell], rows: tuple[int, ...]) -> None:
        if not rows:
            return
        if rows != self._rows:
            self._settle()
            self._rows, self._pick = rows, picker(rows)
        self._reads.append(read)
        self._steps.append(self._pick(cells))
        self._changes += len(rows)

    def _settle(self) -> None:
        """Put what waits into its columns."""
        for row, steps in zip(self._rows, zip(*self._steps, strict=True), strict=False):
            reads, values = self._columns.setdefault(row, ([], []))
            reads += self._reads
            values += steps
        self._reads, self._steps = [], []

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        changes = self._changes * _CHANGE_BYTES + len(self._columns) * _COLUMN_BYTES
        return 8 * len(self._start) + len(self._times) * _READ_BYTES + changes

    def series(self, row: int) -> Series:
        """One row, as it is now."""
        self._settle()
        reads, values = self._columns.get(row, ((), ()))
        column = Column(tuple(reads), _stored(values))
        return Series(tuple(self._times), _stored([self._start[row]])[0], column)

    def pack(self) -> Packed:
        """The same as bytes."""
        self._settle()
        columns = {
            row: _packed_column(self._start[row], reads, values)
            for row, (reads, values) in self._columns.items()
        }
        content = marshal.dumps((_stored(self._start), self._times, columns), 2)
        # late answers have earlier times than what was read before them
        return Packed(zlib.compress(content, 1), min(self._times), max(self._times))


def _differing(before: list[Cell], cells: list[Cell], told: tuple[int, ...]) -> tuple[int, ...]:
    """Rows that differ: those that were told, if with them all is explained."""
    patched = before.copy()
    for row in told:
        patched[row] = cells[row]
    return told if patched == cells else tuple(compress(count(), map(ne, cells, before)))


def _stored(cells: Iterable[Cell]) -> list[Any]:
    return [None if isinstance(cell, Missing) else cell for cell in cells]


def _packed_column(first: Cell, reads: list[int], values: list[Cell]) -> tuple[Any, ...]:
    """The fields of a column; whole numbers as differences, which compress well."""
    line: list[Any] = [first, *values]
    types = set(map(type, line))
    if types == {int}:
        return reads, list(map(sub, values, line)), True
    return reads, _stored(values) if Missing in types else values, False
