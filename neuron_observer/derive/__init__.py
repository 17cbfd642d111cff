"""Readings computed from two reads: rates, utilisation, sums. Pure: no I/O, no clock.

Rates are taken over the batches' own read times, and stay until the counters are read again.
"""

from __future__ import annotations

from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.catalogue.chips import CHIPS
from neuron_observer.derive.counters import delta, falls, only_rose
from neuron_observer.derive.rates import CoreRates, not_live
from neuron_observer.model import Batch, Column, Layout, Missing, Place, Value, Why
from neuron_observer.readings import columns, reading

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
        self._pairs: dict[int, dict[tuple[str, str], Pair]] = {}  # by device
        self._made: dict[int, Batch] = {}
        self._due: set[int] = set()  # devices with something new

    def take(self, batch: Batch) -> None:
        """A batch was read; of one that was taken already nothing is new."""
        device = batch.device
        if device is None or batch.layout.columns.keys().isdisjoint(_INPUTS):
            return
        pairs = self._pairs.setdefault(device, {})
        name = batch.collector, batch.lane
        before = pairs[name][1] if name in pairs else None
        if before is None or before.read_at != batch.read_at:
            pairs[name] = before, batch
            self._due.add(device)

    def batches(self, snapshot: Snapshot) -> tuple[Batch, ...]:
        """A batch of each device of a snapshot whose batches were taken."""
        unsupported = not_live(snapshot.driver.version)
        for device in snapshot.devices:
            index = device.index
            if index in self._due or index not in self._made:
                pairs = list(self._pairs.get(index, {}).values())
                rows = _rows(device, pairs, unsupported, snapshot.at)
                read_at = max((now.read_at for _, now in pairs), default=snapshot.monotonic)
                self._made[index] = _batch(index, rows, read_at, self._made.get(index))
        self._due.clear()
        return tuple([self._made[device.index] for device in snapshot.devices])


_Rows: TypeAlias = "dict[str, tuple[tuple[Place, ...], list[Cell]]]"


def _rows(device: Device, pairs: list[Pair], unsupported: Missing | None, wall: float) -> _Rows:
    """Metric → places and cells of one device."""
    places = tuple(Place(device.index, core.index) for core in device.cores)
    rates = CoreRates(pairs, places, unsupported).computations()
    rows: _Rows = {metric: (places, compute()) for metric, compute in rates.items()}
    busy = rows["core.utilization"][1] if "core.utilization" in rows else []
    here = (Place(device.index),)
    for metric, cell in _device_cells(device, [now for _, now in pairs], busy, wall).items():
        rows[metric] = here, [cell]
    return rows


def _device_cells(
    device: Device, batches: list[Batch], busy: list[Cell], wall: float
) -> dict[str, Cell]:
    """The device's own readings, from its cores' and its power line."""
    chip = CHIPS.get(device.name or "")
    used = [cell for _, _, cell in columns(batches, "core.hbm.used")]
    epoch = reading(batches, "device.power.epoch", Place(device.index))
    dated = isinstance(epoch, Value) and isinstance(epoch.value, int) and epoch.value > 0
    return {
        "device.utilization": _mean(busy),
        "device.hbm.used": _total(used),
        "device.hbm.capacity": chip.hbm_bytes if chip else _UNKNOWN_CHIP,
        "device.power.age": round(wall - int(epoch.value), 3)
        if isinstance(epoch, Value) and dated
        else _NO_EPOCH,
    }


def _total(cells: list[Cell]) -> Cell:
    missing = [cell for cell in cells if isinstance(cell, Missing)]
    if missing or not cells:
        return missing[0] if missing else _NO_CORES
    return sum(cell for cell in cells if isinstance(cell, int))


def _mean(cells: list[Cell]) -> Cell:
    missing = [cell for cell in cells if isinstance(cell, Missing)]
    if missing or not cells:
        return missing[0] if missing else _NO_CORES
    numbers = [float(cell) for cell in cells if not isinstance(cell, Missing)]
    return sum(numbers) / len(numbers)


def derive(previous: Snapshot | None, current: Snapshot) -> tuple[Batch, ...]:
    """All derived readings of two snapshots, by device; `previous` is None at the first read."""
    deriver = Deriver()
    for snapshot in (previous, current):
        for batch in snapshot.batches if snapshot else ():
            deriver.take(batch)
    return deriver.batches(current)


def make_batch(collector: str, rows: dict[str, list[tuple[Place, Cell]]], read_at: float) -> Batch:
    """A batch of cells that no file gives."""
    cells = [cell for placed in rows.values() for _, cell in placed]
    places = {metric: tuple([place for place, _ in placed]) for metric, placed in rows.items()}
    return Batch(collector, "derived", None, _layout(places), cells, read_at)


def _batch(device: int, rows: _Rows, read_at: float, before: Batch | None) -> Batch:
    """A device's batch; its layout is the one before as long as the rows are the same."""
    cells = [cell for _, some in rows.values() for cell in some]
    places = {metric: some for metric, (some, _) in rows.items()}
    if before and places == {m: column.places for m, column in before.layout.columns.items()}:
        changed = tuple(compress(count(), map(ne, cells, before.cells)))
        layout = before.layout
    else:
        layout, changed = _layout(places), ()
    return Batch("derive", "derived", device, layout, cells, read_at, changed=changed)


def _layout(places: Mapping[str, tuple[Place, ...]]) -> Layout:
    laid: dict[str, Column] = {}
    index: dict[tuple[str, Place], int] = {}
    rows = 0
    for metric, some in places.items():
        laid[metric] = Column(metric, rows, some)
        index.update({(metric, place): row for row, place in enumerate(some, rows)})
        rows += len(some)
    return Layout(laid, ("",) * rows, index)
