"""Who the selected device is, what its firmware says of itself, and its power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Missing, Place
from neuron_observer.text import printable
from neuron_observer.tui.device_grid import letter
from neuron_observer.tui.lines import Line, Span, line
from neuron_observer.tui.view import percent

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

_MINUTE = (("min", "minimum"), ("mean", "mean"), ("max", "maximum"))


def identity(view: View, width: int, height: int) -> list[Line]:  # noqa: ARG001 - as every panel
    """One line: index, chip, serial number, firmware, verdict."""
    device = view.device
    if device is None:
        return []
    place = Place(device.index)
    pieces = [
        Span(f"neuron{device.index}", "heading"),
        Span(f"  {printable(device.name or 'chip unknown')}"),
        Span(f"  serial {printable(device.serial) if device.serial else view.signs.dash}", "dim"),
        Span("  firmware ", "dim"),
        _firmware(view, place),
        Span("  health ", "dim"),
        letter(view, device.index),
    ]
    reasons = [one.reason for one in view.frame.health.devices if one.index == device.index]
    return [line(*pieces, *(f" {printable(reason)}" for reason in reasons if reason))]


def _firmware(view: View, place: Place) -> Span:
    """What the firmware calls unhealthy; nothing named is its word, no verdict of ours."""
    named = view.cells.at("device.health.unhealthy_components", place)
    if isinstance(named, Missing):
        return Span(view.signs.dash, "dim")
    return Span(f"names {printable(str(named))}", "bad") if named else Span("names no fault")


def power(view: View, width: int, height: int) -> list[Line]:  # noqa: ARG001 - as every panel
    """Two lines: the last minute, and each die now, in shares of the maximum."""
    device = view.device
    if device is None:
        return []
    place = Place(device.index)
    minute = [
        Span(f" {name} {percent(_share(view, f'device.power.{leaf}', place, 100), view)}", "figure")
        for name, leaf in _MINUTE
    ]
    dies = [
        Span(f" die {die} {percent(_share(view, metric, place, 10_000), view)}", "figure")
        for die, metric in enumerate(DIES)
    ]
    return [
        line(Span("Power", "heading"), Span(" minute", "dim"), *minute),
        line(Span("      now   ", "dim"), *dies),
    ]


DIES = ("device.power.die0.utilization", "device.power.die1.utilization")


def _share(view: View, metric: str, place: Place, whole: float) -> float | Missing:
    cell = view.cells.number(metric, place)
    return cell if isinstance(cell, Missing) else cell / whole
