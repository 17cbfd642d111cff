"""`top`: a screen of the devices, their cores and the host; or one frame of it as text."""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from neuron_observer.cli.asking import named
from neuron_observer.cli.hosts import make_judge, open_reader
from neuron_observer.cli.options import connect_options, host_options, simulation_asked
from neuron_observer.clock import SystemClock
from neuron_observer.errors import UsageError
from neuron_observer.oneshot import NOT_JUDGED, StillFeed
from neuron_observer.tui.signs import ASCII, signs_for
from neuron_observer.tui.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.checks.judging import Judge
    from neuron_observer.client import Client
    from neuron_observer.clock import Clock
    from neuron_observer.feed import Feed
    from neuron_observer.loop import Loop
    from neuron_observer.observer import HostReader
    from neuron_observer.tui.signs import Signs


@click.command()
@connect_options
@host_options
@click.option("--once", is_flag=True, help="Print one frame as text and end.")
@click.option("--device", type=click.IntRange(0), help="The device whose cores are shown first.")
@click.option("--width", type=click.IntRange(20, 1000), help="Columns of the frame of --once.")
@click.option("--theme", type=click.Choice(THEMES), help="The look of the screen (docs/top.md).")
@click.option("--ascii", "only_ascii", is_flag=True, help="Draw with ASCII signs only.")
def command(  # noqa: PLR0913 - one argument an option
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    once: bool,
    device: int | None,
    width: int | None,
    only_ascii: bool,
    theme: str | None,  # noqa: ARG001 - the screen asks for it
) -> int:
    """Watch the devices, the cores of one of them, its memory and power, and the host.

    What is missing is a dash, with its reason below. `?` lists the keys. Without a terminal one
    frame is printed, as with --once: two reads 300 ms apart.
    """
    if not once and not has_terminal():
        click.echo("neuron-observer: no terminal here: one frame, as with --once", err=True)
        once = True
    signs = ASCII if only_ascii else signs_for(os.environ, sys.stdout.encoding)
    client = named()
    if client is not None:
        return connected(client, device, width, signs, once=once)
    make_reader = partial(
        open_reader, host_root, config_file, all_devices=all_devices, thorough=False
    )
    make = partial(make_judge, config_file)
    if once:
        still = read_still(make_reader(kernel_log=True, one_shot=True), make)
        print_frame(still, device, width, signs)
        return 0
    if os.path.isfile(host_root) and not simulation_asked():  # noqa: PTH113 - as in options
        reader = make_reader(kernel_log=True, one_shot=True)
        return run_app(read_still(reader, make), reader.clock, device, signs)
    return watch(make_reader, make, device, signs)


def connected(
    client: Client, device: int | None, width: int | None, signs: Signs, *, once: bool
) -> int:
    """The screen over a daemon's frames, or one of them; the first one must come."""
    from neuron_observer.client.feed import PERIOD, ConnectedFeed  # noqa: PLC0415 - where asked

    clock = SystemClock()
    feed = ConnectedFeed(client, clock)
    feed.poll()
    try:
        if once:
            clock.wait(PERIOD)  # a rate needs two
            feed.look()
            print_frame(feed, device, width, signs)
            return 0
        return run_app(feed, clock, device, signs, feed.start)
    finally:
        feed.close()


def has_terminal() -> bool:
    """Whether a screen can be drawn and keys be read; Textual draws on standard error."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return os.environ.get("TERM", "dumb") != "dumb" and all(s and s.isatty() for s in streams)


def print_frame(feed: Feed, device: int | None, width: int | None, signs: Signs) -> None:
    """One frame as text, as wide as the terminal (or COLUMNS, or 80) and as high as it needs."""
    from neuron_observer.tui.layout import printed  # noqa: PLC0415 - the screen has its own way
    from neuron_observer.tui.view import Cells, View  # noqa: PLC0415 - the same

    frame = feed.latest()
    if frame is None:  # whoever calls has one
        return
    last = frame.snapshot
    present = [one.index for one in last.devices]
    if device is not None and device not in present:
        listed = ", ".join(map(str, present)) or "none"
        raise UsageError(f"--device {device}: no such device here", remedy=f"Here: {listed}.")
    chosen = device if device is not None else min(present, default=None)
    cells = Cells(frame)
    view = View(feed, cells, last.monotonic, chosen, signs)
    columns = width or shutil.get_terminal_size((80, 24)).columns
    click.echo("\n".join(printed(view, columns)))


def read_still(reader: HostReader, make: Callable[[], Judge]) -> StillFeed:
    """Two reads, judged, and the reader is done."""
    from neuron_observer.checks.judging import look  # noqa: PLC0415 - not before it is needed

    try:
        frame, reads, judge = look(reader, make)
    finally:
        reader.close()
    return StillFeed(reads, frame.health, frame.findings, judge.explain)


def watch(
    make_reader: Callable[..., HostReader],
    make: Callable[..., Judge],
    device: int | None,
    signs: Signs,
) -> int:
    """The screen over a loop; its first frame is a glance at what the screen shows."""
    from neuron_observer.early import EarlyFeed  # noqa: PLC0415 - not for one frame
    from neuron_observer.tui.glance import METRICS  # noqa: PLC0415 - the same

    def make_loop() -> Loop:
        from neuron_observer.loop import Loop  # noqa: PLC0415 - not before the first frame

        judge = make(one_shot=False)
        # the host is named by options that only the main thread knows
        reader = make_reader(lasting=True, kernel_log=True, host=glance.host)
        return Loop(reader, judge=judge, explain=judge.explain)

    glance = make_reader(only=METRICS)
    first = StillFeed((glance.poll(("fast", "normal", "slow")),), NOT_JUDGED)
    glance.close()
    feed = EarlyFeed(first, make_loop)
    try:
        return run_app(feed, glance.clock, device, signs, feed.start)
    finally:
        feed.close()
        if feed.error is not None:
            raise feed.error


def run_app(
    feed: Feed,
    clock: Clock,
    device: int | None,
    signs: Signs,
    begin: Callable[[], None] = lambda: None,
) -> int:
    """The screen, until somebody leaves it; its exit code. `begin` is called when it is painted."""
    from neuron_observer.tui.app import TopApp  # noqa: PLC0415 - costs textual
    from neuron_observer.tui.settings import settings_of  # noqa: PLC0415 - only for the screen

    theme = click.get_current_context().params.get("theme")
    app = TopApp(feed, clock, signs, device, begin, settings_of(os.environ, theme))
    app.run()
    _forget_a_lost_terminal()
    return app.return_code or 0


def _forget_a_lost_terminal() -> None:
    """The last words to a terminal that is gone must not be tried again when Python ends."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
