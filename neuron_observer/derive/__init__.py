"""Readings computed from two reads: rates, utilisation, sums. Pure: no I/O, no clock.

Rates are taken over the batches' own read times, and stay until the counters are read again.
"""

from __future__ import annotations

from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, Any, TypeAlias

from neuron_observer.catalogue.chips import CHIPS
from neuron_observer.derive.counters import delta, falls, only_rose
from neuron_observer.derive.rates import CoreRates, derivable, not_live
from neuron_observer.model import Batch, Column, Layout, Missing, Place, Why

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.derive.counters import Pair
    from neuron_observer.model import Cell, Device, Snapshot

__all__ = ["Deriver", "delta", "derive", "falls", "make_batch", "only_rose"]

_UNKNOWN_CHIP = Missing(Why.UNSUPPORTED, "chip not known")
_NO_EPOCH = Missing(Why.UNSUPPORTED, "no dated power figures")
_NO_CORES = Missing(Why.FAILED, "no core was found")
# What a device's derived readings come from; its other batches may come and go.
_INPUTS = frozenset(
    (
        "core.time_in_use",
        "core.inferences",
        "core.flops",
        "core.execution.success",
        "core.pe_array.row_group0.matmul_cycles",
        "core.hbm.used",
        "device.power.epoch",
    )
)


class Deriver:
    """The derived readings of all devices; a device's are made anew when its counters were read."""

    def __init__(self) -> None:
        self._devices: dict[int, _DeviceReadings] = {}

    def take(self, batch: Batch) -> None:
        """A batch was read; of one that was taken already nothing is new."""
        if batch.device is not None and not batch.layout.columns.keys().isdisjoint(_INPUTS):
            self._of(batch.device).take(batch)

    def batches(self, snapshot: Snapshot) -> tuple[Batch, ...]:
        """A batch of each device of a snapshot whose batches were taken."""
        unsupported = not_live(snapshot.driver.version)
        return tuple(
            [
                self._of(device.index).batch(device, unsupported, snapshot)
                for device in snapshot.devices
            ]
        )

    def _of(self, index: int) -> _DeviceReadings:
        if index not in self._devices:
            self._devices[index] = _DeviceReadings(index)
        return self._devices[index]


class _DeviceReadings:
    """What is derived of one device, and from what."""

    def __init__(self, index: int) -> None:
        self._here = (Place(index),)
        self._places: tuple[Place, ...] = ()  # of its cores
        self._device: Device | None = None
        self._pairs: dict[tuple[str, str], Pair] = {}  # by collector and lane
        self._metrics: tuple[str, ...] = ()  # of cores
        self._batch: Batch | None = None
        self._due = True
        self._rests = 0  # batches made since a cell moved

    def take(self, batch: Batch) -> None:
        name = batch.collector, batch.lane
        before = self._pairs[name][1] if name in self._pairs else None
        if before is not None and before.read_at == batch.read_at:
            return
        self._pairs[name] = before, batch
        self._due = True
        if before is None or before.cells is not batch.cells:
            self._rests = 0
        if before is None or before.layout is not batch.layout:
            self._metrics = derivable(now for _, now in self._pairs.values())

    def batch(self, device: Device, unsupported: Missing | None, snapshot: Snapshot) -> Batch:
        """The batch made last, or a new one if something was read since."""
        if device is not self._device:
            self._device, self._due, self._rests = device, True, 0
            self._places = tuple(Place(device.index, core.index) for core in device.cores)
        if self._batch and not self._due:
            return self._batch
        reads = [now.read_at for _, now in self._pairs.values()]
        read_at = max(reads, default=snapshot.monotonic)
        if self._batch and self._rests > 1:  # what was derived at rest before is so again
            made = self._aged(self._batch, snapshot.at)._replace(read_at=read_at)
        else:
            rows = self._rows(device, unsupported, snapshot.at)
            made = _batch("derive", device.index, rows, read_at, self._batch)
        self._batch, self._due = made, False
        self._rests += 1
        return made

    def _aged(self, batch: Batch, wall: float) -> Batch:
        """The same but for the age of the power figures."""
        row = batch.layout.rows["device.power.age", self._here[0]]
        cells = batch.cells.copy()
        cells[row] = _age([now for _, now in self._pairs.values()], wall)
        return batch._replace(cells=cells, changed=(row,) if cells[row] != batch.cells[row] else ())

    def _rows(self, device: Device, unsupported: Missing | None, wall: float) -> _Rows:
        """Metric → places and cells."""
        places, pairs = self._places, list(self._pairs.values())
        rates = CoreRates(pairs, places, unsupported)
        rows: _Rows = {metric: (places, rates.cells(metric)) for metric in self._metrics}
        busy = rows["core.utilization"][1] if "core.utilization" in rows else []
        for metric, cell in _device_cells(device, [now for _, now in pairs], busy, wall).items():
            rows[metric] = self._here, [cell]
        return rows


