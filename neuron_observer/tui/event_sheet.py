"""The table of events: what happened, the newest first."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.tui.sheet import Column, Row, Sheet

if TYPE_CHECKING:
    from neuron_observer.model import Event, Place
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


def clock_text(at: float) -> str:
    """The time of the day, UTC."""
    return datetime.fromtimestamp(at, tz=timezone.utc).strftime("%H:%M:%S")


@cache
def _columns() -> tuple[Column, ...]:
    return (
        Column(
            "at", "UTC", "When", lambda _, row: row.of.at, lambda cell, _: clock_text(float(cell))
        ),  # type: ignore[arg-type]
        Column(
            "where",
            "Where",
            "Where",
            lambda _, row: where(row.place),
            lambda cell, _: str(cell),
            right=False,
        ),
        Column(
            "kind",
            "Kind",
            "What kind of event",
            lambda _, row: row.of.kind,
            lambda cell, _: str(cell),
            right=False,
            tone=_tone,
        ),
        Column(
            "message",
            "What happened",
            "What happened",
            lambda _, row: row.of.message,
            lambda cell, _: str(cell),
            right=False,
            widest=300,
        ),
    )


def _tone(cell: object) -> Tone:
    return "warn" if cell in _BAD else "plain"
