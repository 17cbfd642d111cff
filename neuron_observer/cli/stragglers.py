"""`stragglers FILE`: who was slow, in a table of per-rank step times."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuron_observer.contract import EXIT_CODES, findings_document
from neuron_observer.errors import InputError, UsageError
from neuron_observer.recording.capture import write_rows
from neuron_observer.stragglers.header import COLUMNS
from neuron_observer.stragglers.heatmap import svg
from neuron_observer.stragglers.report import report
from neuron_observer.stragglers.retrospective import account
from neuron_observer.stragglers.table import read

if TYPE_CHECKING:
    from neuron_observer.stragglers.retrospective import Account
    from neuron_observer.stragglers.table import Table


@click.command("stragglers")
@click.argument("file")
@click.option(
    "--map",
    "maps",
    multiple=True,
    metavar="OURS=THEIRS",
    help="The file's name of one of our columns, e.g. --map busy_s=compute_s --map role=stage.",
)
@click.option(
    "--unit",
    type=click.Choice(["s", "ms", "us", "ns"]),
    help="Unit of all times in the file; seconds unless said.",
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@click.option("--plot", metavar="FILE.svg", help="Write a heat map rank x step.")
def command(file: str, maps: tuple[str, ...], unit: str | None, form: str, plot: str | None) -> int:
    """Say who was slow in FILE, by how much, from which step to which, and of what kind.

    FILE is a CSV with a header: step, rank, busy_s and, if known, wait_s, input_s, role,
    replica, node, device, tokens. `-` reads standard input. One row a step and rank, in any order.
    """
    table = _read(file, _mapping(maps), unit)
    accounts = [account(part) for part in table.parts]
    told = report(table, accounts)
    if plot is not None:
        _plot(plot, table, accounts)
    if form == "json":
        document = findings_document(told.verdict, told.findings, told.coverage)
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        click.echo(told.text)
    return EXIT_CODES[told.verdict.value]


def _mapping(maps: tuple[str, ...]) -> dict[str, str]:
    mapping: dict[str, str] = {}
    for text in maps:
        ours, equals, theirs = text.partition("=")
        if not equals or not theirs or ours not in COLUMNS:
            raise UsageError(
                f"--map {text}: not OURS=THEIRS",
                remedy=f"OURS is one of {', '.join(COLUMNS)}; THEIRS is a column of the file",
            )
        if ours in mapping:
            raise UsageError(f"--map {text}: {ours} is mapped twice")
        mapping[ours] = theirs
    return mapping


def _read(file: str, mapping: dict[str, str], unit: str | None) -> Table:
    if file == "-":
        return read(sys.stdin, "standard input", mapping=mapping, unit=unit)
    try:
        with Path(file).open(encoding="utf-8", newline="") as stream:
            return read(stream, file, mapping=mapping, unit=unit)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error


def _plot(target: str, table: Table, accounts: list[Account]) -> None:
    """Write the heat map of the longest part."""
    longest = max(accounts, key=lambda account: account.residual.size)
    part = longest.part
    picture = svg(longest.residual, part.steps, part.topology.ranks, table.name)
    write_rows(target, [picture], force=True)  # a picture is made again at will
    if len(accounts) > 1:
        click.echo(f"{target} shows steps {part.steps[0]}-{part.steps[-1]} only", err=True)
