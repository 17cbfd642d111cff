"""What a topology says: which devices are missing, who the devices are, where their files stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Core, Device, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Cell


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


def identity_of(topology: Topology) -> tuple[str | None, str, tuple[int, ...]]:
    """What is another after a reload: the driver's version and state, the devices' indexes."""
    devices = tuple(device.number for device in topology.devices)
    return topology.driver.version, topology.driver.state, devices


def listed(devices: tuple[int, ...]) -> str:
    """(0, 1) → 0,1."""
    return ",".join(map(str, devices)) or "none"


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
