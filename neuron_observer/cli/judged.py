"""What the verbs share that judge a host by one look: `check`, `findings`, `status`, `explain`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from neuron_observer.checks import scope as scopes
from neuron_observer.checks.judging import look
from neuron_observer.cli.hosts import open_reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.checks.judging import Judge
    from neuron_observer.checks.verdict import Checked
    from neuron_observer.observer import HostReader


def open_look(
    host_root: str, config_file: str | None, *, all_devices: bool, deadline: float | None = None
) -> HostReader:
    """A reader for two reads that are judged, with the kernel log."""
    return open_reader(
        host_root,
        config_file,
        all_devices=all_devices,
        thorough=False,
        kernel_log=True,
        one_shot=True,
        deadline=deadline,
    )


def look_and_check(
    reader: HostReader,
    make: Callable[[], Judge],
    wanted: tuple[str, tuple[int, ...]] | None = None,
    core_size: int | None = None,
) -> Checked:
    """Look at a host, close its reader, and say how it is."""
    begin = reader.clock.monotonic()
    try:
        scope = scopes.WHOLE_NODE
        if wanted and wanted[0] == "devices":
            scope = scopes.by_devices(wanted[1], reader.topology)
        frame = look(reader, make).frame
        topology = reader.topology
        seconds = reader.clock.monotonic() - begin
    finally:
        reader.close()
    from neuron_observer.checks.inventory import take  # noqa: PLC0415 - while nothing waits
    from neuron_observer.checks.verdict import check  # noqa: PLC0415 - the same

    if wanted and wanted[0] == "cores":
        scope = scopes.by_cores(wanted[1], core_size, topology, frame.snapshot.devices)
    checked = check(frame, scope, take(topology, frame.snapshot))
    return checked._replace(seconds=seconds)


def say(checked: Checked, form: str, code: int, lines: Callable[[Checked], list[str]]) -> None:
    """Print the document of the contract, or lines of text."""
    if form == "json":
        from neuron_observer.checks.documents import document  # noqa: PLC0415 - only here

        click.echo(json.dumps(document(checked, code), indent=1))
    else:
        click.echo("\n".join(lines(checked)))
