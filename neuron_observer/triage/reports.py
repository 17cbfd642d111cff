"""What reports of neuron-monitor and listings of neuron-ls say, as sightings of `reports.yaml`."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import Missing
from neuron_observer.parsers.neuron_ls_listing import Outcome
from neuron_observer.text import count_text
from neuron_observer.triage.facts import Sighting
from neuron_observer.triage.heads import Head

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.model import Cell, Scalar
    from neuron_observer.parsers.monitor_report import MonitorReport, Runtime
    from neuron_observer.parsers.neuron_ls_listing import ListedDevice, NeuronListing
    from neuron_observer.rules.pattern import Pattern


class Where(NamedTuple):
    """Where a report stands."""

    source: int
    line: int


_ECC = (
    ("sram_uncorrected", "monitor-sram-uncorrected", "sram_ecc_uncorrected"),
    ("mem_uncorrected", "monitor-mem-uncorrected", "mem_ecc_uncorrected"),
    ("sram_corrected", "monitor-ecc-corrected", "sram_ecc_corrected"),
    ("mem_corrected", "monitor-ecc-corrected", "mem_ecc_corrected"),
)
_OUTCOMES = (
    ("timed_out", "monitor-timed-out"),
    ("completed_with_err", "monitor-completed-with-err"),
    ("completed_with_num_err", "monitor-numerical"),
)
_ERRORS = (("hardware", "monitor-hardware-errors"), ("generic", "monitor-generic"))


def monitor_sightings(
    report: MonitorReport, where: Where, rows: Mapping[str, Pattern]
) -> Iterator[Sighting]:
    """What one report says; a group that is missing says nothing."""
    node = report.instance.get("instance_name") or report.instance.get("instance_id")
    head = Head(node=node)
    yield Sighting(rows["monitor-healthy"], *where, b"a report of neuron-monitor", head)
    if not isinstance(report.ecc, Missing):
        for device, counts in sorted(report.ecc.items()):
            for attribute, row, name in _ECC:
                count = _count(getattr(counts, attribute))
                if count:
                    text = f"{name} of device {device} is {count}"
                    fields: dict[str, Scalar] = {name: count}
                    yield Sighting(rows[row], *where, text.encode(), head, device, fields=fields)
    if not isinstance(report.runtimes, Missing):
        for runtime in report.runtimes:
            yield from _runtime_sightings(runtime, where, rows, node)


def _runtime_sightings(
    runtime: Runtime, where: Where, rows: Mapping[str, Pattern], node: str | None
) -> Iterator[Sighting]:
    head = Head(node=node, pid=runtime.pid)
    executions = runtime.executions
    for cells, table in ((executions.outcomes, _OUTCOMES), (executions.errors, _ERRORS)):
        for name, row in table:
            count = _count(cells.get(name))
            if count:
                text = f"{name} of process {runtime.pid} is {count} in one period"
                yield Sighting(rows[row], *where, text.encode(), head, fields={name: count})


def _count(cell: Cell | None) -> int:
    return cell if isinstance(cell, int) else 0


def listing_sightings(
    listing: NeuronListing, where: Where, rows: Mapping[str, Pattern]
) -> Iterator[Sighting]:
    """What a listing says: who holds a device, and which device number is missing."""
    if listing.outcome is not Outcome.OK:
        return
    head = Head(node=listing.instance_id)
    text = f"neuron-ls lists {count_text(len(listing.devices), 'device', 'devices')}"
    yield Sighting(rows["listing-read"], *where, text.encode(), head)
    for device in listing.devices:
        yield from _holders(device, where, rows, head)
    indices = sorted(device.index for device in listing.devices)
    for before, after in pairwise(indices):
        for missing in range(before + 1, after):
            text = f"device {missing} is not listed, {before} and {after} are"
            yield Sighting(rows["listing-gap"], *where, text.encode(), head, missing)


def _holders(
    device: ListedDevice, where: Where, rows: Mapping[str, Pattern], head: Head
) -> Iterator[Sighting]:
    ids = device.core_ids or ()
    cores = f"{ids[0]}-{ids[-1]}" if ids else "unknown"
    for process in device.jobs:
        unseen = process.command is None
        row = rows["listing-held-unseen" if unseen else "listing-held"]
        text = f"device {device.index} (cores {cores}) is held by pid {process.pid}"
        fields: dict[str, Scalar] = {"pid": process.pid}
        if ids:
            fields |= {"first_core": ids[0], "last_core": ids[-1]}  # logical, of the node
        if process.command:
            fields["command"] = process.command
        yield Sighting(
            row, *where, text.encode(), head._replace(pid=process.pid), device.index, fields=fields
        )
