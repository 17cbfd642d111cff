"""Frames of `top` as plain text: one, or one a period until somebody has enough."""

from __future__ import annotations

import shutil
import sys
from datetime import datetime, timezone
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import click

from neuron_observer.clock import SystemClock
from neuron_observer.errors import DaemonError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.cli.top_feeds import Shown
    from neuron_observer.clock import Clock
    from neuron_observer.feed import Node
    from neuron_observer.tui.signs import Signs

_FIRST_FRAME = 30.0  # seconds; a node that takes longer is told as one that hangs
_GLANCE = 0.05  # seconds between two looks for a first frame


class Form(NamedTuple):
    """How frames are drawn."""

    device: int | None  # whose cores are shown first
    width: int | None  # columns; None: those of the terminal, or of COLUMNS, or 80
    signs: Signs
    theme: str | None = None  # of the screen; None: the one that is set

    @property
    def columns(self) -> int:
        """Columns that there are."""
        return self.width or shutil.get_terminal_size((80, 24)).columns


class Pace(NamedTuple):
    """How often, and how many times."""

    period: float  # seconds
    frames: int | None  # None: until somebody has enough


def lines_of(shown: Shown, form: Form) -> list[str]:
    """The last frame; as high as it needs."""
    from neuron_observer.tui.layout import printed  # noqa: PLC0415 - the screen has its own way
    from neuron_observer.tui.view import Cells, View  # noqa: PLC0415 - the same

    frame = shown.feed.latest()
    if frame is None:
        return []
    present = [one.index for one in frame.snapshot.devices]
    if form.device is not None and form.device not in present:
        listed = ", ".join(map(str, present)) or "none"
        raise UsageError(f"--device {form.device}: no such device here", remedy=f"Here: {listed}.")
    chosen = form.device if form.device is not None else min(present, default=None)
    view = View(shown.feed, Cells(frame), shown.clock.monotonic(), chosen, form.signs)
    return printed(view, form.columns)


def lines_of_nodes(nodes: Sequence[Node], clock: Clock, form: Form) -> list[str]:
    """A line a node."""
    from neuron_observer.tui.lines import plain  # noqa: PLC0415 - as above
    from neuron_observer.tui.nodes import listed  # noqa: PLC0415 - the same

    glances = [node.glance() for node in nodes]
    return [
        plain(line).rstrip()
        for line in listed(glances, clock.monotonic(), form.signs, form.columns)
    ]


def wait_for(ready: Callable[[], bool], what: str, seconds: float = _FIRST_FRAME) -> None:
    """Wait until something is so; `DaemonError` where it is not in time."""
    clock = SystemClock()
    end = clock.monotonic() + seconds
    while not ready():
        if clock.monotonic() > end:
            raise DaemonError(f"{what} in {seconds:g} s")
        clock.wait(_GLANCE)


def print_all(
    draw: Callable[[], list[str]],
    pace: Pace,
    clock: Clock,
    ended: Callable[[], bool] = lambda: False,
) -> None:
    """Print a frame a period, each after the time at which it is printed.

    Who reads gets each frame at once and as a whole; when he is gone this ends with the next. A
    period that was missed, because the machine slept, is not made up for.
    """
    due = clock.monotonic()
    for number in count(1):
        is_last = number == pace.frames or ended()
        now = datetime.fromtimestamp(clock.wall(), tz=timezone.utc)
        lines = [f"# {now.strftime('%Y-%m-%dT%H:%M:%SZ')}", *draw(), ""]
        click.echo("\n".join(lines))
        if sys.stdout:
            sys.stdout.flush()
        if is_last:
            break
        due = max(due + pace.period, clock.monotonic())
        clock.wait(due - clock.monotonic())
