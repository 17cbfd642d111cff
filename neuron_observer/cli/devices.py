"""`devices`: one line a device; a dash with a letter where something is missing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.chips import GIB
from neuron_observer.cli.asking import named
from neuron_observer.cli.hosts import make_judge, open_reader
from neuron_observer.cli.options import connect_options, host_options
from neuron_observer.collectors.identity import missing_indexes
from neuron_observer.model import NODE, Frame, Missing, Place, Why
from neuron_observer.oneshot import NOT_JUDGED, read_once
from neuron_observer.readings import ABSENT, find
from neuron_observer.text import Footnotes, cell_text, printable, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.client import Client
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Batch, Cell, Device, Driver, Snapshot
    from neuron_observer.observer import HostReader

HEADS = ("DEV", "CHIP", "SERIAL", "NC", "HBM GiB", "UTIL", "POWER", "UE", "REP", "CE", "FIRMWARE")
_RIGHT = (True, False, False, True, True, True, True, True, True, True, False)
_LEGEND = (
    "NC physical cores; HBM in use / of the chip; POWER mean share of the maximum;"
    "\nUE uncorrected, REP repairable, CE corrected ECC errors of HBM and SRAM together"
    "\nFIRMWARE components that it calls unhealthy; the verdict: devices --health, or check"
)
_ECC = {
    "UE": ("device.sram.ecc_uncorrected", "device.hbm.ecc_uncorrected"),
    "REP": ("device.hbm.ecc_repairable_uncorrected",),
    "CE": ("device.sram.ecc_corrected", "device.hbm.ecc_corrected"),
}
# Driver 2.30.2 neuron_metrics.c: its cache of the health registers starts as zeros
_NEVER_FILLED = Missing(
    Why.NOT_YET, "no fault named, but heartbeat 0: the driver may never have asked the firmware"
)
# Everything else that the driver shows is left unread: a glance must be cheap.
_READ = frozenset(
    {
        "device.name",
        "device.arch",
        "device.serial",
        "device.connected_devices",
        "device.firmware.api_version",
        "device.power.status",
        "device.power.epoch",
        "device.power.mean",
        "device.health.unhealthy_components",
        "device.health.heartbeat",
        "core.arch",
        "core.hbm.used",
        "core.inferences",
        "core.time_in_use",
        *(metric for metrics in _ECC.values() for metric in metrics),
    }
)


@click.command()
@connect_options
@host_options
@click.option("--health", is_flag=True, help="Judge each device too, as `check` does.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(
    *, host_root: str, config_file: str | None, all_devices: bool, health: bool, form: str
) -> None:
    """Show chip, serial number, cores, HBM, utilisation, power, ECC and what firmware names.

    Utilisation is that of 300 ms. What is missing is a dash whose letter is explained below. The
    verdict on each device costs a second look and the rules: --health, or `check`.
    """
    client = named()
    if client is not None:
        _by_daemon(client, form, judged=health)
        return
    reader = open_reader(
        host_root,
        config_file,
        all_devices=all_devices,
        thorough=False,
        only=None if health else _read(form),
        kernel_log=health,
        one_shot=health,
    )
    try:
        frame = _look(reader, config_file, judged=health)
        topology = reader.topology
    finally:
        reader.close()
    if form == "json":
        _print_json(frame, topology)
        return
    click.echo(headline(topology))
    for line in (*_table(frame, judged=health), *remarks(topology)):
        click.echo(line)


def _read(form: str) -> frozenset[str]:
    """What is read of the host; the document tells of more than the table."""
    if form != "json":
        return _READ
    from neuron_observer.checks.inventory import PLACES  # noqa: PLC0415 - only for JSON

    return _READ.union(PLACES)


def _by_daemon(client: Client, form: str, *, judged: bool) -> None:
    """The same table from a daemon's frame; what is wrong with the inventory stands below."""
    document = client.get("devices")
    if form == "json":
        import json  # noqa: PLC0415 - only for JSON

        click.echo(json.dumps(document, indent=1))
        return
    from neuron_observer.client.frames import frame  # noqa: PLC0415 - only for a daemon's
    from neuron_observer.clock import SystemClock  # noqa: PLC0415 - the same

    whole = frame(client.get("snapshot"), SystemClock().monotonic())
    snapshot = whole.snapshot
    expected = find(snapshot.batches, "node.devices_expected", NODE)
    of = expected[0].cells[expected[1]] if expected else None
    kind, driver = snapshot.instance_type, snapshot.driver
    click.echo(_head(kind, driver, len(snapshot.devices), of if isinstance(of, int) else None))
    for line in _table(whole, judged=judged):
        click.echo(line)
    for item in document["inventory"]:
        if item["right"] is False:
            click.echo(printable(f"WRONG: {item['topic']}: {item['text']}"))


def _look(reader: HostReader, config_file: str | None, *, judged: bool) -> Frame:
    if judged:
        from neuron_observer.checks.judging import look  # noqa: PLC0415 - costs yaml

        return look(reader, partial(make_judge, config_file)).frame
    return Frame(read_once(reader, ("fast", "normal", "slow", "firmware")), (), NOT_JUDGED)


