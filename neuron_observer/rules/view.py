"""The latest cells of a host, as rules look at them: found at once, and what changed told.

The layout of a batch is looked at once; from then on a tick costs one comparison a batch.
"""

from __future__ import annotations

from itertools import compress
from operator import ne
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from neuron_observer.catalogue import METRICS
from neuron_observer.model import NODE, Missing, Place, Why
from neuron_observer.picking import picker

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from neuron_observer.model import Batch, Cell, Device, Snapshot

Spot: TypeAlias = "tuple[str, Place]"
_Key: TypeAlias = "tuple[str, str, int | None]"

SETTLING = 30.0  # seconds until what no batch has brought is taken for not there
NOT_THERE = Missing(Why.UNSUPPORTED, "not read on this host")
NOT_YET = Missing(Why.NOT_YET, "not read yet")
GONE = Missing(Why.FAILED, "was here before and is gone")
DRIVER_STATE = "driver.state"  # what the topology says: `absent` is no word that a file holds


class Seen(NamedTuple):
    """A cell, when it was read, and from where."""

    cell: Cell
    read_at: float  # monotonic
    source: str = ""


class _Rows:
    """Some rows of a batch; batches of the same form share them."""

    def __init__(self, rows: tuple[int, ...]) -> None:
        self.numbers = {row: number for number, row in enumerate(rows)}
        self.pick = picker(rows)


class _Watch:
    """The rows of a batch that rules read, and what they held last."""

    __slots__ = ("_form", "_held", "batch", "rows", "spots")

    def __init__(
        self, batch: Batch, metrics: Collection[str], forms: dict[tuple[int, ...], _Rows]
    ) -> None:
        rows = {spot: row for spot, row in batch.layout.rows.items() if spot[0] in metrics}
        form = tuple(rows.values())
        self.batch = batch
        self.rows = batch.layout.rows
        self.spots = tuple(rows)  # the layout's own objects
        self._form = forms.setdefault(form, _Rows(form))
        self._held = self._form.pick(batch.cells)

    def take(self, batch: Batch) -> Iterable[Spot]:
        """The spots that differ. `changed` tells most of them; whether it tells all is checked."""
        before, now = self._held, self._form.pick(batch.cells)
        if before == now:
            return ()
        self._held = now
        numbers = self._form.numbers
        told = [numbers[row] for row in batch.changed if row in numbers]
        patched = list(before)
        for number in told:
            patched[number] = now[number]
        if patched == list(now):
            return [self.spots[number] for number in told if before[number] != now[number]]
        return compress(self.spots, map(ne, before, now))


