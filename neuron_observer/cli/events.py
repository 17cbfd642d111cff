"""`events`: what happened to this host, as its daemon holds it; or as it happens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from neuron_observer.cli.asking import named
from neuron_observer.cli.options import connect_options
from neuron_observer.client.cached import harmless
from neuron_observer.clock import SystemClock
from neuron_observer.errors import DaemonError, UsageError
from neuron_observer.model import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.client import Client
    from neuron_observer.client.follow import Message

KINDS = ("event", "finding", "verdict")
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0  # seconds, while nobody answers


@click.command()
@connect_options
@click.option("--since", metavar="WHEN", help="Only later: 15m, 2h, or 2026-11-30T10:00:00Z.")
@click.option("--until", metavar="WHEN", help="Only up to then, in the same forms.")
@click.option("--device", metavar="LIST", help="Only what is about these devices, e.g. 0,3-5.")
@click.option("--type", "kinds", metavar="LIST", help=f"Only these: {', '.join(KINDS)}.")
@click.option("--limit", type=click.IntRange(1, 2000), default=500, show_default=True)
@click.option("--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
def command(
    *,
    since: str | None,
    until: str | None,
    device: str | None,
    kinds: str | None,
    limit: int,
    follow: bool,
    form: str,
) -> int:
    """Show what happened: events of the host, findings that began or ended, verdicts.

    The daemon of this machine is asked, or the one that --connect names; it holds the last 2,000,
    and those of before its start as far as it keeps them (docs/store.md). As JSON with --follow
    each one is a line.
    """
    if follow and until is not None:
        raise click.UsageError("--follow and --until exclude each other")
    _refuse_nothing(since, until)
    client = named() or own()
    fitting = {"device": device, "type": kinds}
    asked = {"since": since, "until": until, "limit": str(limit), **fitting}
    document = client.get("events", asked)
    if form == "json" and not follow:
        click.echo(json.dumps(document, indent=1))
        return 0
    for one in document["events"]:
        click.echo(json.dumps(one) if form == "json" else line(one))
    if document.get("more"):
        click.echo(f"neuron-observer: the newest {limit}; --limit shows more", err=True)
    if not follow:
        if not document["events"]:
            click.echo("neuron-observer: nothing happened that is still held", err=True)
        return 0
    return _follow(client, fitting, str(document["last_id"]), form)


def _refuse_nothing(since: str | None, until: str | None) -> None:
    """`UsageError` for a time that ends before it begins; what is no time the daemon says."""
    if since is None or until is None:
        return
    from neuron_observer.daemon.asked import read_instant  # noqa: PLC0415 - rarely needed

    now = SystemClock().wall()
    begin, end = (
        instant and (instant.wall if instant.ago is None else now - instant.ago)
        for instant in map(read_instant, (since, until))
    )
    if begin is not None and end is not None and begin >= end:
        raise UsageError(
            f"--since {since} is not before --until {until}: nothing lies between them",
            remedy="--since 5m --until 1m: from five minutes ago to one minute ago.",
        )


def own() -> Client:
    """This machine's daemon; `DaemonError` where there is none."""
    from neuron_observer.client import Client  # noqa: PLC0415 - as in asking
    from neuron_observer.client.address import local  # noqa: PLC0415 - the same

    address = local()
    if address is None:
        raise DaemonError(
            "no daemon runs on this machine, and nobody else knows what happened",
            remedy="systemctl start neuron-observer, or --connect URL for that of another machine.",
        )
    return Client(address)


def _follow(client: Client, fitting: Mapping[str, str | None], last_id: str, form: str) -> int:
    """Print what comes, for ever; a connection that is lost is made again, nothing is lost."""
    from neuron_observer.client.follow import following  # noqa: PLC0415 - only here

    clock, pause = SystemClock(), _FIRST_PAUSE
    while True:
        try:
            with following(client, fitting, last_id) as messages:
                pause = _FIRST_PAUSE
                for message in messages:
                    last_id = message.id or last_id
                    _show(message, form)
            why = "the daemon ended the connection"
        except DaemonError as error:
            why = error.message
        click.echo(f"neuron-observer: {harmless(why)}; again in {pause:.0f} s", err=True)
        clock.wait(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _show(message: Message, form: str) -> None:
    if message.kind == "gap":
        missed = message.document.get("missed")
        lost = "some entries" if missed is None else f"{missed} entries"
        click.echo(f"neuron-observer: {lost} are lost between these two", err=True)
    elif message.kind in KINDS:
        told = message.document
        click.echo(json.dumps(told) if form == "json" else line(told))


def line(of: Mapping[str, Any]) -> str:
    """One entry in one line: when, where, what."""
    told = {"event": _event, "finding": _finding, "verdict": _verdict}.get(str(of.get("type")))
    text = told(of) if told else f"{of.get('type')}"
    return harmless(f"{of.get('at')}  {text}".replace("\n", " "))


def _event(of: Mapping[str, Any]) -> str:
    fields = of.get("fields") or {}
    severity, action = fields.get("severity"), fields.get("action")
    meaning = f" [{severity}, {action}]" if severity else ""
    ours = ", caused by our own reads" if fields.get("ours") else ""
    return f"{place(of)}  {of.get('kind')}{meaning}{ours}: {of.get('message')}"


def _finding(of: Mapping[str, Any]) -> str:
    one = of.get("finding") or {}
    sure = f"{one.get('severity')}, {one.get('confidence')}, {one.get('action')}"
    uncounted = ", in shadow: not counted" if one.get("shadow") else ""
    if one.get("state") == State.PENDING.value:
        uncounted = ", pending: not counted yet"
    where = place(one.get("entity") or {})
    return f"{where}  {of.get('change')}: {one.get('id')} [{sure}{uncounted}]: {one.get('message')}"


def _verdict(of: Mapping[str, Any]) -> str:
    before = f" (was {of['previous']})" if of.get("previous") else ""
    devices = [
        f"neuron{one.get('index')} {one.get('verdict') or 'gone'}"
        for one in of.get("devices") or ()
        if one.get("previous")
    ]
    told = f"; {', '.join(devices)}" if devices else ""
    return f"node  {of.get('verdict')}{before}: {of.get('reason')}{told}"


def place(of: Mapping[str, Any]) -> str:
    """Where: a device, a core, a port, a job or a rank of it, the node."""
    if of.get("label"):
        return str(of["label"])
    device, core = of.get("device"), of.get("core")
    if of.get("job"):
        rank = of.get("rank")
        return f"job {of['job']}" + (f" rank {rank}" if rank is not None else "")
    if device is None:
        return str(of.get("port") or "node")
    return f"neuron{device}" + (f"/core{core}" if core is not None else "")
