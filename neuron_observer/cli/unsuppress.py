"""`unsuppress`: take back what `suppress` said."""

from __future__ import annotations

import click

from neuron_observer.cli.options import connect_options
from neuron_observer.cli.saying import device_option, reason_option, say


@click.command()
@connect_options
@click.argument("rule")
@device_option
@reason_option
def command(*, rule: str, device: int | None, reason: str) -> None:
    """Have the findings of a RULE count again: what `suppress` said is taken back."""
    say(verb="unsuppress", subject=rule, device=device, reason=reason)
