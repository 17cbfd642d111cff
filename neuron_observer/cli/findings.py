"""`findings`: what is wrong with this host, at a glance or after a while of watching."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from neuron_observer.cli import asking
from neuron_observer.cli.options import (
    connect_options,
    direct_option,
    host_options,
    rules_option,
)
from neuron_observer.errors import UsageError
from neuron_observer.text import printable, seconds_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.checks.judging import Judge
    from neuron_observer.checks.verdict import Checked
    from neuron_observer.model import Finding, Frame
    from neuron_observer.observer import HostReader

SHORTEST = 15.0  # seconds; registers are read each 10, and hardware is certain by two reads


@click.command()
@connect_options
@direct_option
@host_options
@rules_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also those that are over, as far as the daemon keeps them.",
)
@click.option(
    "--watch",
    "seconds",
    type=click.FloatRange(min=SHORTEST, max=86_400),
    help="Watch for so many seconds, so that rules with a window decide; else two reads.",
)
def command(
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    extra: tuple[str, ...],
    form: str,
    everything: bool,
    seconds: float | None,
) -> int:
    """Show the findings of this host now: what, where, how sure, what to do.

    From this machine's daemon where it has a fresh frame, else by two reads 300 ms apart. With
    --watch each change is told on stderr as it comes. The exit code is that of `check`.
    """
    as_json = form == "json"
    if everything:
        from neuron_observer.cli.all_findings import show  # noqa: PLC0415 - only here

        return show(as_json=as_json, watching=seconds is not None)
    if seconds is None:
        code = asking.judged("json" if as_json else "findings", {}, host_root)
        if code is not None:
            return code
    else:
        asking.named()  # which --watch excludes
    from neuron_observer.cli import judged  # noqa: PLC0415 - costs what a look costs

    if seconds is None:
        return judged.look_and_say(
            host_root, config_file, extra, "findings", all_devices=all_devices, as_json=as_json
        )
    from neuron_observer.cli.hosts import make_judge, open_reader  # noqa: PLC0415 - the same

    reader = open_reader(
        host_root,
        config_file,
        all_devices=all_devices,
        thorough=False,
        kernel_log=True,
        lasting=True,
    )
    checked = watched(reader, make_judge(config_file, extra, one_shot=False), seconds)
    return judged.say(checked, "findings", as_json=as_json)


def watched(reader: HostReader, judge: Judge, seconds: float) -> Checked:
    """What stands after so many seconds, narrated on stderr; UsageError for a recording."""
    from neuron_observer.checks.verdict import check  # noqa: PLC0415 - with the rules
    from neuron_observer.sources.listing import ListingFs  # noqa: PLC0415 - only here

    if isinstance(reader.host, ListingFs):
        reader.close()
        raise UsageError(
            f"{reader.host.root}: a recording does not go on, so it cannot be watched",
            remedy="Leave --watch out, or watch a live host or a simulation.",
        )
    click.echo(f"watching for {seconds_text(seconds)}", err=True)
    frame = watch(reader, judge, seconds, lambda line: click.echo(line, err=True))
    return check(frame)


def watch(
    reader: HostReader, judge: Judge, seconds: float, say: Callable[[str], None] = lambda _: None
) -> Frame:
    """Run the loop with the rules for so long; the last frame. Findings are told as they change."""
    from neuron_observer.loop import Loop  # noqa: PLC0415 - a glance needs none

    loop = Loop(reader, judge=judge, explain=judge.explain)
    until = reader.clock.monotonic() + seconds
    last: list[Frame] = []
    told: dict[object, Finding] = {}

    def take(frame: Frame) -> None:
        last[:] = [frame]
        for one in frame.findings:
            whose = one.id, one.entity._replace(serial=None)  # it may become known on the way
            before = told.get(whose)
            if before is None or before.state is not one.state:
                told[whose] = one
                say(f"{one.state.value}: {one.id}: {printable(one.message)}")
        if frame.snapshot.monotonic >= until:
            loop.stop()

    loop.subscribe(take)
    try:
        loop.run()
    finally:
        loop.close()
    return last[0]
