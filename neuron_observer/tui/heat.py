"""All physical cores at once, by what they do; below them the logical ones, where known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Missing, Place
from neuron_observer.tui.device_grid import letter
from neuron_observer.tui.lines import Line, Span, beside, line
from neuron_observer.tui.signs import chart
from neuron_observer.tui.torus import order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Device
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

_UTILIZATION = "core.utilization"
_LABEL = 6  # cells before the first core of a device
_CELL = 4  # a sign and up to three figures
_HOTTEST = ((0.9, "hot"), (0.6, "warm"), (0.2, "cool"))


def heat(view: View, width: int, height: int) -> list[Line]:
    """A heading, the devices side by side, the logical cores."""
    heading = line(Span("Cores", "heading"), Span("  physical, by index; utilization in %", "dim"))
    blocks = [_device(view, index) for index in sorted(order(view)[0])]
    wide, fitting = _block(view), devices_in_a_row(view, width)
    lines = [heading]
    for start in range(0, len(blocks), fitting):
        lines += beside([([one], wide) for one in blocks[start : start + fitting]], 1)
    return [*lines, *logical(view, width)][:height]


def heat_height(view: View, width: int) -> int:
    """Lines that all of it needs."""
    rows = -(-len(order(view)[0]) // devices_in_a_row(view, width))
    return 1 + rows + len(logical(view, width))


def devices_in_a_row(view: View, width: int) -> int:
    """Devices that stand side by side."""
    return max(width // _block(view), 1)


def core_at(view: View, width: int, x: int, y: int) -> tuple[int, int | None] | None:
    """Device and core at a cell of the panel."""
    fitting, wide = devices_in_a_row(view, width), _block(view)
    indexes = sorted(order(view)[0])
    place = (y - 1) * fitting + x // wide
    if y < 1 or x // wide >= fitting or place >= len(indexes):
        return None
    core = (x % wide - _LABEL) // _CELL
    device = next((one for one in view.snapshot.devices if one.index == indexes[place]), None)
    known = device is not None and 0 <= core < len(device.cores)
    return indexes[place], core if known else None


def _block(view: View) -> int:
    most = max((len(device.cores) for device in view.snapshot.devices), default=0)
    return _LABEL + _CELL * max(most, 3) + 1


def _device(view: View, index: int) -> Line:
    device = next((one for one in view.snapshot.devices if one.index == index), None)
    is_chosen = index == view.selected
    tone: Tone = "chosen" if is_chosen else "plain"
    name = Span(f"{view.signs.chosen if is_chosen else ' '}{index:>2}", tone)
    if device is None:
        return line(name, Span(" not here", "bad"))
    return line(name, " ", letter(view, index), " ", *_cores(view, device))


def _cores(view: View, device: Device) -> list[Span]:
    places = [Place(device.index, core.index) for core in device.cores]
    return [_cell(view, view.cells.number(_UTILIZATION, place)) for place in places]


def _cell(view: View, share: float | Missing) -> Span:
    if isinstance(share, Missing):
        return Span(f"{view.signs.dash:<{_CELL}}", "dim")
    (sign,) = chart([share], 1, view.signs)
    tone = next((tone for least, tone in _HOTTEST if share >= least), "dim")
    return Span(f"{sign}{min(share, 9.99) * 100:<3.0f}", tone)  # type: ignore[arg-type]


def logical(view: View, width: int) -> list[Line]:
    """The logical cores that neuron-monitor names; none where nobody does."""
    places = _logical_places(view)
    if not places:
        return []
    cells = [
        line(
            Span(f" {place.label.rpartition('core')[2]:>3} ", "dim"),
            _cell(view, view.cells.number("logical_core.utilization", place)),
        )
        for place in places
    ]
    fitting = max(width // (5 + _CELL), 1)
    heading = line(Span("Logical cores", "heading"), Span("  as neuron-monitor names them", "dim"))
    rows = [cells[start : start + fitting] for start in range(0, len(cells), fitting)]
    return [heading, *(tuple(span for cell in row for span in cell) for row in rows)]


def _logical_places(view: View) -> Sequence[Place]:
    columns = (
        batch.layout.columns.get("logical_core.utilization") for batch in view.snapshot.batches
    )
    return [place for column in columns if column for place in column.places]
