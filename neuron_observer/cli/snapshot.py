"""`snapshot`: everything that can be read of this host, once."""

from __future__ import annotations

import json

import click

from neuron_observer.catalogue import METRICS
from neuron_observer.cli.options import host_options, open_reader
from neuron_observer.contract import snapshot_document
from neuron_observer.model import Frame, Health, Missing, Place, Snapshot, Verdict
from neuron_observer.observer import ALL_LANES, read_once
from neuron_observer.text import DASH, cell_text

NOT_JUDGED = Health(Verdict.UNKNOWN, "only read, not judged: no rule was evaluated")


@click.command()
@host_options
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--sources", is_flag=True, help="Say which file each reading comes from.")
@click.option("--skip-expensive", is_flag=True, help="Leave out pe_cntrs: many register reads.")
def command(
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    form: str,
    sources: bool,
    skip_expensive: bool,
) -> None:
    """Print every reading of this host, what is missing and why.

    Two reads 300 ms apart, so that rates are known. Exit code 0 also where nothing is there.
    """
    lanes = [lane for lane in ALL_LANES if lane != "expensive" or not skip_expensive]
    reader = open_reader(host_root, config_file, all_devices=all_devices)
    try:
        snapshot = read_once(reader, lanes)
    finally:
        reader.close()
    if form == "json":
        frame = Frame(snapshot, (), NOT_JUDGED)
        document = snapshot_document(frame, sources=sources)
        places = reader.machine.efa.efa_map() if reader.machine else ()
        document["adapters"] = [place._asdict() for place in places]
        click.echo(json.dumps(document, indent=1))
    else:
        click.echo("\n".join(_lines(snapshot, sources=sources)))


def place_text(place: Place) -> str:
    """`node`, `neuron3`, `neuron3/core1` or the label of a port or function."""
    if place.label:
        return place.label
    if place.device is None:
        return "node"
    return f"neuron{place.device}" + (f"/core{place.core}" if place.core is not None else "")


def _lines(snapshot: Snapshot, *, sources: bool) -> list[str]:
    lines = [f"# {event.kind}: {event.message}" for event in snapshot.events]
    for batch in snapshot.batches:
        for metric, column in batch.layout.columns.items():
            for offset, place in enumerate(column.places):
                row = column.start + offset
                cell = batch.cells[row]
                value = cell_text(cell, METRICS[metric].unit)
                if isinstance(cell, Missing):
                    value = f"{DASH} {cell.why.value}: {cell.detail}"
                source = f"\t{batch.layout.sources[row]}" if sources else ""
                lines.append(f"{place_text(place)}\t{metric}\t{value}{source}")
    return lines
