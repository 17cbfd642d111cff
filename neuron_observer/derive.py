"""Readings computed from two snapshots: rates, utilisation, sums. Pure: no I/O, no clock.

Rates are taken over the batches' own read times. A counter that falls was reset: what it shows now
is what it counted since. What the driver does not move while a job runs gives no rate at all
(driver 2.24.7 `neuron_ds.c`: the runtime's counters are added up when its process exits).
"""

from __future__ import annotations

from operator import gt
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.catalogue.chips import CHIPS, LIVE_SINCE, parse_version
from neuron_observer.model import Batch, Column, Layout, Missing, Place, Value, Why
from neuron_observer.readings import columns, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from neuron_observer.catalogue.spec import MetricSpec
    from neuron_observer.model import Cell, Device, Snapshot

FIRST = Missing(Why.NOT_YET, "needs two reads")
_MOST_BUSY = 1.1  # read times are a little off; more than this is no utilisation
_PE_CARRY = 1 << 32  # the PE counters' halves are read apart: at a carry a value is off by this
_FLOP_RATE_BOUND = 10**16  # operations a second; above any core, to tell a wrap from a reset
_INPUTS = {
    "core.utilization": {"core.time_in_use"},
    "core.inference_rate": {"core.inferences"},
    "core.flop_rate": {"core.flops"},
    "core.flops_per_busy_second": {"core.flops", "core.time_in_use"},
    "core.matmul_share": {"core.pe_array.row_group0.matmul_cycles"},
}


class Delta(NamedTuple):
    """What a counter grew by between two reads."""

    increase: int
    was_reset: bool = False


def delta(spec: MetricSpec, before: int, now: int, seconds: float) -> Delta:
    """The increase of a counter; never more than what truly happened."""
    if now >= before:
        return Delta(now - before)
    if spec.wraps_at:
        wrapped = now + spec.wraps_at - before
        if wrapped <= _FLOP_RATE_BOUND * seconds:
            return Delta(wrapped)
    return Delta(now, was_reset=True)


class Change(NamedTuple):
    """A counter's delta, the seconds over which it came, and what it shows now."""

    delta: Delta
    seconds: float
    now: int


def changes(
    previous: Iterable[Batch], current: Iterable[Batch], metric: str
) -> dict[Place, Change | Missing]:
    """How a counter moved between two sets of batches, by place, or why that cannot be said."""
    spec = METRICS[metric]
    earlier = {place: (batch.read_at, cell) for batch, place, cell in columns(previous, metric)}
    found: dict[Place, Change | Missing] = {}
    for batch, place, now in columns(current, metric):
        read_at, before = earlier.get(place, (batch.read_at, FIRST))
        seconds = batch.read_at - read_at
        if isinstance(now, Missing):
            found[place] = now
        elif not isinstance(now, int) or not isinstance(before, int) or seconds <= 0:
            found[place] = FIRST
        else:
            found[place] = Change(delta(spec, before, now, seconds), seconds, now)
    return found


def _live(current: Snapshot) -> Missing | None:
    version = parse_version(current.driver.version)
    if version is None:
        return Missing(Why.UNSUPPORTED, "driver version unknown: its counters may not be live")
    if version < LIVE_SINCE:
        return Missing(
            Why.UNSUPPORTED,
            f"driver {current.driver.version} moves this counter only when a process exits;"
            " live from driver 2.30.2",
        )
    return None


