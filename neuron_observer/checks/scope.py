"""Which devices a check is about: all, some by number, or those of logical cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.collectors.identity import missing_indexes
from neuron_observer.errors import UsageError
from neuron_observer.jobs.ownership import NodeShape, ranges

if TYPE_CHECKING:
    from collections.abc import Collection

    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Device


class Scope(NamedTuple):
    """The devices that a verdict is about (None: all of the node), and how they were found."""

    devices: frozenset[int] | None = None
    told: str = ""


WHOLE_NODE = Scope()


def by_devices(numbers: Collection[int], topology: Topology) -> Scope:
    """Devices by number; UsageError for one that this host cannot have or that is hidden here."""
    hidden = sorted(set(topology.hidden).intersection(numbers))
    if hidden:
        raise UsageError(
            f"neuron{hidden[0]} has no /dev node in this container",
            remedy="--all-devices judges it all the same.",
        )
    possible = {device.number for device in topology.devices} | set(range(topology.expected or 0))
    wrong = sorted(set(numbers) - possible) if possible else []
    if wrong:
        raise UsageError(
            f"neuron{wrong[0]}: no such device", remedy=f"This host has {ranges(sorted(possible))}."
        )
    return Scope(frozenset(numbers), f"devices {ranges(sorted(numbers))}")


def by_cores(
    cores: Collection[int], size: int | None, topology: Topology, devices: Collection[Device]
) -> Scope:
    """The devices of logical cores as NEURON_RT_VISIBLE_CORES numbers them over the node.

    `size`: physical cores in a logical one; None: the chip's default. Physical cores are not
    computed: the driver may swap pairs below logical ones (driver 2.30.2 neuron_dhal_v3.c). Where
    the numbering cannot be known the whole node is judged, and that is told.
    """
    wanted = ranges(sorted(cores))
    shape = NodeShape(
        {device.index: device.name for device in devices},
        {device.index: len(device.cores) for device in devices},
    )
    size = size or shape.default_size
    unknown = _why_unknown(topology, shape, size)
    if unknown or not size or not shape.per_device:
        return Scope(None, f"which devices hold cores {wanted} cannot be told: {unknown}")
    each = shape.per_device // size
    beyond = [core for core in cores if core >= each * len(devices)]
    of = f"{each * len(devices)} logical cores of {size} physical each"
    if beyond:
        raise UsageError(
            f"core {min(beyond)}: this node has {of}",
            remedy=f"Write 0-{each * len(devices) - 1}; --core-size tells another size.",
        )
    found = frozenset(core // each for core in cores)
    told = f"devices {ranges(sorted(found))}, which hold cores {wanted} ({of}, {each} a device)"
    return Scope(found, told)


def _why_unknown(topology: Topology, shape: NodeShape, size: int | None) -> str:
    if topology.hidden:
        return "a container numbers its cores from 0; all devices that it can open are judged"
    if missing_indexes(topology):
        return "devices are missing, and how the runtime then counts is not known"
    if not shape.per_device:
        return "no device here, or not as many cores on each"
    if size is None:
        return "the size of a logical core is not known of this chip; --core-size tells it"
    if shape.per_device % size:
        return f"{shape.per_device} physical cores a device are no multiple of {size}"
    return ""
