"""The last minutes of the selected device: health signals, power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.model import Missing, Place
from neuron_observer.text import printable, seconds_text
from neuron_observer.tui.columns import heading, of_metric
from neuron_observer.tui.event_sheet import list_events, where
from neuron_observer.tui.lines import Line, Span, line
from neuron_observer.tui.signs import chart
from neuron_observer.tui.view import clock_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Value
    from neuron_observer.tui.view import View

SPAN = 900.0  # seconds
_NAME, _FIGURE = 16, 10  # cells
_HEALTH = (
    *("device.hbm.ecc_uncorrected", "device.hbm.ecc_repairable_uncorrected"),
    *("device.sram.ecc_uncorrected", "device.hbm.ecc_corrected", "device.sram.ecc_corrected"),
    *("device.health.error_events", "device.firmware.read_seconds", "device.thermal.temperature"),
)
_POWER = (
    *("device.power.mean", "device.power.maximum", "device.power.minimum"),
    *("device.power.die0.utilization", "device.power.die1.utilization", "device.utilization"),
)


def health(view: View, width: int, height: int) -> list[Line]:
    """Counts over the last minutes, then the device's events, the newest first."""
    if view.device is None:
        return []
    index = view.device.index
    lines = [_heading(f"neuron{index}, health", width)]
    lines += [_course(view, name, Place(index), width, rising=True) for name in _HEALTH]
    happened = [one for one in list_events(view) if one.place.device in (index, None)]
    lines.append(line(Span("Events of the device and the node", "heading")))
    for one in reversed(happened):
        lines.append(
            line(
                Span(f" {clock_text(one.at)} ", "dim"),
                printable(f"{where(one.place)} {one.kind} "),
                Span(printable(one.message), "dim"),
            )
        )
    if not happened:
        lines.append(line(Span(" none", "dim")))
    return lines[:height]


def watts(view: View, width: int, height: int) -> list[Line]:
    """Power over the last minutes, in shares of the maximum."""
    if view.device is None:
        return []
    index = view.device.index
    lines = [_heading(f"neuron{index}, power", width)]
    rows = min(max((height - 1) // len(_POWER), 1), 6)
    for name in _POWER:
        lines += _shares(view, name, Place(index), width, rows)
    return lines[:height]


def _heading(text: str, width: int) -> Line:
    room = max(width - _NAME - _FIGURE, 1)
    return line(
        Span(text, "heading"),
        Span(f"  the last {seconds_text(SPAN)}, {seconds_text(SPAN / room)} a cell", "dim"),
    )


def _course(view: View, name: str, place: Place, width: int, *, rising: bool) -> Line:
    """One line: the name, its value over time as share of the largest, the value now."""
    column = of_metric(name)
    cell = view.cells.at(name, place)
    figure = view.signs.dash if isinstance(cell, Missing) else column.text(cell, view)
    values = _by_cell(view, view.history(name, place, SPAN), max(width - _NAME - _FIGURE, 1))
    known = [value for value in values if value is not None]
    top = max(known, default=0.0)
    shares = [None if value is None else value / top if top else 0.0 for value in values]
    (drawn,) = chart(shares, 1, view.signs)
    grew = rising and known and known[-1] > known[0]
    return line(
        f"{heading(METRICS[name]):<{_NAME}}",
        Span(drawn, "bad" if grew else "load"),
        Span(f"{figure:>{_FIGURE}}", "dim" if isinstance(cell, Missing) else "figure"),
    )


def _shares(view: View, name: str, place: Place, width: int, rows: int) -> list[Line]:
    column, spec = of_metric(name), METRICS[name]
    cell = view.cells.at(name, place)
    figure = view.signs.dash if isinstance(cell, Missing) else column.text(cell, view)
    values = _by_cell(view, view.history(name, place, SPAN), max(width - _NAME - _FIGURE, 1))
    shares = [None if value is None else value * spec.scale for value in values]
    *above, last = chart(shares, rows, view.signs)
    return [
        *(line(" " * _NAME, Span(text, "power")) for text in above),
        line(
            f"{heading(spec):<{_NAME}}", Span(last, "power"), Span(f"{figure:>{_FIGURE}}", "figure")
        ),
    ]


def _by_cell(view: View, values: Sequence[Value], cells: int) -> list[float | None]:
    """The largest value of each stretch of time, the newest at the right end."""
    found: list[float | None] = [None] * cells
    for value, read_time in values:
        back = int((view.instant - read_time) / SPAN * cells)
        if not isinstance(value, str) and 0 <= back < cells:
            place = cells - 1 - back
            known = found[place]
            found[place] = float(value) if known is None else max(known, float(value))
    return found
