"""`suppress`: have a rule's findings count for nothing for a while."""

from __future__ import annotations

import click

from neuron_observer.cli.options import connect_options
from neuron_observer.cli.saying import device_option, reason_option, say


@click.command()
@connect_options
@click.argument("rule")
@device_option
@click.option("--until", required=True, metavar="WHEN", help="2h, 7d, or 2026-12-01T10:00:00Z.")
@reason_option
def command(*, rule: str, device: int | None, until: str, reason: str) -> None:
    """Have the findings of a RULE count for nothing until then, as long as they get no worse.

    They are listed and exported as suppressed. This machine's daemon is told, by its unix socket;
    root and the daemon's own user may.
    """
    say(verb="suppress", subject=rule, device=device, until=until, reason=reason)
