"""`top`: a screen of the devices, their cores and the host; or frames of it as text."""

from __future__ import annotations

import gc
import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from neuron_observer.cli import asking, top_feeds
from neuron_observer.cli.options import direct_option, host_options, nodes_options
from neuron_observer.cli.top_feeds import Host, Replay
from neuron_observer.cli.top_plain import Form, Pace
from neuron_observer.clock import SystemClock
from neuron_observer.errors import ExitCode, UsageError
from neuron_observer.feed import Transport
from neuron_observer.tui.signs import ASCII, signs_for
from neuron_observer.tui.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.client.nodes import ConnectedNode
    from neuron_observer.feed import Feed
    from neuron_observer.tui.app import ScreenApp

_NO_TERMINAL = (
    "neuron-observer: no terminal here: one frame, as with --once; --batch prints one a period"
)


@click.command()
@nodes_options
@direct_option
@host_options
@click.option("--once", "plain", flag_value="once", help="Print one frame as text and end.")
@click.option("--batch", "plain", flag_value="batch", help="Print a frame a period as text.")
@click.option(
    "--period",
    type=click.FloatRange(0.1, 86_400),
    help="Seconds between two frames of --batch.  [default: 1]",
)
@click.option("-n", "--frames", type=click.IntRange(1), help="End --batch after so many frames.")
@click.option(
    "--replay",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Play a recording or a capture instead.",
)
@click.option(
    "--speed",
    type=click.FloatRange(0, 1000),
    help="Recorded seconds a second of --replay; 0: as fast as it goes.  [default: 1]",
)
@click.option("--seek", metavar="SECONDS", type=float, help="Where --replay begins.")
@click.option("--device", type=click.IntRange(0), help="The device whose cores are shown first.")
@click.option("--width", type=click.IntRange(20, 1000), help="Columns of frames as text.")
@click.option("--theme", type=click.Choice(THEMES), help="The look of the screen (docs/top.md).")
@click.option("--ascii", "only_ascii", is_flag=True, help="Draw with ASCII signs only.")
def command(  # noqa: PLR0913 - one an option
    *,
    host_root: str,
    config_file: str | None,
    all_devices: bool,
    plain: str | None,
    period: float | None,
    frames: int | None,
    replay: str | None,
    speed: float | None,
    seek: float | None,
    device: int | None,
    width: int | None,
    only_ascii: bool,
    theme: str | None,
) -> int:
    """Watch the devices, the cores of one of them, its memory and power, and the host.

    What is missing is a dash, with its reason below. `?` lists the keys. This machine's daemon is
    asked where one answers; --direct reads without it. Without a terminal one frame is printed.
    """
    if plain != "batch" and (period is not None or frames is not None):
        raise UsageError("--period and --frames belong to --batch", remedy="Add it.")
    played = played_by(replay, speed, seek)
    if plain is None and not has_terminal():
        click.echo(_NO_TERMINAL, err=True)
        plain = "once"
    signs = ASCII if only_ascii else signs_for(os.environ, getattr(sys.stdout, "encoding", None))
    form = Form(device, width, signs, theme)
    pace = Pace(period or 1.0, frames) if plain == "batch" else None
    clients = asking.several()
    if clients:
        from neuron_observer.client.nodes import ConnectedNode  # noqa: PLC0415 - where asked

        nodes = [ConnectedNode(client, SystemClock()) for client in clients]
        return side_by_side(nodes, form, pace, plain)
    return one_host(Host(host_root, config_file, all_devices, played), form, pace, plain)


def played_by(file: str | None, speed: float | None, seek: float | None) -> Replay | None:
    """The recording that is asked for."""
    if file is None:
        if speed is not None or seek is not None:
            raise UsageError("--speed and --seek belong to --replay", remedy="Add it.")
        return None
    asking.alone("--replay")
    return Replay(file, 1.0 if speed is None else speed, seek)


def has_terminal() -> bool:
    """Whether a screen can be drawn and keys be read; Textual draws on standard error."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return os.environ.get("TERM", "dumb") != "dumb" and all(s and s.isatty() for s in streams)


def one_host(host: Host, form: Form, pace: Pace | None, plain: str | None) -> int:
    """The screen of one host, or frames of it."""
    from neuron_observer.cli import top_plain  # noqa: PLC0415 - where asked

    if plain is None:
        gc.disable()  # until the first frame stands: nothing of what is loaded for it is garbage
        with top_feeds.moving(host) as shown:
            from neuron_observer.tui.app import TopApp  # noqa: PLC0415 - costs textual
            from neuron_observer.tui.settings import settings_of  # noqa: PLC0415 - of the screen

            settings = settings_of(os.environ, form.theme)
            feed, clock, begin = shown
            return run(
                TopApp(feed, clock, form.signs, form.device, partial(_settle, begin), settings)
            )
    with top_feeds.once(host) if pace is None else top_feeds.going(host) as shown:
        top_plain.wait_for(lambda: shown.feed.latest() is not None, "no frame")
        if pace is None:
            click.echo("\n".join(top_plain.lines_of(shown, form)))
        else:
            ended = partial(_is_over, shown.feed)
            draw = partial(top_plain.lines_of, shown, form)
            top_plain.print_all(draw, pace, SystemClock(), ended)
        if isinstance(shown.feed, Transport) and shown.feed.note:
            click.echo(f"neuron-observer: {shown.feed.note}", err=True)
    return 0


def _is_over(feed: Feed) -> bool:
    """Whether a recording is at its end."""
    return isinstance(feed, Transport) and feed.ended


def side_by_side(
    nodes: Sequence[ConnectedNode], form: Form, pace: Pace | None, plain: str | None
) -> int:
    """The screen of several nodes, or lists of them; 3 if not one of them ever answered."""
    from neuron_observer.cli import top_plain  # noqa: PLC0415 - where asked

    clock = SystemClock()
    for node in nodes:
        node.start()
    try:
        if plain is None:
            gc.disable()  # as of one host
            from neuron_observer.tui.nodes_board import NodesApp  # noqa: PLC0415 - costs textual
            from neuron_observer.tui.settings import settings_of  # noqa: PLC0415 - of the screen

            settings = settings_of(os.environ, form.theme)
            return run(NodesApp(nodes, clock, form.signs, _settle, settings))
        top_plain.wait_for(lambda: all(map(_is_told, nodes)), "not all nodes were asked")
        if pace is None:
            click.echo("\n".join(top_plain.lines_of_nodes(nodes, clock, form)))
        else:
            top_plain.print_all(lambda: top_plain.lines_of_nodes(nodes, clock, form), pace, clock)
    finally:
        for node in nodes:
            node.close()
    return 0 if any(node.glance().health for node in nodes) else ExitCode.UNKNOWN


def _settle(begin: Callable[[], None] = lambda: None) -> None:
    """The first frame stands. What is here now stays, so nobody looks through it again and again:
    that takes longer than a key may.
    """
    gc.freeze()
    sys.setswitchinterval(0.001)
    gc.enable()
    begin()


def _is_told(node: ConnectedNode) -> bool:
    glance = node.glance()
    return glance.health is not None or bool(glance.problem)


def run(app: ScreenApp) -> int:
    """The screen, until somebody leaves it; its exit code."""
    app.run()
    _forget_a_lost_terminal()
    return app.return_code or 0


def _forget_a_lost_terminal() -> None:
    """The last words to a terminal that is gone must not be tried again when Python ends."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
