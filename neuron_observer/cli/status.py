"""`status`: how this host is, in a few lines."""

from __future__ import annotations

import click

from neuron_observer.cli import asking
from neuron_observer.cli.options import (
    connect_options,
    direct_option,
    host_options,
    rules_option,
)


@click.command()
@connect_options
@direct_option
@host_options
@rules_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
    form: str,
) -> int:
    """Show the verdict, why, how many devices are well, and what the verdict rests on.

    From this machine's daemon where it has a fresh frame, else by two reads 300 ms apart; the exit
    code is that of `check`.
    """
    as_json = form == "json"
    code = asking.judged("json" if as_json else "status", {}, host_root)
    if code is not None:
        return code
    from neuron_observer.cli.judged import look_and_say  # noqa: PLC0415 - costs what a look costs

    return look_and_say(
        host_root, config_file, extra, "status", all_devices=all_devices, as_json=as_json
    )
