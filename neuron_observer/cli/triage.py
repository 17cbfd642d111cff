"""`neuron-observer triage [FILE…|-]`: what a log says, where, and what to do."""

from __future__ import annotations

import io
import json
import shutil
import sys
from typing import BinaryIO

import click

from neuron_observer.contract import EXIT_CODES
from neuron_observer.errors import InputError, UsageError
from neuron_observer.triage.report import STDIN, Report, triage
from neuron_observer.triage.words import headline, text

_WIDEST = 120  # columns; longer lines are hard to read


@click.command("triage")
@click.argument("files", nargs=-1, type=click.Path(), metavar="[FILE…|-]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--explain", is_flag=True, help="Also tell what each kind of line means, and how that is known."
)
def command(files: tuple[str, ...], form: str, *, explain: bool) -> int:
    """Say what happened, where, how sure that is, and what to do.

    Reads kernel logs (dmesg, journal, syslog), logs of jobs, output of neuron-monitor and
    neuron-ls, plain or compressed with gzip; several files at once, of several nodes. Needs no
    Neuron host and no daemon.

    Exit code: 0 no fault in what was read, 1 something is wrong, 2 a hardware register says so,
    3 cannot tell, 66 nothing could be read.
    """
    names = files or (STDIN,)
    if not files and sys.stdin.isatty():
        raise UsageError(
            "no log to read", remedy="name files, or pipe one: dmesg | neuron-observer triage -"
        )
    streams: dict[str, BinaryIO] = {STDIN: sys.stdin.buffer}
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # logs hold what a C locale cannot print
    report = triage(names, streams=streams)
    _must_have_read(report)
    if form == "json":
        click.echo(
            json.dumps(
                {"summary": headline(report)} | report.document(), ensure_ascii=False, indent=1
            )
        )
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, _WIDEST)
        click.echo(text(report, width=width, explain=explain), nl=False)
    return EXIT_CODES[report.verdict.value]


def _must_have_read(report: Report) -> None:
    if all(source.failed for source in report.inputs):
        told = "\n".join(f"{source.name}: {'; '.join(source.notes)}" for source in report.inputs)
        raise InputError(told, remedy="hand over a log as text, or compressed with gzip")