_Rows: TypeAlias = "dict[str, tuple[tuple[Place, ...], list[Cell]]]"


def _device_cells(
    device: Device, batches: list[Batch], busy: list[Cell], wall: float
) -> dict[str, Cell]:
    """The device's own readings, from its cores' and its power line."""
    chip = CHIPS.get(device.name or "")
    return {
        "device.utilization": _mean(busy),
        "device.hbm.used": _total([c for batch in batches for c in _cells(batch, "core.hbm.used")]),
        "device.hbm.capacity": chip.hbm_bytes if chip else _UNKNOWN_CHIP,
        "device.power.age": _age(batches, wall),
    }


def _age(batches: list[Batch], wall: float) -> Cell:
    """Of the power figures, by the minute that they are of."""
    for batch in batches:
        for epoch in _cells(batch, "device.power.epoch"):
            return round(wall - epoch, 3) if isinstance(epoch, int) and epoch > 0 else _NO_EPOCH
    return _NO_EPOCH


def _cells(batch: Batch, metric: str) -> list[Cell]:
    column = batch.layout.columns.get(metric)
    return batch.cells[column.start : column.start + len(column.places)] if column else []


def _total(cells: list[Any]) -> Cell:
    if set(map(type, cells)) == {int}:
        return int(sum(cells))
    return next((cell for cell in cells if isinstance(cell, Missing)), _NO_CORES)


def _mean(cells: list[Any]) -> Cell:
    if set(map(type, cells)) == {float}:
        return float(sum(cells) / len(cells))
    return next((cell for cell in cells if isinstance(cell, Missing)), _NO_CORES)


def derive(previous: Snapshot | None, current: Snapshot) -> tuple[Batch, ...]:
    """All derived readings of two snapshots, by device; `previous` is None at the first read."""
    deriver = Deriver()
    for snapshot in (previous, current):
        for batch in snapshot.batches if snapshot else ():
            deriver.take(batch)
    return deriver.batches(current)


def make_batch(
    collector: str,
    rows: dict[str, list[tuple[Place, Cell]]],
    read_at: float,
    before: Batch | None = None,
) -> Batch:
    """A batch of cells that no file gives; `before` is the one that it takes the place of."""
    placed: _Rows = {
        metric: (tuple([place for place, _ in some]), [cell for _, cell in some])
        for metric, some in rows.items()
    }
    return _batch(collector, None, placed, read_at, before)


def _batch(
    collector: str, device: int | None, rows: _Rows, read_at: float, before: Batch | None
) -> Batch:
    """Its layout, and its cells if none is another, are those before as long as the rows are."""
    cells = [cell for _, some in rows.values() for cell in some]
    if before is None or not _has_rows(before.layout, rows):
        layout = _layout({metric: some for metric, (some, _) in rows.items()})
        return Batch(collector, "derived", device, layout, cells, read_at)
    changed = tuple(compress(count(), map(ne, cells, before.cells)))
    return Batch(
        collector,
        "derived",
        device,
        before.layout,
        cells if changed else before.cells,
        read_at,
        changed=changed,
    )


def _has_rows(layout: Layout, rows: _Rows) -> bool:
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