class View:
    """Snapshots, one after the other."""

    def __init__(self, metrics: Collection[str]) -> None:
        self._metrics = frozenset(metrics)
        self._watches: dict[_Key, _Watch] = {}
        self._forms: dict[tuple[int, ...], _Rows] = {}
        self._homes: dict[tuple[str, int | None], list[_Watch]] = {}  # of a metric of a device
        self._places: dict[str, tuple[Place, ...]] = {}
        self._read: set[Spot] = set()  # held a value once
        self._awaited: dict[_Key, set[Spot]] = {}  # to be told at the next read, also of the same
        self._began: float | None = None
        self.snapshot: Snapshot | None = None
        self.devices: dict[int, Device] = {}
        self.generation = 0  # of snapshots

    def follow(self, before: View) -> None:
        """Go on from another view of the same host."""
        self._began, self._read = before._began, before._read
        self.generation = before.generation

    def take(self, snapshot: Snapshot) -> tuple[set[Spot], bool]:
        """Go on to a snapshot: the spots that differ, and whether files came or went."""
        changed: set[Spot] = set()
        moved = self._of_driver(snapshot, changed)
        self.snapshot = snapshot
        self.generation += 1
        self._began = snapshot.monotonic if self._began is None else self._began
        batches = self._aligned(snapshot.batches)
        if batches is None:
            batches = {_key(batch): batch for batch in snapshot.batches}
            moved |= not self._watches.keys() <= batches.keys()
            self._watches = {key: self._watches[key] for key in batches if key in self._watches}
        for key, batch in batches.items():
            moved |= self._take(key, batch, changed)
        if moved:
            self._index()
        self._remember(changed)
        return changed, moved

    def _aligned(self, batches: Sequence[Batch]) -> dict[_Key, Batch] | None:
        """Those that are new; None if the names are not those of the snapshot before."""
        if len(batches) != len(self._watches):
            return None
        found: dict[_Key, Batch] = {}
        for (key, watch), batch in zip(self._watches.items(), batches, strict=True):
            before = watch.batch
            if before is not batch:
                if before.layout is not batch.layout and key != _key(batch):
                    return None
                found[key] = batch
        return found

    def _take(self, key: _Key, batch: Batch, changed: set[Spot]) -> bool:
        """Go on to a batch; whether it is of other files than the one before."""
        watch = self._watches.get(key)
        if watch is None or not _same_layout(watch.batch, batch):
            watch = self._watches[key] = _Watch(batch, self._metrics, self._forms)
            changed.update(watch.spots)
            return True
        before, watch.batch = watch.batch, batch
        if before.cells is not batch.cells:
            changed.update(watch.take(batch))
        if self._awaited and key in self._awaited and batch.read_at > before.read_at:
            changed |= self._awaited.pop(key)
        return False

    def _of_driver(self, snapshot: Snapshot, changed: set[Spot]) -> bool:
        before = self.snapshot
        if before is None or before.driver != snapshot.driver:
            changed.add((DRIVER_STATE, NODE))
        if before is not None and before.devices is snapshot.devices:
            return before.driver != snapshot.driver
        self.devices = {device.index: device for device in snapshot.devices}
        return before is None or before.devices != snapshot.devices

    def _index(self) -> None:
        """Where each metric stands; of several batches that have it the first counts."""
        self._homes = {}
        places: dict[str, list[Place]] = {}
        for watch in self._watches.values():
            for spot in watch.spots:
                metric, place = spot
                homes = self._homes.setdefault((metric, place.device), [])
                if not any(spot in other.rows for other in homes if other is not watch):
                    places.setdefault(metric, []).append(place)
                if watch not in homes:
                    homes.append(watch)
        self._places = {metric: tuple(found) for metric, found in places.items()}

    def _find(self, spot: Spot) -> tuple[Batch, int] | None:
        """The batch and the row that give it."""
        for watch in self._homes.get((spot[0], spot[1].device), ()):
            row = watch.rows.get(spot)
            if row is not None:
                return watch.batch, row
        return None

    def _remember(self, changed: set[Spot]) -> None:
        for spot in changed - self._read:
            found = self._find(spot)
            if found and not isinstance(found[0].cells[found[1]], Missing):
                self._read.add(spot)

    def places(self, metric: str) -> Sequence[Place]:
        """Where a metric is read."""
        return self._places.get(metric, ())

    def await_read(self, metric: str, place: Place) -> None:
        """Have a spot told as changed when it is read the next time, whatever it holds."""
        found = self._find((metric, place))
        if found:
            self._awaited.setdefault(_key(found[0]), set()).add((metric, place))

    def cells(self, metric: str) -> dict[Place, Cell]:
        """All cells of a metric by place; of several batches that have it the first counts."""
        found: dict[Place, Cell] = {}
        for watch in reversed(self._watches.values()):
            batch = watch.batch
            if column := batch.layout.columns.get(metric):
                cells = batch.cells[column.start : column.start + len(column.places)]
                found.update(zip(column.places, cells, strict=True))
        return found

    def chip(self, place: Place) -> str | None:
        """The name of the chip that a place is part of."""
        device = self.devices.get(place.device) if place.device is not None else None
        return device.name if device else None

    def was_read(self, metric: str, place: Place) -> bool:
        """Whether it ever held a value."""
        return (metric, place) in self._read

    def see(self, metric: str, place: Place) -> Seen:
        """One cell."""
        found = self._find((metric, place))
        if found is None or metric == DRIVER_STATE:
            return self._elsewhere(metric, place, found[0] if found else None)
        batch, row = found
        return Seen(batch.cells[row], batch.read_at, batch.layout.sources[row])

    def _elsewhere(self, metric: str, place: Place, batch: Batch | None) -> Seen:
        """What no row gives."""
        snapshot = self.snapshot
        if snapshot is None:
            return Seen(NOT_YET, 0.0)
        if metric == DRIVER_STATE:
            read_at = batch.read_at if batch else snapshot.monotonic
            return Seen(snapshot.driver.state, read_at, "module/neuron/initstate")
        if (metric, place) in self._read:
            return Seen(GONE, snapshot.monotonic)
        settling = snapshot.monotonic - (self._began or 0.0) < SETTLING
        comes = settling and METRICS[metric].lane == "firmware"  # others: at the first tick
        return Seen(NOT_YET if comes else NOT_THERE, snapshot.monotonic)

    def answers(self, device: int | None) -> bool:
        """Whether a device's serial number reads back; a driver that has none is believed."""
        cell = self.see("device.serial", Place(device)).cell
        return not isinstance(cell, Missing) or cell.why in (Why.UNSUPPORTED, Why.DENIED)

    def wall_of(self, monotonic: float) -> float:
        """The wall clock at an instant of the monotonic one."""
        snapshot = self.snapshot
        return snapshot.at - (snapshot.monotonic - monotonic) if snapshot else monotonic


def _key(batch: Batch) -> _Key:
    return batch.collector, batch.lane, batch.device


def _same_layout(before: Batch, now: Batch) -> bool:
    one, other = before.layout, now.layout
    if one is other:
        return True
    return len(one.sources) == len(other.sources) and one.columns == other.columns
