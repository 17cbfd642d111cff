"""`set-healthy`: take a device as it is for well."""

from __future__ import annotations

import click

from neuron_observer.cli.options import connect_options
from neuron_observer.cli.saying import reason_option, say


@click.command()
@connect_options
@click.option(
    "--device",
    type=click.IntRange(0, 4095),
    metavar="INDEX",
    required=True,
    help="The device, by its index.",
)
@reason_option
def command(*, device: int, reason: str) -> None:
    """Take what a device counts now for its baseline, and its findings for settled.

    For one that was repaired or looked into: one error more is found as before. This machine's
    daemon is told, by its unix socket; root and the daemon's own user may.
    """
    say(verb="set-healthy", device=device, reason=reason)
