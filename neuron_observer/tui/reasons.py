"""Why a dash stands where it stands: for the selected device and for the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import NODE, Missing, Place
from neuron_observer.text import printable
from neuron_observer.tui.host_strip import PRESSURES, processor, throughput
from neuron_observer.tui.lines import Line, Span, apart, line
from neuron_observer.tui.memory import CATEGORIES, total
from neuron_observer.tui.power import DIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.model import Cell
    from neuron_observer.tui.view import View

_OF_DEVICE = (
    ("util", "device.utilization"),
    ("HBM", "device.hbm.used"),
    ("HBM capacity", "device.hbm.capacity"),
    ("power of the minute", "device.power.mean"),
    ("least power", "device.power.minimum"),
    ("most power", "device.power.maximum"),
    ("die 0", DIES[0]),
    ("die 1", DIES[1]),
    ("firmware", "device.health.unhealthy_components"),
    ("serial", "device.serial"),
)
_OF_CORE = (("util", "core.utilization"), ("HBM", "core.hbm.used"))


def reasons(view: View, width: int, height: int) -> list[Line]:
    """One line a reason, the device's first; the last line counts those that do not fit."""
    lines = listed(view, most=2)
    if len(lines) <= height or height < 1:
        return lines
    left = len(lines) - height
    more = line(Span(f"  {left} more: w", "heading"))
    return [*lines[: height - 1], apart(lines[height - 1], more, width)]


def listed(view: View, most: int | None = None) -> list[Line]:
    """One line a reason, after at most so many names of what is missing for it."""
    return [
        line(Span(f"{view.signs.dash} {named(names, most)}: "), Span(reason, "dim"))
        for reason, names in by_reason(view).items()
    ]


def named(names: list[str], most: int | None) -> str:
    """At most so many names, and how many there are besides."""
    left = 0 if most is None else len(names) - most
    return f"{', '.join(names[:most])} and {left} more" if left > 0 else ", ".join(names)


def by_reason(view: View) -> dict[str, list[str]]:
    """Reason → the names of what is missing for it, in the order of the screen."""
    known = view.cells.reasons
    if view.selected not in known:
        known[view.selected] = _by_reason(view)
    return known[view.selected]


def _by_reason(view: View) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, cell in (*_device_cells(view), *_host_cells(view)):
        if isinstance(cell, Missing):
            reason = f"{cell.why.value}: {cell.detail}" if cell.detail else cell.why.value
            names = found.setdefault(printable(reason), [])
            if name not in names:
                names.append(name)
    return found


def _device_cells(view: View) -> Iterator[tuple[str, Cell]]:
    device = view.device
    if device is None:
        return
    for name, metric in _OF_DEVICE:
        yield name, view.cells.at(metric, Place(device.index))
    for core in device.cores:
        for name, metric in _OF_CORE:
            yield name, view.cells.at(metric, Place(device.index, core.index))
    for category in CATEGORIES:
        yield f"HBM of {category}", total(view, device, category)


def _host_cells(view: View) -> Iterator[tuple[str, Cell]]:
    cells = view.cells
    yield "cpu", processor(view)
    yield "mem", cells.at("host.memory.used", NODE)
    yield "mem", cells.at("host.memory.total", NODE)
    for name in PRESSURES:
        yield f"pressure of {name}", cells.at(f"host.pressure.{name}.some_10s", NODE)
    yield "EFA", throughput(view, "efa.port.tx_bytes")
    yield "EFA", throughput(view, "efa.port.rx_bytes")
    if cells.ports:
        yield "EFA sent again", throughput(view, "efa.port.retransmitted_bytes")
