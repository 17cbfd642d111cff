"""HBM of the selected device by category, the largest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Missing, Place, Why
from neuron_observer.text import bytes_text
from neuron_observer.tui.lines import Line, Span, line
from neuron_observer.tui.signs import bar
from neuron_observer.tui.view import gib

if TYPE_CHECKING:
    from neuron_observer.model import Device
    from neuron_observer.tui.view import View

CATEGORIES = (
    "tensors",
    "constants",
    "model_code",
    "model_shared_scratchpad",
    "nonshared_scratchpad",
    "runtime_memory",
    "driver_memory",
    "dma_rings",
    "collectives",
    "notifications",
    "uncategorized",
)
NO_CORE = Missing(Why.FAILED, "no core was found")
_NAME = 24  # cells of the longest name and a blank


def memory(view: View, width: int, height: int) -> list[Line]:
    """A heading and one line a category; what does not fit is summed up in the last line."""
    device = view.device
    if device is None:
        return []
    heading = line(Span("HBM by category", "heading"), Span(", GiB", "dim"))
    held = {name: total(view, device, name) for name in CATEGORIES}
    whole = sum(figure for figure in held.values() if not isinstance(figure, Missing))
    names = sorted(CATEGORIES, key=lambda name: _largest_first(held[name]))
    room = max(height - 1, 0)
    kept = len(names) if len(names) <= room else max(room - 1, 0)
    lines = [heading, *(_category(view, name, held[name], whole, width) for name in names[:kept])]
    if names[kept:] and room:
        lines.append(line(Span(_rest([held[name] for name in names[kept:]]), "dim")))
    return lines


def _largest_first(held: float | Missing) -> float:
    return 1.0 if isinstance(held, Missing) else -held


def _rest(held: list[float | Missing]) -> str:
    """What stands for the categories that do not fit."""
    known = [figure for figure in held if not isinstance(figure, Missing)]
    said = [f"{len(known)} more: {bytes_text(sum(known))}"] if known else []
    if len(known) < len(held):
        said.append(f"{len(held) - len(known)} not readable")
    return ", ".join(said)


def total(view: View, device: Device, category: str) -> float | Missing:
    """Bytes of one category on all cores; missing if it is on one, or where no core is."""
    return view.cells.once((device.index, category), lambda: _total(view, device, category))


def _total(view: View, device: Device, category: str) -> float | Missing:
    if not device.cores:
        return NO_CORE
    held = 0.0
    for core in device.cores:
        cell = view.cells.number(f"core.hbm.{category}", Place(device.index, core.index))
        if isinstance(cell, Missing):
            return cell
        held += cell
    return held


def _category(view: View, name: str, held: float | Missing, whole: float, width: int) -> Line:
    figure = f"{gib(held, view):>5}"
    label = f"{name:<{_NAME}}"
    room = min(max(width - _NAME - len(figure) - 1, 0), 60)
    if isinstance(held, Missing):
        return line(label, " " * room, Span(figure, "dim"))
    filled, rest = bar(held / whole if whole else 0.0, room, view.signs)
    return line(label, Span(filled, "memory"), Span(rest, "dim"), Span(figure, "figure"))
