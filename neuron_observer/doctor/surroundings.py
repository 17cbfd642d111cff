"""What stands around the devices: neuron-monitor, kernel log, descriptors, EFA, temperatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.sources.listing import ListingFs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.collectors.heartbeats import HeartbeatCollector
    from neuron_observer.collectors.machine import MachineReader
    from neuron_observer.observer import HostReader

MONITOR = "opt/aws/neuron/bin/neuron-monitor"
KERNEL_BYTES_PER_DESCRIPTOR = 4_800  # measured: 0.63 KiB at open and 4.0 KiB at the first read
_OWN_DESCRIPTORS = 64
MOST_REFUSED = 8  # heartbeat files that are told one by one


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
    if reader.ranks:
        yield from _ranks(reader.ranks.heartbeats)
    if reader.machine:
        yield from _adapters(reader.machine)
        yield _temperatures(reader)


_GIVES = (
    "latency, figures a process and a logical core; on drivers before 2.30.2 the only live"
    " utilisation"
)
_COSTS = (
    "A child of ours takes one of 16 slots of each device and blocks a driver reload while it runs"
)


def _monitor(reader: HostReader) -> Note:
    monitor = reader.live.monitor if reader.live else None
    if monitor is None:
        here = "found" if _exists(reader, MONITOR) else "not found"
        return Note(
            "monitor",
            False,
            f"neuron-monitor: {here}; monitor.mode is off",
            f"--monitor pipe, FILE or child gives {_GIVES}. {_COSTS}; a pipe or file costs nothing",
        )
    sample, mode = monitor.sample, monitor.feed.mode
    state = sample.state.value if sample else "waiting"
    counts = f"{sample.counts.reports} reports, {sample.counts.bad} other lines" if sample else ""
    age = f", the last {sample.age:.0f} s old" if sample and sample.age is not None else ""
    error = f"; {sample.error}" if sample and sample.error else ""
    text = f"mode {mode}: {state}; {counts}{age}{error}"
    if sample and sample.report:
        return Note("monitor", False, text, _COSTS if mode == "child" else "")
    remedy = (
        "Is neuron-monitor running and writing there? A file must grow: old reports do not count"
    )
    return Note("monitor", True, text, _CHILD_REMEDY if mode == "child" else remedy)


_CHILD_REMEDY = f"It must be at /{MONITOR} and be allowed to open /dev/neuron*"


def _exists(reader: HostReader, path: str) -> bool:
    try:
        reader.host.lstat(path)
    except OSError:
        return False
    return True


def _kernel_log(reader: HostReader) -> Note:
    if isinstance(reader.host, ListingFs):
        kept = sum(len(one.kernel) for one in reader.host.listing.passes)
        return Note("kernel log", False, f"{kept} lines in this file")
    try:
        reader.host.read("dev/kmsg", 8192)
    except BlockingIOError:
        pass  # readable, and nothing is in it
    except FileNotFoundError:
        return Note("kernel log", False, "no /dev/kmsg below this root")
    except OSError as error:
        if reader.host.root == "/" and _by_syslog():
            text = "readable by syslog(2), without numbers: lost lines cannot be counted"
            return Note("kernel log", False, text)
        text = f"not readable: {error.strerror}"
        return Note("kernel log", False, text, "CAP_SYSLOG or root brings it")
    return Note("kernel log", False, "readable")


def _by_syslog() -> bool:
    from neuron_observer.sources.kernel import (  # noqa: PLC0415 - costs ctypes
        SYSLOG_ACTION_SIZE_BUFFER,
        klogctl,
    )

    try:
        klogctl(SYSLOG_ACTION_SIZE_BUFFER, 0)
    except OSError:
        return False
    return True


def _descriptors(reader: HostReader) -> Note:
    wanted = reader.keepable
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


def _ranks(heartbeats: HeartbeatCollector) -> Iterator[Note]:
    """Whose step hook is heard, and which files are not taken, with the reason."""
    folder = heartbeats.folder
    if not heartbeats.present:
        remedy = "docs/hook.md; `install-service` makes the folder at boot, sticky and for all"
        yield Note("ranks", False, f"/{folder} is not there: no job can tell its steps", remedy)
        return
    heard = len(heartbeats.beats)
    yield Note("ranks", False, f"{heard} ranks are heard by their step hook, in /{folder}")
    for name, why in list(heartbeats.refused.items())[:MOST_REFUSED]:
        yield Note("ranks", False, f"{name} is not taken: {why}")
    more = len(heartbeats.refused) - MOST_REFUSED + heartbeats.left_out
    if more > 0:
        yield Note("ranks", False, f"{more} more files are not taken")
