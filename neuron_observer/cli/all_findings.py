"""`findings --all`: what stands, what is suppressed, and what is over, as a daemon keeps it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from neuron_observer.cli.asking import named
from neuron_observer.cli.events import own, place
from neuron_observer.client.cached import harmless
from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


def show(*, as_json: bool, watching: bool) -> int:
    """Ask the daemon and print; the exit code is that of its verdict."""
    if watching:
        raise UsageError("--all and --watch exclude each other", remedy="Leave one of them out.")
    document = (named() or own()).get("findings", {"all": "true"})
    if as_json:
        click.echo(json.dumps(document, indent=1))
    else:
        for one in document["findings"]:
            click.echo(line(one))
        if not document["findings"]:
            click.echo("no finding, and none that is kept")
    return int(document["exit_code"])


def line(of: Mapping[str, Any]) -> str:
    """One finding in one line: state, what, where, since when, what was said of it."""
    shadow = ", in shadow" if of.get("shadow") else ""
    note = f" [{of['note']}]" if of.get("note") else ""
    text = (
        f"{of.get('state'):<12} {of.get('first_seen')} to {of.get('last_seen')}"
        f"  {place(of.get('entity') or {})}  {of.get('id')}"
        f" ({of.get('severity')}, {of.get('confidence')}{shadow}): {of.get('message')}{note}"
    )
    return harmless(text.replace("\n", " "))
