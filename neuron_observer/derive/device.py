"""What is derived of one device, made anew when what it comes from was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from neuron_observer.catalogue.chips import CHIPS
from neuron_observer.derive import at_once
from neuron_observer.derive.at_once import AtOnce
from neuron_observer.derive.batches import batch_of, successor
from neuron_observer.derive.rates import CoreRates, derivable
from neuron_observer.model import Missing, Place, Why

if TYPE_CHECKING:
    from neuron_observer.derive.batches import Rows
    from neuron_observer.derive.counters import Pair
    from neuron_observer.model import Batch, Cell, Device, Layout, Snapshot

_Name: TypeAlias = "tuple[str, str]"  # of a batch: collector and lane

_UNKNOWN_CHIP = Missing(Why.UNSUPPORTED, "chip not known")
_NO_EPOCH = Missing(Why.UNSUPPORTED, "no dated power figures")
_NO_CORES = Missing(Why.FAILED, "no core was found")


class DeviceReadings:
    """What is derived of one device, and from what."""

    def __init__(self, index: int) -> None:
        self._here = (Place(index),)
        self._places: tuple[Place, ...] = ()  # of its cores
        self._device: Device | None = None
        self._pairs: dict[_Name, Pair] = {}
        self._metrics: tuple[str, ...] = ()  # of cores
        self._batch: Batch | None = None
        self._due = True
        self._rests = 0  # batches made since a cell moved
        self._where: dict[str, list[tuple[_Name, slice]]] = {}  # metrics, as far as looked for
        self._quick: list[tuple[_Name, AtOnce]] | None = None  # one or none; None: not looked for

    def take(self, batch: Batch) -> None:
        """A batch of the device was read; of one that was taken already nothing is new."""
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
            self._where, self._quick = {}, None

    def batch(self, device: Device, unsupported: Missing | None, snapshot: Snapshot) -> Batch:
        """The batch made last, or a new one if something was read since."""
        if device is not self._device:
            self._device, self._due, self._rests = device, True, 0
            self._places = tuple(Place(device.index, core.index) for core in device.cores)
            self._quick = None
        if self._batch and not self._due:
            return self._batch
        reads = [now.read_at for _, now in self._pairs.values()]
        read_at = max(reads, default=snapshot.monotonic)
        if self._batch and self._rests > 1:  # what was derived at rest before is so again
            made = self._aged(self._batch, snapshot.at, read_at)
        elif self._batch and (rates := None if unsupported else self._rates(self._batch.layout)):
            own = self._own(device, rates[: len(self._places)], snapshot.at)
            made = successor(self._batch, [*rates, *own.values()], read_at)
        else:
            rows = self._rows(device, unsupported, snapshot.at)
            made = batch_of("derive", device.index, rows, read_at, self._batch)
        self._batch, self._due = made, False
        self._rests += 1
        return made

    def _aged(self, batch: Batch, wall: float, read_at: float) -> Batch:
        """The same but for the age of the power figures."""
        row = batch.layout.rows["device.power.age", self._here[0]]
        age = self._age(wall)
        if age == batch.cells[row]:
            return batch._replace(read_at=read_at, changed=())
        cells = batch.cells.copy()
        cells[row] = age
        return batch._replace(cells=cells, read_at=read_at, changed=(row,))

    def _rates(self, layout: Layout) -> list[Any] | None:
        """All rates of the cores at once, in the order of the layout of the batch made last."""
        if self._quick is None:
            self._quick = self._find_quick(layout)
        for name, quick in self._quick:
            before, now = self._pairs[name]
            if before is not None and before.layout is now.layout:
                return quick.rates(before, now)
        return None

    def _find_quick(self, layout: Layout) -> list[tuple[_Name, AtOnce]]:
        if self._metrics != at_once.METRICS or self._places != _places(layout, self._metrics[0]):
            return []
        found = [(name, now.layout) for name, (_, now) in self._pairs.items()]
        fits = [(name, one) for name, one in found if AtOnce.fits(one, self._places)]
        return [(name, AtOnce(one, self._places)) for name, one in fits] if len(fits) == 1 else []

    def _rows(self, device: Device, unsupported: Missing | None, wall: float) -> Rows:
        places, pairs = self._places, list(self._pairs.values())
        rates = CoreRates(pairs, places, unsupported)
        rows: Rows = {metric: (places, rates.cells(metric)) for metric in self._metrics}
        busy = rows["core.utilization"][1] if "core.utilization" in rows else []
        for metric, cell in self._own(device, busy, wall).items():
            rows[metric] = self._here, [cell]
        return rows

    def _own(self, device: Device, busy: list[Any], wall: float) -> dict[str, Cell]:
        """The device's own readings, from its cores' and its power line."""
        chip = CHIPS.get(device.name or "")
        return {
            "device.utilization": _mean(busy),
            "device.hbm.used": _total(self._cells("core.hbm.used")),
            "device.hbm.capacity": chip.hbm_bytes if chip else _UNKNOWN_CHIP,
            "device.power.age": self._age(wall),
        }

    def _age(self, wall: float) -> Cell:
        """Of the power figures, by the minute that they are of."""
        for epoch in self._cells("device.power.epoch"):
            return round(wall - epoch, 3) if isinstance(epoch, int) and epoch > 0 else _NO_EPOCH
        return _NO_EPOCH

    def _cells(self, metric: str) -> list[Any]:
        """The cells of a metric in all batches."""
        where = self._where.get(metric)
        if where is None:
            columns = [(n, now.layout.columns.get(metric)) for n, (_, now) in self._pairs.items()]
            found = [(n, c.start, c.start + len(c.places)) for n, c in columns if c]
            where = self._where[metric] = [(n, slice(begin, end)) for n, begin, end in found]
        return [cell for name, rows in where for cell in self._pairs[name][1].cells[rows]]


def _places(layout: Layout, metric: str) -> tuple[Place, ...]:
    column = layout.columns.get(metric)
    return column.places if column else ()


def _total(cells: list[Any]) -> Cell:
    if set(map(type, cells)) == {int}:
        return int(sum(cells))
    return next((cell for cell in cells if isinstance(cell, Missing)), _NO_CORES)


def _mean(cells: list[Any]) -> Cell:
    if set(map(type, cells)) == {float}:
        return float(sum(cells) / len(cells))
    return next((cell for cell in cells if isinstance(cell, Missing)), _NO_CORES)
