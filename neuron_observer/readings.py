"""Finding cells in a snapshot; `Value` and `Missing` objects are made here, on access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Missing, Value, Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.model import Batch, Cell, Place, Reading

ABSENT = Missing(Why.UNSUPPORTED, "not part of this snapshot")


def find(batches: Iterable[Batch], metric: str, place: Place) -> tuple[Batch, int] | None:
    """The batch and row of a cell."""
    for batch in batches:
        row = batch.layout.rows.get((metric, place))
        if row is not None:
            return batch, row
    return None


def reading(batches: Iterable[Batch], metric: str, place: Place) -> Reading:
    """One reading."""
    found = find(batches, metric, place)
    if found is None:
        return ABSENT
    batch, row = found
    cell = batch.cells[row]
    return cell if isinstance(cell, Missing) else Value(cell, batch.read_at)


def columns(batches: Iterable[Batch], metric: str) -> Iterator[tuple[Batch, Place, Cell]]:
    """All cells of a metric with their places."""
    for batch in batches:
        column = batch.layout.columns.get(metric)
        if column:
            for offset, place in enumerate(column.places):
                yield batch, place, batch.cells[column.start + offset]
