"""What stands around the devices: neuron-monitor, kernel log, descriptors, EFA, temperatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.collectors.machine import MachineReader
    from neuron_observer.observer import HostReader

MONITOR = "opt/aws/neuron/bin/neuron-monitor"
KERNEL_BYTES_PER_DESCRIPTOR = 4_800  # measured: 0.63 KiB at open and 4.0 KiB at the first read
_OWN_DESCRIPTORS = 64


class Note(NamedTuple):
    """One line of the report."""

    topic: str
    problem: bool
    text: str
    remedy: str = ""


def surroundings(reader: HostReader) -> Iterator[Note]:
    """Notes on everything but the devices and the driver."""
    yield _monitor(reader)
    yield _kernel_log(reader)
    yield _descriptors(reader)
    if reader.machine:
        yield from _adapters(reader.machine)
        yield _temperatures(reader)


def _monitor(reader: HostReader) -> Note:
    here = "found" if _exists(reader, MONITOR) else "not found"
    return Note(
        "monitor",
        False,
        f"neuron-monitor: {here}; monitor.mode is off",
        "Without it: no latency, no figures a process, on drivers before 2.30.2 no live"
        " utilisation. A child of ours would take one of 16 slots of each device and block a"
        " driver reload",
    )


def _exists(reader: HostReader, path: str) -> bool:
    try:
        reader.host.lstat(path)
    except OSError:
        return False
    return True


def _kernel_log(reader: HostReader) -> Note:
    try:
        reader.host.read("dev/kmsg", 8192)
    except BlockingIOError:
        pass  # readable, and nothing is in it
    except FileNotFoundError:
        return Note("kernel log", False, "no /dev/kmsg below this root")
    except OSError as error:
        text = f"not readable: {error.strerror}"
        return Note("kernel log", False, text, "CAP_SYSLOG or root brings it")
    return Note("kernel log", False, "readable")


def _descriptors(reader: HostReader) -> Note:
    wanted = sum(
        len(lanes[lane].targets)
        for _, lanes in reader.plans.values()
        for lane in ("fast", "normal")
        if lane in lanes
    )
    mib = wanted * KERNEL_BYTES_PER_DESCRIPTOR / 2**20
    limit = reader.descriptor_limit
    short = limit is not None and limit < wanted + _OWN_DESCRIPTORS
    return Note(
        "descriptors",
        short,
        f"{reader.kept} held now; a daemon keeps {wanted}, {mib:.0f} MiB of kernel memory; the"
        f" limit is {'unknown' if limit is None else limit}",
        f"LimitNOFILE={wanted + _OWN_DESCRIPTORS} or more" if short else "",
    )


def _adapters(machine: MachineReader) -> Iterator[Note]:
    found = machine.efa.found
    for name, driver in found.others:
        yield Note("efa", False, f"{name} is no EFA: its driver is {driver}")
    if not found.efa:
        yield Note("efa", False, found.reason or "no adapter")
    for place in machine.efa.efa_map():
        near = ", ".join(place.functions)
        nearest = f"nearest Neuron functions by {place.by}: {near}" if near else ""
        where = f"{place.adapter} at {place.address or 'unknown address'}"
        numa = f"NUMA node {place.numa}" if place.numa is not None else "NUMA node unknown"
        yield Note("efa", False, "; ".join(filter(None, (where, numa, nearest))))
    ignored = machine.efa.ignored
    if ignored:
        some = ", ".join(ignored[:3])
        yield Note("efa", False, f"{len(ignored)} counters not known here, e.g. {some}")


def _temperatures(reader: HostReader) -> Note:
    devices = len(reader.topology.devices)
    found = reader.temperatures
    if not devices or found == 0:
        return Note("temperature", False, "no driver file gives a device's temperature")
    return Note("temperature", False, f"read of {found} of {devices} devices")
