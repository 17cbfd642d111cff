"""What the verbs share by which a person says something to a daemon."""

from __future__ import annotations

import click

from neuron_observer.cli.asking import named
from neuron_observer.errors import DaemonError

PATIENCE = 15.0  # seconds; a frame does it, the next one shows it, and then it is on the disk

device_option = click.option(
    "--device",
    type=click.IntRange(0, 4095),
    metavar="INDEX",
    help="Only of this device; else of all.",
)
reason_option = click.option(
    "--reason", required=True, metavar="TEXT", help="Why: it is kept with who and when."
)


def say(**act: object) -> None:
    """Tell the daemon, and what came of it; `DaemonError`, `UsageError`."""
    from neuron_observer.client import Client  # noqa: PLC0415 - help needs none
    from neuron_observer.client.address import local  # noqa: PLC0415 - the same
    from neuron_observer.client.cached import harmless  # noqa: PLC0415 - the same

    client = named(patience=PATIENCE)
    if client is None:
        address = local()
        if address is None:
            raise DaemonError(
                "no daemon runs on this machine to be told",
                remedy="systemctl start neuron-observer starts it.",
            )
        client = Client(address, patience=PATIENCE)
    done = client.post("acts", {name: value for name, value in act.items() if value is not None})
    click.echo(harmless(str(done.get("text"))))
    if not done.get("kept"):
        why = harmless(str(done.get("problem")))
        click.echo(f"neuron-observer: only until the daemon ends: {why}", err=True)
