"""From the readings of a snapshot document back to batches.

Which batch a reading was in is not in the document. What shows the same age poll after poll was
read together; a group is split as soon as two of its readings differ, and never joined again, so
after a few polls the groups are those of the daemon's own batches, or coarser and always right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from neuron_observer.model import NODE, Batch, Column, Layout, Missing, Place, Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from neuron_observer.model import Cell

Row: TypeAlias = "tuple[str, Place]"


class _Read(NamedTuple):
    cell: Cell
    age: float | None  # seconds; None: it is missing
    source: str


class Batches:
    """Remembers the groups of the documents before."""

    def __init__(self) -> None:
        self._group_of: dict[Row, int] = {}
        self._layouts: dict[int, Layout] = {}
        self._used = 0

    def of(self, document: Mapping[str, Any], monotonic: float) -> tuple[Batch, ...]:
        """The batches of a document whose frame was made at a monotonic time."""
        read = {row: _read(reading) for row, reading in _readings(document)}
        groups: dict[int, list[Row]] = {}
        for rows in _split(read, self._group_of):
            group = self._number(rows, groups)
            groups[group] = rows
            self._group_of.update(dict.fromkeys(rows, group))
        return tuple(
            self._batch(group, rows, read, monotonic) for group, rows in groups.items() if rows
        )

    def _number(self, rows: Iterable[Row], taken: Mapping[int, object]) -> int:
        """The group that the rows were in, unless another part of it has that number."""
        before = {self._group_of.get(row) for row in rows}
        old = before.pop() if len(before) == 1 else None
        if old is not None and old not in taken:
            return old
        self._used += 1
        return self._used

    def _batch(
        self, group: int, rows: list[Row], read: Mapping[Row, _Read], monotonic: float
    ) -> Batch:
        layout = self._layouts.get(group)
        if layout is None or layout.rows.keys() != set(rows):
            layout = self._layouts[group] = _layout(rows, read)
        age = next((age for row in rows if (age := read[row].age) is not None), 0.0)
        cells = [read[row].cell for row in layout.rows]
        return Batch("api", str(group), rows[0][1].device, layout, cells, monotonic - age)


def _split(read: Mapping[Row, _Read], groups: Mapping[Row, int]) -> Iterator[list[Row]]:
    """Rows that were together and still may be: one device, one age; the largest part first.

    What is missing has no age, and stays with the largest part.
    """
    together: dict[tuple[object, ...], dict[float | None, list[Row]]] = {}
    for row, (_, age, _) in read.items():
        key = (groups.get(row), row[1].device)
        together.setdefault(key, {}).setdefault(age, []).append(row)
    for by_age in together.values():
        missing = by_age.pop(None, [])
        parts = sorted(by_age.values(), key=len, reverse=True) or [[]]
        parts[0] = [*parts[0], *missing]
        yield from parts


def _layout(rows: Iterable[Row], read: Mapping[Row, _Read]) -> Layout:
    """The rows of each metric one after the other."""
    places: dict[str, list[Place]] = {}
    for metric, place in rows:
        places.setdefault(metric, []).append(place)
    columns: dict[str, Column] = {}
    order: list[Row] = []
    for metric, found in places.items():
        columns[metric] = Column(metric, len(order), tuple(found))
        order += [(metric, place) for place in found]
    sources = tuple(read[row].source for row in order)
    return Layout(columns, sources, {row: number for number, row in enumerate(order)})


def _readings(document: Mapping[str, Any]) -> Iterator[tuple[Row, Mapping[str, Any]]]:
    """Every reading with its metric and place."""
    for place, readings in _places(document):
        for metric, reading in readings.items():
            yield (metric, place), reading


def _places(document: Mapping[str, Any]) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    yield NODE, document["node"]["readings"]
    for device in document["devices"]:
        yield Place(device["index"]), device["readings"]
        for core in device["cores"]:
            yield Place(device["index"], core["index"]), core["readings"]
    for other in document["others"]:
        yield Place(other["device"], other["core"], other["label"]), other["readings"]


def _read(reading: Mapping[str, Any]) -> _Read:
    source = reading.get("source", "")
    if "missing" in reading:
        return _Read(Missing(Why(reading["missing"]), str(reading["detail"])), None, source)
    value, age = reading["value"], reading["age"]
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError("a reading's value is a number or a word")
    return _Read(value, float(age), source)
