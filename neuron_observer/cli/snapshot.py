"""`snapshot`: everything that can be read of this host, once."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from neuron_observer.catalogue import METRICS
from neuron_observer.checks.judging import look
from neuron_observer.cli.asking import named
from neuron_observer.cli.hosts import make_judge, open_reader, wait_for_report
from neuron_observer.cli.options import (
    connect_options,
    host_options,
    monitor_feed,
    monitor_option,
    rules_option,
)
from neuron_observer.client.frames import frame as rebuilt
from neuron_observer.clock import SystemClock
from neuron_observer.contract import event as event_document
from neuron_observer.contract import snapshot_document
from neuron_observer.model import NODE, Missing, Place
from neuron_observer.observer import ALL_LANES
from neuron_observer.rules.explain import entity_text
from neuron_observer.text import DASH, cell_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.model import Event, Frame, Snapshot


@click.command()
@connect_options
@host_options
@rules_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--sources", is_flag=True, help="Say which file each reading comes from.")
@monitor_option
@click.option(
    "--kernel-log", is_flag=True, help="Lines of the kernel log too, as far as they are understood."
)
@click.option("--skip-expensive", is_flag=True, help="Leave out pe_cntrs: many register reads.")
def command(  # noqa: PLR0913 - one an option
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    form: str,
    sources: bool,
    skip_expensive: bool,
    kernel_log: bool,
    monitor: str,
    extra: tuple[str, ...],
) -> None:
    """Print every reading of this host, what is missing and why, the verdict and the findings.

    Two reads 300 ms apart, so that rates are known. Exit code 0 also where nothing is there.
    """
    client = named()
    if client is not None:
        document = client.get("snapshot", {"sources": "true" if sources else None})
        whole = rebuilt(document, SystemClock().monotonic())
        _print(_without_lines(whole, keep=kernel_log), document, form, sources=sources)
        return
    lanes = [lane for lane in ALL_LANES if lane != "expensive" or not skip_expensive]
    reader = open_reader(
        host_root,
        config_file,
        all_devices=all_devices,
        kernel_log=True,
        one_shot=True,
        monitor=monitor_feed(monitor, host_root),
    )
    try:
        wait_for_report(reader)
        frame = look(reader, partial(make_judge, config_file, extra), lanes).frame
    finally:
        reader.close()
    frame = _without_lines(frame, keep=kernel_log)
    places = reader.machine.efa.efa_map() if reader.machine else ()
    more = {"adapters": [place._asdict() for place in places]}
    _print(frame, snapshot_document(frame, sources=sources) | more, form, sources=sources)


def _without_lines(frame: Frame, *, keep: bool) -> Frame:
    """Lines of the kernel log are told on request."""
    snapshot = frame.snapshot
    events = tuple(event for event in snapshot.events if keep or "printed_by" not in event.fields)
    return frame._replace(snapshot=snapshot._replace(events=events))


def _print(frame: Frame, document: dict[str, Any], form: str, *, sources: bool) -> None:
    if form == "json":
        told = document | {"events": [event_document(one) for one in frame.snapshot.events]}
        click.echo(json.dumps(told, indent=1))
    else:
        click.echo("\n".join([*_judged(frame), *_lines(frame.snapshot, sources=sources)]))


def place_text(place: Place) -> str:
    """`node`, `neuron3`, `neuron3/core1` or the label of a port or function."""
    if place.label:
        return place.label
    if place.device is None:
        return "node"
    return f"neuron{place.device}" + (f"/core{place.core}" if place.core is not None else "")


def _judged(frame: Frame) -> Iterator[str]:
    health = frame.health
    yield f"# verdict {health.verdict.value}: {printable(health.reason)}"
    for one in frame.findings:
        told = f"{one.severity.value}, {one.confidence.value}, {one.action.value}"
        shadow = ", in shadow: not counted" if one.shadow else ""
        where = entity_text(one.entity)
        hits = f"; hits {printable(one.impact)}" if one.impact else ""
        yield f"# finding {one.id} [{told}{shadow}] {where}: {printable(one.message)}{hits}"


def _event(event: Event) -> str:
    severity, action = event.fields.get("severity"), event.fields.get("action")
    meaning = f" [{severity}, {action}]" if severity else ""
    ours = ", caused by our own reads" if event.fields.get("ours") else ""
    ours += ", written by a program" if event.fields.get("printed_by") == "user" else ""
    where = "" if event.place == NODE else f" {place_text(event.place)}"
    return f"# {event.kind}{meaning}{where}{ours}: {printable(event.message)}"


def _lines(snapshot: Snapshot, *, sources: bool) -> list[str]:
    lines = [_event(event) for event in snapshot.events]
    for batch in snapshot.batches:
        for metric, column in batch.layout.columns.items():
            for offset, place in enumerate(column.places):
                row = column.start + offset
                cell = batch.cells[row]
                value = printable(cell_text(cell, METRICS[metric].unit))
                if isinstance(cell, Missing):
                    value = printable(f"{DASH} {cell.why.value}: {cell.detail}")
                source = f"\t{batch.layout.sources[row]}" if sources else ""
                lines.append(f"{place_text(place)}\t{metric}\t{value}{source}")
    return lines
