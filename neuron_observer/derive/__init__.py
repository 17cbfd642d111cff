"""Readings computed from two reads: rates, utilisation, sums. Pure: no I/O, no clock.

Rates are taken over the batches' own read times, and stay until the counters are read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.derive.batches import make_batch
from neuron_observer.derive.counters import delta, falls, only_rose
from neuron_observer.derive.device import DeviceReadings
from neuron_observer.derive.rates import not_live

if TYPE_CHECKING:
    from neuron_observer.model import Batch, Layout, Snapshot

__all__ = ["Deriver", "delta", "derive", "falls", "make_batch", "only_rose"]

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
# What batches of one name are of, and the readings that come from them.
_Home: TypeAlias = "tuple[Layout, DeviceReadings | None]"


class Deriver:
    """The derived readings of all devices; a device's are made anew when its counters were read."""

    def __init__(self) -> None:
        self._devices: dict[int, DeviceReadings] = {}
        self._homes: dict[tuple[str, str, int | None], _Home] = {}

    def take(self, batch: Batch) -> None:
        """A batch was read; of one that was taken already nothing is new."""
        name = batch.collector, batch.lane, batch.device
        home = self._homes.get(name)
        if home is None or home[0] is not batch.layout:
            home = self._homes[name] = batch.layout, self._home(batch)
        if home[1]:
            home[1].take(batch)

    def _home(self, batch: Batch) -> DeviceReadings | None:
        if batch.device is None or batch.layout.columns.keys().isdisjoint(_INPUTS):
            return None
        return self._of(batch.device)

    def batches(self, snapshot: Snapshot) -> tuple[Batch, ...]:
        """A batch of each device of a snapshot whose batches were taken."""
        unsupported = not_live(snapshot.driver.version)
        return tuple(
            [
                self._of(device.index).batch(device, unsupported, snapshot)
                for device in snapshot.devices
            ]
        )

    def _of(self, index: int) -> DeviceReadings:
        if index not in self._devices:
            self._devices[index] = DeviceReadings(index)
        return self._devices[index]


def derive(previous: Snapshot | None, current: Snapshot) -> tuple[Batch, ...]:
    """All derived readings of two snapshots, by device; `previous` is None at the first read."""
    deriver = Deriver()
    for snapshot in (previous, current):
        for batch in snapshot.batches if snapshot else ():
            deriver.take(batch)
    return deriver.batches(current)