class _Derivation:
    """One pass over the cores of a device; only that device's batches are looked at."""

    def __init__(self, previous: Snapshot | None, current: Snapshot, device: Device) -> None:
        self._at = current.at
        self._device = device
        self._before = _of_device(previous, device.index) if previous else []
        self._now = _of_device(current, device.index)
        self._not_live = _live(current)
        self._changes: dict[str, dict[Place, Change | Missing]] = {}  # as far as asked for

    def _counted(self, metric: str, place: Place) -> Change | Missing:
        if metric not in self._changes:
            self._changes[metric] = changes(self._before, self._now, metric)
        return self._changes[metric].get(place) or Missing(Why.UNSUPPORTED, f"{metric} is not read")

    def _change(self, metric: str, place: Place) -> Change | Missing:
        return self._not_live or self._counted(metric, place)

    def _moved(self, metric: str, place: Place) -> Change | Missing:
        """A change of a counter that the driver truly counts: one stuck at 0 is unsupported."""
        found = self._change(metric, place)
        if isinstance(found, Missing) or found.delta.increase or found.now:
            return found
        executed = self._change("core.inferences", place)
        succeeded = self._change("core.execution.success", place)
        running = any(isinstance(c, Change) and c.delta.increase for c in (executed, succeeded))
        if running:
            return Missing(Why.UNSUPPORTED, f"{metric} stays 0 while executions rise")
        return found

    def computations(self) -> dict[str, Callable[[Place], Cell]]:
        """Metric → how to compute it for one core, where its inputs are read."""
        every: dict[str, Callable[[Place], Cell]] = {
            "core.utilization": self.utilization,
            "core.inference_rate": self.rate("core.inferences"),
            "core.flop_rate": self.rate("core.flops"),
            "core.flops_per_busy_second": self.flops_per_busy_second,
            "core.matmul_share": self.matmul_share,
        }
        read = {metric for batch in self._now for metric in batch.layout.columns}
        return {metric: compute for metric, compute in every.items() if _INPUTS[metric] <= read}

    def utilization(self, place: Place) -> Cell:
        """Busy time over time, 0 to 1."""
        busy = self._moved("core.time_in_use", place)
        if isinstance(busy, Missing):
            return busy
        share = busy.delta.increase / 1e6 / busy.seconds
        if share > _MOST_BUSY:
            return Missing(Why.FAILED, "more busy time than time")
        return min(share, 1.0)

    def rate(self, metric: str) -> Callable[[Place], Cell]:
        """Increase a second of one counter."""

        def of(place: Place) -> Cell:
            found = self._moved(metric, place)
            return found if isinstance(found, Missing) else found.delta.increase / found.seconds

        return of

    def flops_per_busy_second(self, place: Place) -> Cell:
        """Operations over busy time; nothing where either does not move."""
        flops, busy = self._moved("core.flops", place), self._moved("core.time_in_use", place)
        if isinstance(flops, Missing):
            return flops
        if isinstance(busy, Missing):
            return busy
        if not flops.delta.increase or not busy.delta.increase:
            return Missing(Why.NOT_YET, "nothing was executed in the interval")
        return flops.delta.increase / (busy.delta.increase / 1e6)

    def matmul_share(self, place: Place) -> Cell:
        """Multiplying cycles over all cycles of the four row groups."""
        totals = dict.fromkeys(("matmul", "weight_load", "idle"), 0)
        for group in range(4):
            for name in totals:
                metric = f"core.pe_array.row_group{group}.{name}_cycles"
                found = self._counted(metric, place)
                if isinstance(found, Missing):
                    return found
                if found.delta.was_reset or found.delta.increase > _PE_CARRY:
                    return Missing(Why.NOT_YET, "a counter was reset or read at a carry")
                totals[name] += found.delta.increase
        cycles = sum(totals.values())
        return totals["matmul"] / cycles if cycles else Missing(Why.NOT_YET, "no cycles counted")

    def device_cells(self, utilizations: list[Cell]) -> dict[str, Cell]:
        """The device's own rows, from its cores' and its power line."""
        device = self._device
        chip = CHIPS.get(device.name or "")
        used = [cell for _, _, cell in columns(self._now, "core.hbm.used")]
        epoch = reading(self._now, "device.power.epoch", Place(device.index))
        dated = isinstance(epoch, Value) and isinstance(epoch.value, int) and epoch.value > 0
        return {
            "device.utilization": _mean(utilizations),
            "device.hbm.used": _total(used),
            "device.hbm.capacity": chip.hbm_bytes if chip else _UNKNOWN_CHIP,
            "device.power.age": round(self._at - int(epoch.value), 3)
            if isinstance(epoch, Value) and dated
            else _NO_EPOCH,
        }


