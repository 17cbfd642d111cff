"""What the node's counters say beside the ranks: memory errors, power, fabric, executions.

Counts are over a window, because registers are read each 10 s and steps end at any time. A lone
event is none: the second within a minute counts. Pure: batches in, signs out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import Missing
from neuron_observer.readings import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from neuron_observer.model import Batch, Place

WINDOW = 60.0  # seconds
POWER_AGE = 180.0  # seconds after which a minute's power says nothing of now
ECC = ("device.hbm.ecc_corrected", "device.hbm.ecc_repairable_uncorrected")
FABRIC = (
    "efa.port.retransmit_timeouts",
    "efa.port.unresponsive_remotes",
    "efa.port.impaired_connections",
)
TIMEOUTS = ("core.execution.timeout", "core.execution.hardware_error")
COLLECTIVES = ("core.execution.collectives_error",)
EXECUTIONS = ("core.execution.success", "core.inferences")
LOADS = ("core.model_loads",)
COUNTED = (*ECC, *FABRIC, *TIMEOUTS, *COLLECTIVES)


class Signs(NamedTuple):
    """What was seen within the last minute; empty where nothing of it can be read."""

    ecc: Mapping[int, float] = {}  # by device: events beyond the first
    unhealthy: Mapping[int, bool] = {}  # by device
    power: Mapping[int, float] = {}  # by device: share of the maximum, mean of a minute
    timeouts: Mapping[int, float] = {}  # by device: executions that timed out or failed
    collectives: Mapping[int, float] = {}  # by device: hung in collectives
    fabric: float | None = None  # EFA events of the node, beyond the first
    cpu_pressure: float | None = None  # share of the last 10 s in which a task waited for a CPU
    io_pressure: float | None = None
    memory_pressure: float | None = None


class Executions(NamedTuple):
    """What the driver counted on cores: totals since its load; None where it does not tell."""

    done: Mapping[tuple[int, int], int]  # (device, core) → executions
    loads: int  # models loaded on all of them
    read_at: float


class Watcher:
    """Follows counters from one look to the next."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, Place], int] = {}
        self._events: deque[tuple[float, str, int | None, int]] = deque()
        self._devices: dict[str, set[int | None]] = {}  # of which a metric was read
        self._read: dict[tuple[str, str, int | None], Batch] = {}

    def look(self, batches: Sequence[Batch], now: float) -> Signs:
        """The signs of now."""
        for batch in batches:
            self._count(batch, now)
        while self._events and now - self._events[0][0] > WINDOW:
            self._events.popleft()
        return Signs(
            ecc=self._of_devices(ECC, lone=False),
            unhealthy={
                place.device: cell not in ("", "none")
                for _, place, cell in columns(batches, "device.health.unhealthy_components")
                if place.device is not None and isinstance(cell, str)
            },
            power=_power(batches),
            timeouts=self._of_devices(TIMEOUTS, lone=True),
            collectives=self._of_devices(COLLECTIVES, lone=True),
            fabric=self._fabric(),
            cpu_pressure=_share(batches, "host.pressure.cpu.some_10s"),
            io_pressure=_share(batches, "host.pressure.io.some_10s"),
            memory_pressure=_share(batches, "host.pressure.memory.some_10s"),
        )

    def _count(self, batch: Batch, now: float) -> None:
        """What rose since the look before; nearly always nothing did."""
        key = batch.collector, batch.lane, batch.device
        before, self._read[key] = self._read.get(key), batch
        alike = before is not None and before.layout is batch.layout
        if before is not None and (before.read_at == batch.read_at or before.cells is batch.cells):
            return
        for metric in COUNTED:
            column = batch.layout.columns.get(metric)
            if column is None:
                continue
            rows = slice(column.start, column.start + len(column.places))
            if alike and before is not None and before.cells[rows] == batch.cells[rows]:
                continue
            for place, cell in zip(column.places, batch.cells[rows], strict=True):
                if isinstance(cell, int):
                    self._note(metric, place, cell, now)

    def _note(self, metric: str, place: Place, cell: int, now: float) -> None:
        self._devices.setdefault(metric, set()).add(place.device)
        before = self._last.get((metric, place))
        self._last[metric, place] = cell
        if before is not None and cell > before:  # one that fell began anew
            self._events.append((now, metric, place.device, cell - before))

    def _of_devices(self, metrics: Sequence[str], *, lone: bool) -> dict[int, float]:
        places = set[int | None]().union(*(self._devices.get(metric, ()) for metric in metrics))
        found = {device: 0.0 for device in places if device is not None}
        for _, metric, device, count in self._events:
            if metric in metrics and device is not None:
                found[device] = found.get(device, 0.0) + count
        return found if lone else {d: max(n - 1, 0.0) for d, n in found.items()}

    def _fabric(self) -> float | None:
        if self._devices.keys().isdisjoint(FABRIC):
            return None
        total = sum(count for _, metric, _, count in self._events if metric in FABRIC)
        return max(total - 1.0, 0.0)


def executions(batches: Sequence[Batch], devices: Iterable[int]) -> Executions | None:
    """Executions of the cores of these devices; None where the driver does not count them live."""
    wanted = set(devices)
    for metric in EXECUTIONS:
        done: dict[tuple[int, int], int] = {}
        read_at = 0.0
        for batch, place, cell in columns(batches, metric):
            if place.device in wanted and place.core is not None and isinstance(cell, int):
                done[place.device or 0, place.core] = cell
                read_at = max(read_at, batch.read_at)
        if done:
            break
    else:
        return None
    loads = sum(
        cell
        for _, place, cell in columns(batches, LOADS[0])
        if place.device in wanted and isinstance(cell, int)
    )
    return Executions(done, loads, read_at)


def reported(batches: Sequence[Batch], pids: Iterable[int]) -> tuple[dict[int, float], float]:
    """Executions that neuron-monitor counted of these processes, and when it was read."""
    wanted = {str(pid): pid for pid in pids}
    found: dict[int, float] = {}
    at = 0.0
    for batch, place, cell in columns(batches, "runtime.executions.completed"):
        pid = wanted.get(place.label)
        if pid is not None and isinstance(cell, int | float):
            found[pid] = float(cell)
            at = max(at, batch.read_at)
    return found, at


def _power(batches: Sequence[Batch]) -> dict[int, float]:
    ages = {
        place.device: cell
        for _, place, cell in columns(batches, "device.power.age")
        if isinstance(cell, int | float)
    }
    return {
        place.device: cell / 100
        for _, place, cell in columns(batches, "device.power.mean")
        if place.device is not None
        and isinstance(cell, int | float)
        and ages.get(place.device, 0.0) <= POWER_AGE
    }


def _share(batches: Sequence[Batch], metric: str) -> float | None:
    for _, _, cell in columns(batches, metric):
        if not isinstance(cell, Missing | str):
            return cell / 100
    return None
