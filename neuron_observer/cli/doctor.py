"""`doctor`: what is missing on this host, why, and what would bring it."""

from __future__ import annotations

import json
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING

import click

from neuron_observer.checks.judging import look
from neuron_observer.checks.words import by_reason
from neuron_observer.cli.devices import headline
from neuron_observer.cli.hosts import make_judge, open_reader, wait_for_report
from neuron_observer.cli.options import host_options, monitor_feed, monitor_option, rules_option
from neuron_observer.doctor import examine, is_neuron_host
from neuron_observer.observer import ALL_LANES
from neuron_observer.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.doctor import Gap, Report
    from neuron_observer.doctor.surroundings import Note
    from neuron_observer.model import Gap as Uncovered

_SHOWN = 6
SCHEMA = "neuron-observer/doctor/1"
_WIDTH = 100  # columns


@click.command()
@host_options
@rules_option
@monitor_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
    monitor: str,
    form: str,
) -> int:
    """Say what is wrong or missing here, and which driver, privilege or setting brings it.

    Exit code 0: everything that this driver and chip give is read. 1: something is wrong.
    2: nothing of Neuron is here, or the host cannot be read.
    """
    feed = monitor_feed(monitor, host_root)
    reader = open_reader(
        host_root,
        config_file,
        all_devices=all_devices,
        kernel_log=True,
        one_shot=True,
        monitor=feed,
    )
    try:
        wait_for_report(reader)
        frame = look(reader, partial(make_judge, config_file, extra), ALL_LANES).frame
        report = examine(reader, frame.snapshot)
        topology = reader.topology
    finally:
        reader.close()
    neuron = is_neuron_host(topology)
    uncovered = frame.health.coverage.not_covered if neuron else ()
    if form == "json":
        click.echo(json.dumps(document(report, uncovered, neuron=neuron), indent=1))
    else:
        click.echo(headline(topology))
        click.echo("\n".join(_lines(report, uncovered)))
        if neuron:
            health = frame.health
            told = f"verdict: {health.verdict.value}: {printable(health.reason)} (see `check`)"
            click.echo(_wrapped(told, 2))
        if not neuron:
            click.echo("Nothing of Neuron is here: no device, no driver, no PCI function.")
    if not neuron:
        return 2
    return 1 if report.problems else 0


def document(report: Report, uncovered: Sequence[Uncovered], *, neuron: bool) -> dict[str, object]:
    """What `doctor --format json` prints."""
    return {
        "schema": SCHEMA,
        "neuron_host": neuron,
        "problems": report.problems,
        "notes": [note._asdict() for note in report.notes],
        "missing": [gap._asdict() | {"why": gap.why.value} for gap in report.gaps],
        "not_covered": [{"id": one.id, "why": one.why} for one in uncovered],
    }


def _lines(report: Report, uncovered: Sequence[Uncovered]) -> list[str]:
    lines = ["", *(_note(note) for note in report.notes)]
    if report.gaps:
        lines += ["", "Missing signals"]
        lines += [_gap(gap) for gap in report.gaps]
    if uncovered:
        lines += ["", "Rules that cannot decide here, by two reads"]
        for why, ids in by_reason(uncovered).items():
            lines.append(_wrapped(f"  {printable(why)}: {', '.join(ids)}", 4))
    count = report.problems
    lines += ["", f"{count} problem{'' if count == 1 else 's'}" if count else "no problem found"]
    return lines


def _note(note: Note) -> str:
    mark = "PROBLEM" if note.problem else "note   " if note.remedy else "ok     "
    lines = _wrapped(f"{mark}  {note.topic}: {note.text}", 9)
    return "\n".join([lines, *([_wrapped(f"         → {note.remedy}", 11)] if note.remedy else [])])


def _wrapped(text: str, indent: int) -> str:
    return fill(text, _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)


def _gap(gap: Gap) -> str:
    shown = ", ".join(gap.metrics[:_SHOWN])
    more = f" and {len(gap.metrics) - _SHOWN} more" if len(gap.metrics) > _SHOWN else ""
    lines = [
        _wrapped(f"  {gap.why.value}: {gap.detail}", 4),
        _wrapped(f"      {shown}{more} ({gap.places} places)", 6),
    ]
    if gap.remedy:
        lines.append(_wrapped(f"      → {gap.remedy}", 8))
    return "\n".join(lines)
