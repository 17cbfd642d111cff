"""The table of events: what happened, the newest first."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.model import Missing
from neuron_observer.tui.sheet import Column, Row, Sheet
from neuron_observer.tui.view import clock_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Cell, Event, Place
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

SPAN = 900.0  # seconds before what is shown
_BAD = ("device_left", "kernel_line", "counter_reset", "driver_gone")


def events(view: View) -> Sheet:
    """A row an event."""
    happened = list_events(view)
    rows = [
        Row(f"{one.at:.3f} {one.kind} {number}", one.place, one)
        for number, one in enumerate(happened)
    ]
    return Sheet(
        _columns(), rows[::-1], (), f"nothing happened in the last {SPAN / 60:.0f} minutes"
    )


def list_events(view: View) -> list[Event]:
    """Those of the last minutes, oldest first."""
    late = max(view.now - view.instant, 0.0)
    return [one for one in view.feed.events(SPAN + late) if view.at - SPAN <= one.at <= view.at]


def where(place: Place) -> str:
    """The place of an event."""
    if place.device is None:
        return place.label or "node"
    return f"neuron{place.device}" + ("" if place.core is None else f" core {place.core}")


@cache
def _columns() -> tuple[Column, ...]:
    def words(name: str, head: str, read: Callable[[Row], Cell], widest: int = 60) -> Column:
        return Column(
            name,
            head,
            head,
            lambda _, row: read(row),
            lambda cell, _: str(cell),
            right=False,
            widest=widest,
        )

    return (
        words("at", "UTC", lambda row: row.of.at)._replace(text=_clock),
        words("where", "Where", lambda row: where(row.place)),
        words("kind", "Kind", lambda row: row.of.kind)._replace(tone=_tone),
        words("message", "What happened", lambda row: row.of.message, 300),
    )


def _clock(cell: Cell, view: View) -> str:
    return view.signs.dash if isinstance(cell, Missing) else clock_text(float(cell))


def _tone(cell: Cell) -> Tone:
    return "warn" if cell in _BAD else "plain"
