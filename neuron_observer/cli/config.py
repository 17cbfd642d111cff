"""`config`: write a file to begin with, show what holds and why, say what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuron_observer.cli.configured import default_file, sources_of
from neuron_observer.cli.hosts import rules_of
from neuron_observer.config import Sources, examine, read
from neuron_observer.config import write as writing
from neuron_observer.errors import ConfigError, ExitCode
from neuron_observer.text import printable, table

if TYPE_CHECKING:
    from neuron_observer.config import Loaded

HEADS = ("KEY", "VALUE", "FROM")


@click.group()
def command() -> None:
    """The configuration: write a file to begin with, show what holds, say what is wrong."""


config_option = click.option(
    "--config",
    "named",
    metavar="FILE",
    envvar="NEURON_OBSERVER_CONFIG",
    help="The configuration.  [default: /etc/neuron-observer/config.yaml]",
)


@command.command()
@click.option(
    "--path",
    metavar="FILE",
    help="Where to write; - prints.  [default: /etc/neuron-observer/config.yaml]",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def init(*, path: str | None, force: bool) -> None:
    """Write a file with every key, what it means and its default, all of them comments."""
    path = path or default_file()
    if path == "-":
        click.echo(writing.template(), nl=False)
        return
    writing.write(Path(path), writing.template(), force=force)
    click.echo(f"{path}: written; every key in it is a comment", err=True)


@command.command("print")
@config_option
@click.option("--effective", is_flag=True, help="Also what nobody said, with its default.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "yaml", "markdown"]),
    default="text",
    help="yaml can be loaded again; markdown is the reference of all keys.",
)
def show(*, named: str | None, effective: bool, form: str) -> None:
    """Show each value and where it comes from: file and line, variable, default."""
    if form == "markdown":
        click.echo(writing.reference(), nl=False)
        return
    loaded = read(sources_of(named or default_file()))
    _remark(loaded)
    found = list(writing.lines(loaded, effective=effective))
    if not found:
        click.echo("nothing is said: the defaults hold; --effective shows them", err=True)
    if form == "json":
        click.echo(writing.as_json(found))
    elif form == "yaml":
        click.echo(writing.as_yaml(found))
    else:
        rows = [(one.key.name, writing.written(one.key, one.value), one.origin) for one in found]
        click.echo(table(HEADS, [tuple(map(printable, row)) for row in rows]))


@command.command()
@click.argument("file", required=False)
@config_option
def validate(*, file: str | None, named: str | None) -> int:
    """Say everything that is wrong with the configuration and the rules; 0 if nothing is, else 64.

    Of a FILE that is named here, with the conf.d beside it and without the environment; else all
    that the daemon would take.
    """
    sources = Sources(file) if file else sources_of(named or default_file())
    loaded, problems = examine(sources)
    told = list(problems)
    rules = ""
    if loaded is not None:
        _remark(loaded)
        try:
            rules = f", {len(rules_of(loaded.config))} rules"
        except ConfigError as error:
            told.append(error)
    for problem in told:
        click.echo(f"neuron-observer: {problem}", err=True)
    if told or loaded is None:
        click.echo(f"neuron-observer: {_counted(len(told), 'error')}", err=True)
        return ExitCode.USAGE
    read_files = ", ".join(loaded.files) or "no file: the defaults hold"
    click.echo(f"valid: {read_files}; {_counted(len(loaded.origins), 'key')} said{rules}")
    return ExitCode.OK


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _remark(loaded: Loaded) -> None:
    for remark in loaded.remarks:
        click.echo(f"neuron-observer: {printable(remark)}", err=True)
