"""What a topology says: which devices are missing, who the devices are, where their files stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.collectors.topology import read_topology
from neuron_observer.model import Core, Device, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Batch, Cell
    from neuron_observer.sources.hostfs import HostFs

_GLANCES = 6  # of so many looks one is a closer one


def missing_indexes(topology: Topology) -> tuple[int, ...] | None:
    """Indexes that the instance type should have and sysfs lacks; None where none can be told.

    On trn1 and later a missing device leaves a gap; on inf1 later devices shift down, so the
    index that is missing cannot be known there.
    """
    if topology.expected is None or topology.loading:
        return None
    seen = {device.number for device in topology.devices} | set(topology.hidden)
    if topology.instance_type and topology.instance_type.startswith("inf1"):
        return None
    return tuple(sorted(set(range(topology.expected)) - seen))


IDENTITY = ("device.serial", "device.name", "device.arch", "device.connected_devices", "core.arch")


def tells_another_identity(before: Batch | None, now: Batch) -> bool:
    """Whether what devices are told by may be another than in the batch of the same name before."""
    columns = [now.layout.columns[metric] for metric in IDENTITY if metric in now.layout.columns]
    if before is None or before.layout is not now.layout:
        return bool(columns)
    if before.cells is now.cells:
        return False
    spans = [slice(column.start, column.start + len(column.places)) for column in columns]
    return any(before.cells[span] != now.cells[span] for span in spans)


def identify(topology: Topology, cell: Callable[[str, Place], Cell]) -> tuple[Device, ...]:
    """The devices by their identity readings; `cell` gives what was read of a metric."""

    def text(metric: str, place: Place) -> str | None:
        found = cell(metric, place)
        return found if isinstance(found, str) else None

    devices = []
    for one in topology.devices:
        place = Place(one.number)
        number = text("device.serial", place)
        devices.append(
            Device(
                index=one.number,
                name=text("device.name", place),
                arch=text("device.arch", place),
                serial=number,
                key=number or f"{topology.instance_id or topology.instance_type}/{one.number}",
                neighbours=neighbours(text("device.connected_devices", place)),
                cores=tuple(
                    Core(one.number, core, text("core.arch", Place(one.number, core)))
                    for core in sorted(one.tree.cores)
                ),
            )
        )
    return tuple(devices)


def outline(topology: Topology) -> frozenset[str]:
    """Where the files of each device and of its first core stand, by folder for shared leaves."""
    places: set[str] = set()
    for device in topology.devices:
        first = min(device.tree.cores, default=None)
        for (core, suffix), paths in device.tree.found.items():
            if core is None or core == first:
                below = [path.rpartition("/")[0] if "/" in suffix else path for path in paths]
                places.update(f"neuron{device.number}/{path}" for path in below)
    return frozenset(places)


def neighbours(text: str | None) -> tuple[int, ...] | None:
    """`12, 3, 4, 1` → (12, 3, 4, 1); () for an empty line, None where it is not readable."""
    if text is None:
        return None
    fields = [field.strip() for field in text.split(",")] if text.strip() else []
    return tuple(int(field) for field in fields) if all(map(str.isdecimal, fields)) else None


class Bearings:
    """What a host looked like when its files were planned, to be held against what it is now."""

    def __init__(self, host: HostFs, topology: Topology, *, all_devices: bool) -> None:
        self._host = host
        self._all_devices = all_devices
        self._identity = _identity(topology)
        self._marks = _marks(host, topology)
        self.places = outline(topology)
        self._glances = 0

    def departure(self, *, lost: bool) -> tuple[str, str] | None:
        """What is another now, as kind and message of an event; None if nothing is.

        A glance at the devices' directories does unless a file was lost, and five times out of six.
        """
        if not lost and self._as_before():
            return None
        now = read_topology(self._host, thorough=False, all_devices=self._all_devices)
        before, after, places = self._identity, _identity(now), outline(now)
        new = places - self.places
        if before == after and not new:
            return self._remade(now)
        self.places = places
        if before == after:
            return "files_moved", f"{len(new)} files at new places, e.g. {min(new)}"
        kind = "driver_reloaded" if before[:2] != after[:2] else "devices_changed"
        message = f"driver {before[0]} {before[1]}, devices {_listed(before[2])}"
        message += f" → driver {after[0]} {after[1]}, devices {_listed(after[2])}"
        return kind, message

    def _remade(self, now: Topology) -> tuple[str, str] | None:
        """The driver was loaded again between two looks: the same names, other directories.

        Descriptors of sysfs then end by themselves; those of plain files would show the past.
        """
        before, self._marks = self._marks, _marks(self._host, now)
        if before is None or self._marks is None:
            return None
        if [number for number, _ in before] == [number for number, _ in self._marks]:
            return None
        return "driver_reloaded", "the devices' directories were made anew, nothing else differs"

    def _as_before(self) -> bool:
        self._glances += 1
        if self._marks is None or self._glances % _GLANCES == 0:
            return False
        now = read_topology(self._host, all_devices=self._all_devices, look_inside=False)
        return _identity(now) == self._identity and _marks(self._host, now) == self._marks


def _identity(topology: Topology) -> tuple[str | None, str, tuple[int, ...]]:
    devices = tuple(device.number for device in topology.devices)
    return topology.driver.version, topology.driver.state, devices


def _marks(host: HostFs, topology: Topology) -> tuple[tuple[int, int], ...] | None:
    """Which directories the devices' are: one made anew has another number or time."""
    try:
        status = [host.lstat(device.path) for device in topology.devices]
    except OSError:
        return None
    if not all(one.st_ino for one in status):  # a host that numbers no files
        return None
    return tuple((one.st_ino, one.st_ctime_ns) for one in status)


def _listed(devices: tuple[int, ...]) -> str:
    return ",".join(map(str, devices)) or "none"
