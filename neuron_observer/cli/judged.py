"""What the verbs share that judge a host by one look: `check`, `findings`, `status`, `explain`."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import click

from neuron_observer.checks import scope as scopes
from neuron_observer.checks.judging import look
from neuron_observer.cli.hosts import make_judge, open_reader

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


def look_and_say(  # noqa: PLR0913 - one an option
    host_root: str,
    config_file: str | None,
    extra: tuple[str, ...],
    form: str,
    *,
    all_devices: bool,
    as_json: bool = False,
    fail_on: str | None = None,
    wanted: tuple[str, tuple[int, ...]] | None = None,
    core_size: int | None = None,
    deadline: float | None = None,
) -> int:
    """Look at a host and say how it is, in a form of `checks.forms`; the exit code."""
    reader = open_look(host_root, config_file, all_devices=all_devices, deadline=deadline)
    make = partial(make_judge, config_file, extra)
    checked = look_and_check(reader, make, wanted, core_size)
    return say(checked, form, fail_on, as_json=as_json)


def say(checked: Checked, form: str, fail_on: str | None = None, *, as_json: bool = False) -> int:
    """Print the lines of a form, or the document of the contract; the exit code."""
    from neuron_observer.checks.forms import said  # noqa: PLC0415 - after the look

    told = said(checked, "json" if as_json else form, fail_on)
    if as_json:
        from neuron_observer.checks.documents import document  # noqa: PLC0415 - only here

        click.echo(json.dumps(document(checked, told.code), indent=1))
    if told.out:
        click.echo(told.out)
    if told.err:
        click.echo(told.err, err=True)
    return told.code
