"""The cores of the selected device: utilization now, its course, HBM held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Missing, Place
from neuron_observer.tui.lines import BLANK, Line, Span, line
from neuron_observer.tui.signs import bar, chart
from neuron_observer.tui.view import gib, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Core, Value
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

_UTILIZATION = "core.utilization"
_FIXED = 19  # cells of a line that are neither bar nor course
_HIGHEST = 6  # lines of a course


def core_bars(view: View, width: int, height: int) -> list[Line]:
    """A heading and one or more lines a core."""
    device = view.device
    if device is None:
        return []
    room = max(width - _FIXED, 0)
    bars = min(room // 3, 30)
    course = room - bars
    rows = min(max((height - 1) // max(len(device.cores), 1), 1), _HIGHEST)
    shown = device.cores[: max((height - 1) // rows, 0)]
    head = f"Cores of {device.index}"
    more = len(device.cores) - len(shown)
    more_text = f", {more} more" if more else ""
    lines = [
        line(
            Span(head + more_text, "heading"),
            Span(_legend(course, width - len(head + more_text)), "dim"),
        )
    ]
    if not device.cores:
        return [*lines, line("  ", Span("no core was found", "warn"))]
    for core in shown:
        lines += _core(view, core, bars, course, rows)
    return lines


def _legend(course: int, room: int) -> str:
    """What stands in a line, in as many words as there is room for."""
    if course <= 0:
        return ""
    said = (f"  util, last {course} s, HBM GiB", f"  util, last {course} s", f"  last {course} s")
    return next((text for text in said if len(text) < room), "")


def _core(view: View, core: Core, bars: int, course: int, rows: int) -> list[Line]:
    """The last line has the figures; those above it belong to the course, but for a gap."""
    place = Place(core.device, core.index)
    share = view.cells.number(_UTILIZATION, place)
    held = gib(view.cells.number("core.hbm.used", place), view)
    tone: Tone = "figure"
    filled, rest = " " * bars, ""
    if isinstance(share, Missing):
        tone = "dim"
    else:
        filled, rest = bar(share, bars, view.signs)
    *above, last = chart(columns(view, place, course), rows - 1 if rows > 2 else rows, view.signs)
    figures = line(
        f"{core.index:>2}",
        Span(f"{percent(share, view):>5} ", tone),
        Span(filled, "load"),
        Span(rest, "dim"),
        Span(f"  {last}", "load"),
        Span(f" {held:>5}"),
    )
    gap = [BLANK] * (rows - 1 - len(above))
    return [*gap, *(line(" " * (10 + bars), Span(text, "load")) for text in above), figures]


def columns(view: View, place: Place, width: int) -> list[float | None]:
    """Utilization a second, the newest at the right end; None where nothing was read."""

    def found() -> list[float | None]:
        values = view.history(_UTILIZATION, place, float(width))
        return by_second(values, view.instant, width)

    return view.cells.once((place, width), found)


def by_second(values: Sequence[Value], end: float, width: int) -> list[float | None]:
    """The last value of each of the last `width` seconds."""
    found: list[float | None] = [None] * width
    for value, read_time in values:
        back = int(end - read_time)
        if not isinstance(value, str) and 0 <= back < width:
            found[width - 1 - back] = float(value)
    return found
