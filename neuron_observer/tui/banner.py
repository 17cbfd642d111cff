"""What stands over a page where there is something to say of the feed: which, lost, recorded."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from neuron_observer.feed import CONNECTION, Transport
from neuron_observer.text import printable, seconds_text
from neuron_observer.tui.lines import Line, Span, apart, line
from neuron_observer.tui.signs import bar

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

_MOST = 3  # lines
_BAR = 20  # cells at most
_KEYS = "Space plays, , . step, [ ] seek, + - speed "


def banner(view: View, width: int, height: int) -> list[Line]:
    """Which node this is, where a recording stands, and why no frame comes."""
    found = [*_node(view, width), *_recording(view, width), *_lost(view)]
    return found[:height]


def banner_height(view: View) -> int:
    """How many lines that are."""
    return len(banner(view, 80, _MOST))


def _node(view: View, width: int) -> list[Line]:
    """One of several, and how to go back to all of them."""
    if not view.node:
        return []
    back = line(Span(" n", "heading"), Span(" back to all nodes ", "dim"))
    return [apart(line(Span(printable(view.node), "heading")), back, width)]


def _lost(view: View) -> list[Line]:
    """A connection that is lost: since when, why, and when it is tried again."""
    run = next((one for one in view.snapshot.runs if one.collector == CONNECTION), None)
    if run is None or run.ok:
        return []
    age = seconds_text(int(max(view.now - view.snapshot.monotonic, 1.0)))
    told = f"lost: what is shown is {age} old; asked again each {run.seconds:.0f} s"
    return [line(Span(told, "bad"), Span(f": {printable(run.error)}", "plain"))]


def _recording(view: View, width: int) -> list[Line]:
    """Position, speed and keys of a recording."""
    feed = view.feed
    if not isinstance(feed, Transport):
        return []
    state = "ended" if feed.ended else "paused" if feed.paused else speed_text(feed.speed)
    share = feed.position / feed.span if feed.span else 1.0
    filled, rest = bar(share, min(_BAR, width // 5), view.signs)
    at = datetime.fromtimestamp(view.snapshot.at, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    told = [
        Span(f"{state:<7}", "chosen" if feed.paused or feed.ended else "heading"),
        Span(f" {at} UTC  "),
        Span(filled, "load"),
        Span(rest, "dim"),
        Span(f" {_minutes(feed.position)} of {_minutes(feed.span)}"),
    ]
    if feed.note:
        told.append(Span(f"  {printable(feed.note)}", "warn"))
    keys = line(Span(f" {_KEYS}", "dim"))
    return [apart(tuple(told), keys, width) if width >= 110 and not feed.note else tuple(told)]


def speed_text(speed: float) -> str:
    """x1, x0.25, or as fast as it goes."""
    return f"x{speed:g}" if speed > 0 else "fastest"


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
