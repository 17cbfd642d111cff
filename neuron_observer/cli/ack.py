"""`ack`: say that a finding is known."""

from __future__ import annotations

import click

from neuron_observer.cli.options import connect_options
from neuron_observer.cli.saying import device_option, reason_option, say


@click.command()
@connect_options
@click.argument("finding")
@device_option
@reason_option
def command(*, finding: str, device: int | None, reason: str) -> None:
    """Say that a FINDING is known: it still counts, and is marked until it is over.

    This machine's daemon is told, by its unix socket; root and the daemon's own user may.
    """
    say(verb="ack", subject=finding, device=device, reason=reason)
