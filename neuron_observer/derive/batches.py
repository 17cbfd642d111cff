"""Batches of cells that no file gives; their layout stays as long as their rows do."""

from __future__ import annotations

from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.model import Batch, Column, Layout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import Cell, Place

Rows: TypeAlias = "dict[str, tuple[tuple[Place, ...], list[Cell]]]"  # metric → places and cells


def make_batch(
    collector: str,
    rows: dict[str, list[tuple[Place, Cell]]],
    read_at: float,
    before: Batch | None = None,
) -> Batch:
    """A batch of cells that no file gives; `before` is the one that it takes the place of."""
    placed: Rows = {
        metric: (tuple([place for place, _ in some]), [cell for _, cell in some])
        for metric, some in rows.items()
    }
    return batch_of(collector, None, placed, read_at, before)


def batch_of(
    collector: str, device: int | None, rows: Rows, read_at: float, before: Batch | None
) -> Batch:
    """Its layout, and its cells if none is another, are those before as long as the rows are."""
    cells = [cell for _, some in rows.values() for cell in some]
    if before is None or not _has_rows(before.layout, rows):
        layout = _layout({metric: some for metric, (some, _) in rows.items()})
        return Batch(collector, "derived", device, layout, cells, read_at)
    return successor(before, cells, read_at)


def successor(before: Batch, cells: list[Cell], read_at: float) -> Batch:
    """The batch that takes the place of one with the same rows."""
    changed = tuple(compress(count(), map(ne, cells, before.cells)))
    return Batch(
        before.collector,
        before.lane,
        before.device,
        before.layout,
        cells if changed else before.cells,
        read_at,
        changed=changed,
    )


def _has_rows(layout: Layout, rows: Rows) -> bool:
    """Whether a layout has these rows in this order."""
    return [*layout.columns] == [*rows] and [c.places for c in layout.columns.values()] == [
        places for places, _ in rows.values()
    ]


def _layout(places: Mapping[str, tuple[Place, ...]]) -> Layout:
    laid: dict[str, Column] = {}
    index: dict[tuple[str, Place], int] = {}
    rows = 0
    for metric, some in places.items():
        laid[metric] = Column(metric, rows, some)
        index.update({(metric, place): row for row, place in enumerate(some, rows)})
        rows += len(some)
    return Layout(laid, ("",) * rows, index)
