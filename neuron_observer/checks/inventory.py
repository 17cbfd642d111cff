"""What a host has against what its instance type should have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.catalogue.chips import CHIPS, is_checked
from neuron_observer.checks.aside import MEANING, STATE_SET_ASIDE
from neuron_observer.collectors.identity import missing_indexes
from neuron_observer.jobs.impact import leftovers
from neuron_observer.jobs.ownership import ranges
from neuron_observer.model import (
    NODE,
    Action,
    Confidence,
    Entity,
    Evidence,
    Finding,
    Missing,
    Severity,
)
from neuron_observer.readings import reading
from neuron_observer.rules.findings import BEFORE_WATCHED
from neuron_observer.stragglers.meanings import MEANINGS as OF_JOBS
from neuron_observer.text import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.catalogue.spec import Version
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Snapshot

# Runtime release notes: runtime 2.32 and later with drivers up to 2.26; driver 2.29 and later with
# runtimes before 2.33. Which runtime a process uses is in no file below /sys.
_OLD_DRIVER, _NEW_DRIVER = (2, 26), (2, 29)
PLACES = ("ultraserver.mode", "ultraserver.node_id", "ultraserver.node_count")

CORES_MISSING = "cores-missing"
MEANINGS = {
    **OF_JOBS,
    STATE_SET_ASIDE: MEANING,
    BEFORE_WATCHED: (
        "Counters of the driver or of the network were not 0 when watching began. What they count"
        " happened before, and nobody can say when; from then on what is added to them is judged."
        " It is information and counts for nothing. What to do: nothing."
    ),
    CORES_MISSING: (
        "A chip shows fewer cores below /sys than its kind has. The driver makes one folder a core"
        " while it loads, so this load was not complete. What to do: look for `neuron` lines in"
        " dmesg, then reload the driver (modprobe -r neuron; modprobe neuron) or reboot."
    ),
    "device-held": (
        "A process of a job that has ended still holds a device open, so the next job may not get"
        " its cores. The device itself is well: nothing is to be replaced. What to do: end the"
        " process; one that cannot be ended (state D or Z) goes with a reboot only."
    ),
}


class Item(NamedTuple):
    """One thing that was compared; `right` is None where it cannot be told."""

    topic: str
    right: bool | None
    text: str


def take(topology: Topology, snapshot: Snapshot) -> tuple[Item, ...]:
    """Devices, cores, PCI functions, driver, UltraServer and leftovers."""
    return (
        _devices(topology),
        *_cores(snapshot),
        *_functions(topology),
        _driver(topology),
        *_ultraserver(topology, snapshot),
        *_held(snapshot),
    )


def _devices(topology: Topology) -> Item:
    shown, hidden = len(topology.devices), len(topology.hidden)
    kind = topology.instance_type or "unknown instance type"
    inside = f"; {hidden} more have no /dev node in this container" if hidden else ""
    if topology.expected is None:
        return Item(
            "devices", None, f"{shown}; how many there should be is not known ({kind}){inside}"
        )
    missing = missing_indexes(topology)
    gone = f"; missing: {', '.join(f'neuron{n}' for n in missing)}" if missing else ""
    right = None if topology.loading else shown + hidden == topology.expected
    loading = "; the driver is still loading" if topology.loading else ""
    text = f"{shown + hidden} of {topology.expected} ({kind}){gone}{loading}{inside}"
    return Item("devices", right, text)


def _cores(snapshot: Snapshot) -> Iterator[Item]:
    devices = [device for device in snapshot.devices if device.name in CHIPS]
    if not devices:
        return
    should = {device.index: CHIPS[device.name or ""].cores for device in devices}
    off = [one for one in devices if len(one.cores) != should[one.index]]
    counts = ranges(sorted({len(device.cores) for device in devices}))
    text = f"{sum(len(one.cores) for one in devices)} physical, {counts} a device"
    if off:
        first = off[0]
        text += f"; neuron{first.index} has {len(first.cores)} of {should[first.index]}"
    yield Item("cores", not off, text)


def _functions(topology: Topology) -> Iterator[Item]:
    functions = topology.functions
    unbound = [function.address for function in functions if not function.bound]
    if not functions and topology.devices:
        yield Item("pci", None, "no Neuron function can be seen below /sys/bus/pci")
    elif functions:
        left = f"; not bound to the driver: {', '.join(unbound)}" if unbound else ""
        count = len(functions)
        short = topology.expected is not None and count < topology.expected
        of = f" of {topology.expected}" if topology.expected is not None else ""
        text = f"{count}{of} functions, {count - len(unbound)} bound{left}"
        yield Item("pci", not unbound and not short, text)


def _driver(topology: Topology) -> Item:
    driver = topology.driver
    if driver.state == "absent":
        return Item("driver", False if topology.expected else None, "not loaded")
    text = f"{driver.version or 'of unknown version'} {driver.state}"
    if not is_checked(topology.version):
        text += "; not one whose files were checked: hardware findings are no more than probable"
    return Item("driver", driver.state == "live", text + _runtimes(topology.version))


def _runtimes(version: Version | None) -> str:
    """Which runtimes a driver does not go with."""
    if version is None:
        return ""
    if version[:2] <= _OLD_DRIVER:
        return "; does not go with runtimes from 2.32 on"
    return "; does not go with runtimes before 2.33" if version[:2] >= _NEW_DRIVER else ""


def _ultraserver(topology: Topology, snapshot: Snapshot) -> Iterator[Item]:
    if not (topology.instance_type or "").startswith(("trn2u.", "trn3")):
        return
    found = [(metric, reading(snapshot.batches, metric, NODE)) for metric in PLACES]
    values = [(m, cell.value) for m, cell in found if not isinstance(cell, Missing)]
    if values:
        told = ", ".join(f"{m.partition('.')[2].replace('_', ' ')} {value}" for m, value in values)
        yield Item("ultraserver", None, told)
    else:
        yield Item("ultraserver", None, "its place cannot be read here")


def _held(snapshot: Snapshot) -> Iterator[Item]:
    scan = snapshot.job_scan
    if scan is None:
        return
    held = leftovers(snapshot.jobs)
    denied = count_text(scan.denied, "process", "processes")
    unseen = f"; descriptors of {denied} may not be listed" if scan.denied else ""
    if held:
        pids = "; ".join(dict.fromkeys(one.message for one in held))
        yield Item("leftovers", False, pids + unseen)
    else:
        right = None if scan.denied or not scan.processes else True
        yield Item("leftovers", right, f"no process of a dead job holds a device{unseen}")


def cores_missing(snapshot: Snapshot) -> tuple[Finding, ...]:
    """Devices with fewer cores than their chip has; no rule counts folders."""
    return tuple(
        Finding(
            id=CORES_MISSING,
            entity=Entity("device", device=device.index, serial=device.serial),
            severity=Severity.WARNING,
            confidence=Confidence.PROBABLE,
            action=Action.RELOAD_DRIVER,
            message=f"neuron{device.index} shows {len(device.cores)} of {of} cores",
            confirm_by=(f"ls -d /sys/devices/virtual/neuron_device/neuron{device.index}/*core*",),
            evidence=(
                Evidence("counter", "hardware", f"neuron{device.index}/neuron_core*", found, of),
            ),
        )
        for device in snapshot.devices
        if snapshot.driver.state == "live" and device.name in CHIPS
        for found, of in [(len(device.cores), CHIPS[device.name].cores)]
        if found < of
    )