def _of_device(snapshot: Snapshot, index: int) -> list[Batch]:
    return [batch for batch in snapshot.batches if batch.device == index]


_UNKNOWN_CHIP = Missing(Why.UNSUPPORTED, "chip not known")
_NO_EPOCH = Missing(Why.UNSUPPORTED, "no dated power figures")
_NO_CORES = Missing(Why.FAILED, "no core was found")


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


def derive(previous: Snapshot | None, current: Snapshot) -> Batch:
    """All derived readings of cores and devices; `previous` is None at the first read."""
    rows: dict[str, list[tuple[Place, Cell]]] = {}
    for device in current.devices:
        one = _Derivation(previous, current, device)
        places = [Place(device.index, core.index) for core in device.cores]
        busy: list[Cell] = []
        for metric, compute in one.computations().items():
            cells = [compute(place) for place in places]
            rows.setdefault(metric, []).extend(zip(places, cells, strict=True))
            if metric == "core.utilization":
                busy = cells
        for metric, cell in one.device_cells(busy).items():
            rows.setdefault(metric, []).append((Place(device.index), cell))
    return make_batch("derive", rows, current.monotonic)


def make_batch(collector: str, rows: dict[str, list[tuple[Place, Cell]]], read_at: float) -> Batch:
    """A batch of cells that no file gives."""
    cells: list[Cell] = []
    index: dict[tuple[str, Place], int] = {}
    layout: dict[str, Column] = {}
    for metric, placed in rows.items():
        layout[metric] = Column(metric, len(cells), tuple(place for place, _ in placed))
        for place, cell in placed:
            index[metric, place] = len(cells)
            cells.append(cell)
    return Batch(
        collector, "derived", None, Layout(layout, ("",) * len(cells), index), cells, read_at
    )


class Fall(NamedTuple):
    """A counter that shows less than before: it was reset."""

    metric: str
    place: Place
    before: int
    now: int


def only_rose(before: Batch, now: Batch) -> bool:
    """Whether all cells that changed are numbers and none is less: as nearly always, so at once."""
    if before.layout is not now.layout:
        return False
    earlier: list[Any] = [before.cells[row] for row in now.changed]
    later: list[Any] = [now.cells[row] for row in now.changed]
    try:
        return not any(map(gt, earlier, later))
    except TypeError:  # a text or a missing one among numbers
        return False


def falls(before: Batch, now: Batch) -> Iterator[Fall]:
    """Counters of a batch that fell since the batch before it; a wrap or a carry is no fall.

    The kernel's own CPU times are left out: idle and iowait may go back (Documentation/proc).
    """
    if before.layout is not now.layout:
        return
    cells_before, cells = before.cells, now.cells
    seconds = now.read_at - before.read_at
    for row in now.changed:
        earlier, cell = cells_before[row], cells[row]
        if isinstance(earlier, int) and isinstance(cell, int) and cell < earlier:
            metric, place = _spot(now.layout, row)
            if _is_reset(metric, earlier, cell, seconds):
                yield Fall(metric, place, earlier, cell)


def _is_reset(metric: str, earlier: int, now: int, seconds: float) -> bool:
    spec = METRICS[metric]
    if spec.kind is not Kind.COUNTER or metric.startswith("host.cpu."):
        return False
    carry = _PE_CARRY if metric.startswith("core.pe_array.") else 0
    return earlier - now > carry and delta(spec, earlier, now, seconds).was_reset


def _spot(layout: Layout, row: int) -> tuple[str, Place]:
    """What a row is; its column is looked for, because few are ever asked for."""
    for metric, column in layout.columns.items():
        if 0 <= row - column.start < len(column.places):
            return metric, column.places[row - column.start]
    raise IndexError(f"row {row} is in no column")