def _table(frame: Frame, *, judged: bool) -> Iterator[str]:
    snapshot, notes = frame.snapshot, Footnotes()
    rows = [_row(snapshot, device, notes) for device in snapshot.devices]
    heads = list(HEADS)
    if judged:
        heads.append("HEALTH")
        verdicts = {one.index: one for one in frame.health.devices}
        for row, device in zip(rows, snapshot.devices, strict=True):
            row.append(verdicts[device.index].verdict.value)
    if rows:
        yield table(heads, rows, _RIGHT)
        yield "\n".join(["", _LEGEND, *notes.lines()])
    if judged:
        yield f"{frame.health.verdict.value}: {printable(frame.health.reason)}"


def _print_json(frame: Frame, topology: Topology) -> None:
    import json  # noqa: PLC0415 - only for JSON

    from neuron_observer import contract  # noqa: PLC0415 - the same
    from neuron_observer.checks.devices import devices_document  # noqa: PLC0415 - the same

    told = devices_document(frame, topology)
    if frame.health is not NOT_JUDGED:
        told["health"] = contract.health(frame.health)
    click.echo(json.dumps(told, indent=1))


def _row(snapshot: Snapshot, device: Device, notes: Footnotes) -> list[str]:
    place = Place(device.index)
    batches = [b for b in snapshot.batches if b.device in (device.index, None)]

    def show(metric: str, unit: str = "") -> str:
        cell = _cell(batches, metric, place)
        if isinstance(cell, Missing):
            return notes.mark(cell)
        return f"{int(cell) / GIB:.3g}" if unit == "GiB" else cell_text(cell, unit)

    return [
        str(device.index),
        show("device.name"),
        show("device.serial"),
        str(len(device.cores)),
        f"{show('device.hbm.used', 'GiB')}/{show('device.hbm.capacity', 'GiB')}",
        show("device.utilization", "ratio"),
        show("device.power.mean", "percent"),
        *(_sum(batches, metrics, place, notes) for metrics in _ECC.values()),
        _firmware(batches, place, notes),
    ]


def _cell(batches: list[Batch], metric: str, place: Place) -> Cell:
    found = find(batches, metric, place)
    return found[0].cells[found[1]] if found else ABSENT


def _sum(batches: list[Batch], metrics: tuple[str, ...], place: Place, notes: Footnotes) -> str:
    name = _cell(batches, "device.name", place)
    if name in METRICS[metrics[0]].constant_on:
        return notes.mark(Missing(Why.UNSUPPORTED, f"the driver always prints 0 on {name}"))
    cells = [_cell(batches, metric, place) for metric in metrics]
    for cell in cells:
        if isinstance(cell, Missing):
            return notes.mark(cell)
    return str(sum(cell for cell in cells if isinstance(cell, int)))


def _firmware(batches: list[Batch], place: Place, notes: Footnotes) -> str:
    components = _cell(batches, "device.health.unhealthy_components", place)
    if isinstance(components, Missing):
        return notes.mark(components)
    if not components and _cell(batches, "device.health.heartbeat", place) == 0:
        return notes.mark(_NEVER_FILLED)
    return str(components) or "ok"


def headline(topology: Topology) -> str:
    """Instance type, driver and how many devices of how many."""
    kind, shown = topology.instance_type, len(topology.devices)
    return _head(kind, topology.driver, shown, topology.expected)


def _head(kind: str | None, driver: Driver, shown: int, expected: int | None) -> str:
    known = f"driver {driver.version or 'of unknown version'} {driver.state}"
    if driver.state == "absent":
        known = "driver not loaded"
    count = str(shown) if expected is None else f"{shown} of {expected}"
    return printable(f"{kind or 'instance type unknown'} · {known} · {count} devices")


def remarks(topology: Topology) -> list[str]:
    """What a reader must know before counting devices."""
    lines = [f"note: {problem}" for problem in topology.problems]
    if topology.loading:
        lines.append("note: the driver is loading; devices appear one by one")
    if topology.hidden:
        shown = len(topology.devices)
        listed = ", ".join(f"neuron{index}" for index in topology.hidden)
        lines.append(
            f"note: this container can open {shown} of {shown + len(topology.hidden)} devices;"
            f" not shown: {listed} (--all-devices shows them)"
        )
    missing = missing_indexes(topology)
    unbound = [function.address for function in topology.functions if not function.bound]
    if missing:
        where = f"; PCI function not bound: {', '.join(unbound)}" if unbound else ""
        where = where or "; its PCI address is not known: no Neuron function is unbound"
        listed = ", ".join(f"neuron{index}" for index in missing)
        lines.append(f"MISSING: {listed}{where}")
    elif unbound:
        lines.append(f"UNBOUND: PCI functions without driver: {', '.join(unbound)}")
    if not topology.devices and not topology.functions and topology.driver.state == "absent":
        lines.append("no Neuron device, driver or PCI function here")
    return lines
