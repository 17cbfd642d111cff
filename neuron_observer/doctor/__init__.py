"""What cannot be read on this host, why, and which driver, privilege or setting brings it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.chips import LIVE_SINCE, NEWEST_CHECKED
from neuron_observer.collectors.discovery import moved
from neuron_observer.collectors.identity import missing_indexes
from neuron_observer.collectors.plan import version_text
from neuron_observer.doctor.surroundings import Note, surroundings
from neuron_observer.model import NODE, Missing, Value, Why
from neuron_observer.parsers.sysfs import ALL_ONES
from neuron_observer.readings import columns, reading
from neuron_observer.text import cell_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Place, Snapshot
    from neuron_observer.observer import HostReader

_OFF_THE_BUS = "dmesg tells since when; only a reboot or stop and start can bring a device back"


class Gap(NamedTuple):
    """Metrics that are missing for one reason, and what brings them."""

    why: Why
    detail: str
    metrics: tuple[str, ...]
    places: int
    remedy: str


class Report(NamedTuple):
    """Everything that `doctor` says."""

    notes: tuple[Note, ...]
    gaps: tuple[Gap, ...]

    @property
    def problems(self) -> int:
        """How many things are wrong with this host or its reading."""
        return sum(note.problem for note in self.notes)


def is_neuron_host(topology: Topology) -> bool:
    """Whether anything of Neuron is here."""
    return bool(topology.devices or topology.functions or topology.driver.state != "absent")


def examine(reader: HostReader, snapshot: Snapshot) -> Report:
    """Look at a reader and what it read."""
    gaps = tuple(_gaps(snapshot))
    notes = (
        *_driver(reader.topology),
        *_devices(reader.topology),
        *_layout(reader),
        *_signatures(snapshot),
        *_failed(gaps),
        *_runs(snapshot),
        *surroundings(reader),
        *_own(snapshot),
    )
    return Report(notes, gaps)


def _driver(topology: Topology) -> Iterator[Note]:
    driver = topology.driver
    if driver.state == "absent":
        unused = (
            f" for {len(topology.functions)} Neuron PCI functions" if topology.functions else ""
        )
        needed = bool(topology.functions or topology.expected)
        yield Note("driver", needed, f"not loaded{unused}", "modprobe neuron; dmesg tells why not")
        return
    text = f"{driver.version or 'version unknown'}, {driver.state}"
    if topology.loading:
        yield Note("driver", True, text, "Wait: it probes its devices; with a dead one for minutes")
    elif driver.state != "live":
        yield Note("driver", True, text, "lsmod and dmesg tell more")
    else:
        yield Note("driver", False, text)
    if not topology.checked:
        newest = version_text(NEWEST_CHECKED)
        yield Note(
            "driver",
            False,
            f"not one whose files were checked (up to {newest}): nodes are found by name, and what"
            " they say of hardware is taken with care",
            "`neuron-observer capture` makes the file that would let us check it",
        )
    if topology.version and topology.version < LIVE_SINCE:
        yield Note(
            "driver",
            False,
            "execution counters move only when a process exits",
            f"Driver {version_text(LIVE_SINCE)} or later shows them live; neuron-monitor does too",
        )


def _devices(topology: Topology) -> Iterator[Note]:
    shown = len(topology.devices) + len(topology.hidden)
    expected = topology.expected
    kind = topology.instance_type or "unknown instance type"
    of = f" of {expected}" if expected is not None else ""
    missing = () if topology.loading else missing_indexes(topology) or ()
    names = ", ".join(f"neuron{index}" for index in missing)
    bound = sum(function.bound for function in topology.functions)
    lacking = expected is not None and shown < expected and not topology.loading
    text = f"{kind}: {shown}{of} in sysfs, {len(topology.functions)} PCI functions, {bound} bound"
    unbound = [function.address for function in topology.functions if not function.bound]
    remedy = f"missing: {names}" if names else "which one is missing cannot be told here"
    if unbound:
        remedy += f"; not bound: {', '.join(unbound)}"
    yield Note("devices", lacking or bool(unbound), text, remedy if lacking or unbound else "")
    if topology.hidden:
        yield Note(
            "devices",
            False,
            f"{len(topology.hidden)} devices of the host have no /dev node in this container",
            "--all-devices shows them too",
        )
    for problem in topology.problems:
        yield Note("layout", False, problem)


def _layout(reader: HostReader) -> Iterator[Note]:
    devices = reader.topology.devices
    elsewhere = [(known, found) for device in devices for known, found in moved(device.tree)]
    if elsewhere:
        known, found = elsewhere[0]
        yield Note(
            "layout",
            False,
            f"{len(elsewhere)} nodes stand at new paths, e.g. {known} is now {found}",
            "Read all the same; path_map in the configuration overrides",
        )
    unknown = [path for device in devices for path in device.tree.unknown]
    if unknown:
        yield Note(
            "layout", False, f"{len(unknown)} files not known here, e.g. {', '.join(unknown[:3])}"
        )
    for device in devices:
        for error in device.tree.errors:
            yield Note("layout", True, f"neuron{device.number}: {error}")


def _signatures(snapshot: Snapshot) -> Iterator[Note]:
    fallen = _places(snapshot, ALL_ONES)
    if fallen:
        listed = ", ".join(f"neuron{device}" for device in fallen)
        yield Note("devices", True, f"fell off the bus (all-ones reads): {listed}", _OFF_THE_BUS)
    silent = [
        place.device
        for _, place, cell in columns(snapshot.batches, "device.firmware.answering")
        if cell == 0
    ]
    if silent:
        listed = ", ".join(f"neuron{device}" for device in silent)
        yield Note("devices", True, f"firmware not answering in time: {listed}", "See dmesg")


def _places(snapshot: Snapshot, detail: str) -> list[int]:
    found: set[int] = set()
    for batch in snapshot.batches:
        if batch.device is not None and any(
            isinstance(cell, Missing) and cell.detail == detail for cell in batch.cells
        ):
            found.add(batch.device)
    return sorted(found)


def _failed(gaps: tuple[Gap, ...]) -> Iterator[Note]:
    for gap in gaps:
        if gap.why is Why.FAILED or (gap.why is Why.UNSUPPORTED and "ambiguous" in gap.detail):
            some = ", ".join(gap.metrics[:3]) + (" …" if len(gap.metrics) > 3 else "")
            text = f"{some} at {gap.places} places: {gap.detail}"
            yield Note("readings", True, text, gap.remedy)


def _runs(snapshot: Snapshot) -> Iterator[Note]:
    for run in snapshot.runs:
        if not run.ok:
            yield Note("collectors", True, f"{run.collector}: {run.error}", "This is our bug")


def _own(snapshot: Snapshot) -> Iterator[Note]:
    """What this look itself cost, and what of it took longest."""
    runs = sorted(snapshot.runs, key=lambda run: -run.seconds)
    well = sum(run.ok for run in runs)
    slowest = ", ".join(f"{run.collector} {run.seconds * 1e3:.0f} ms" for run in runs[:3])
    yield Note("observer", False, f"{well} of {len(runs)} collectors succeeded; longest: {slowest}")
    found = {
        name: reading(snapshot.batches, f"observer.{name}", NODE)
        for name in ("cpu_user", "cpu_system", "resident_memory", "kernel_memory")
    }
    cost = {name: one.value for name, one in found.items() if isinstance(one, Value)}
    if not cost:  # a recording is of another program
        return
    told = [
        f"{name.replace('_', ' ')} {cell_text(value, unit)}"
        for name, value in cost.items()
        for unit in (METRICS[f"observer.{name}"].unit,)
    ]
    missing = found["kernel_memory"]
    if isinstance(missing, Missing):
        told.append(f"kernel memory unknown: {missing.detail}")
    yield Note("observer", False, "; ".join(told))


def _gaps(snapshot: Snapshot) -> Iterator[Gap]:
    grouped: dict[Missing, dict[str, list[Place]]] = {}
    for metric in METRICS:
        for _, place, cell in columns(snapshot.batches, metric):
            if isinstance(cell, Missing):
                grouped.setdefault(cell, {}).setdefault(metric, []).append(place)
    for cell, metrics in grouped.items():
        places = sum(map(len, metrics.values()))
        yield Gap(cell.why, cell.detail, tuple(metrics), places, _remedy(cell))


# How a reason begins, or what it contains, and what would bring the value
_REMEDIES = (
    ("ambiguous", "Say which file it is: path_map in the configuration"),
    (
        "not found in the tree",
        "If the driver has it elsewhere under another name: path_map in the configuration",
    ),
    (
        "only when a process exits",
        "Update aws-neuronx-dkms to 2.30.2 or later, or read neuron-monitor",
    ),
    (
        "no figures since",
        "The driver publishes once a minute: is the device ready, the clock right?",
    ),
)


def _remedy(cell: Missing) -> str:
    if cell.why is Why.DENIED:
        return (
            "Root or CAP_DAC_READ_SEARCH brings it, nothing else here needs either; driver 2.28"
            " and later let everybody read core_count and connected_devices"
        )
    if cell.detail.startswith("needs driver"):
        return f"Update aws-neuronx-dkms to {cell.detail.split()[2]} or later"
    return next((remedy for sign, remedy in _REMEDIES if sign in cell.detail), "")
