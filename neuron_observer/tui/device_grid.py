"""All devices as tiles: health, utilization, power, HBM; the selected one is marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import NODE, Missing, Place, Verdict
from neuron_observer.tui.lines import BLANK, Line, Span, apart, beside, fit, line
from neuron_observer.tui.node_line import TONES
from neuron_observer.tui.signs import bar
from neuron_observer.tui.torus import SIDE, not_here, order
from neuron_observer.tui.view import gib, percent

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Device
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

NARROW, WIDE = 20, 60  # cells of a tile
LETTERS = {
    Verdict.HEALTHY: "H",
    Verdict.DEGRADED: "D",
    Verdict.UNHEALTHY: "U",
    Verdict.UNKNOWN: "?",
}


class Tiling(NamedTuple):
    """How tiles are laid out below the heading."""

    order: tuple[int, ...]
    columns: int
    width: int  # of a tile
    height: int
    is_torus: bool = False

    def at(self, x: int, y: int) -> int | None:
        """The index of the device at a cell of the panel, whose heading is line 0."""
        column, row = x // self.width, (y - 1) // self.height
        place = row * self.columns + column
        inside = y >= 1 and column < self.columns and place < len(self.order)
        return self.order[place] if inside else None


def columns_of(view: View, width: int) -> int:
    """Tiles in a row: four for a torus, else as many as fit, rows evenly long."""
    indexes, _ = order(view)
    fitting = max(width // NARROW, 1)
    if len(indexes) == SIDE * SIDE and fitting >= SIDE:
        return SIDE
    rows = -(-len(indexes) // fitting) or 1
    return -(-len(indexes) // rows) or 1


def rows_of(view: View, width: int) -> int:
    """Rows of tiles."""
    return -(-len(order(view)[0]) // columns_of(view, width)) or 1


def tiling(view: View, width: int, height: int) -> Tiling:
    """The tiles of a panel of that size, as high as fit, at most four lines and a gap."""
    indexes, is_torus = order(view)
    columns, rows = columns_of(view, width), rows_of(view, width)
    tile = min(max((height - 1) // rows, 1), 5)
    return Tiling(indexes, columns, max(min(width // columns, WIDE), 1), tile, is_torus)


def device_grid(view: View, width: int, height: int) -> list[Line]:
    """The heading and the tiles; where there is no device, what there is instead."""
    tiles = tiling(view, width, height)
    lines = [fit(_heading(view, tiles), width)]
    if not tiles.order:
        return [*lines, *nothing(view)]
    devices = {device.index: device for device in view.snapshot.devices}
    for start in range(0, len(tiles.order), tiles.columns):
        row = tiles.order[start : start + tiles.columns]
        blocks = [(_tile(view, index, devices.get(index), tiles), tiles.width) for index in row]
        lines += beside(blocks, tiles.height)
    return lines


def _heading(view: View, tiles: Tiling) -> Line:
    said = remarks(view)
    shape = "Devices, 4x4 torus" if tiles.is_torus and tiles.columns == SIDE else "Devices"
    units = "U utilization, P power, HBM GiB" if tiles.height <= 2 and tiles.order else ""
    spans = [Span(shape, "heading"), Span(f"  {units}  " if units else "  ", "dim")]
    return (*spans, *(Span(f"{text}  ", "warn") for text in said))


def remarks(view: View) -> list[str]:
    """What a reader must know before counting devices."""
    cells, said = view.cells, []
    if view.snapshot.driver.state == "coming":
        said.append("the driver is loading")
    if gone := not_here(view):
        said.append(f"NOT HERE: {', '.join(map(str, gone))}")
    hidden = cells.at("node.devices_hidden", NODE)
    if isinstance(hidden, int) and hidden:
        said.append(f"{hidden} not given to this container")
    functions = cells.at("node.pci_functions", NODE)
    bound = cells.at("node.pci_functions_bound", NODE)
    if isinstance(functions, int) and isinstance(bound, int) and functions > bound:
        said.append(f"{functions - bound} PCI functions without driver")
    said += [f"{run.collector} failed" for run in view.snapshot.runs if not run.ok]
    return said


def nothing(view: View) -> list[Line]:
    """What stands where no device is."""
    if view.snapshot.driver.state == "absent":
        text = "no Neuron device here: the driver is not loaded (lsmod | grep neuron)"
        if view.cells.at("node.pci_functions", NODE) in (0, None):
            text = "no Neuron device, driver or PCI function here"
    else:
        text = "the driver is loaded and shows no device"
    return [BLANK, line("  ", Span(text, "warn"))]


def _tile(view: View, index: int, device: Device | None, tiles: Tiling) -> list[Line]:
    """One device in one to four lines; the last cell is left blank, as a gap."""
    room = max(tiles.width - 1, 0)
    chosen = index == view.selected
    tone: Tone = "chosen" if chosen else "plain"
    name = Span(f"{view.signs.chosen if chosen else ' '}{index:>2}", tone)
    if device is None:
        return [line(name, Span(" not here", "bad"))]
    head = line(name, " ", letter(view, index))
    show = _rows(view, index)
    if tiles.height <= 2:
        utilization, power = (percent(_share(view, m, index), view) for m in (_UTILIZATION, _POWER))
        first = (*head, Span(" U"), Span(f"{utilization:>5}", "figure"))
        first = (*first, Span(f" P{power:>5}"))
        return [first, line("   ", *show["HBM"](room - 3))][: tiles.height]
    title = apart(head, line(Span(device.name or "", "dim")), room)
    rows = [line("   ", *show[name](room - 3)) for name in ("util", "HBM", "power")]
    return [title, *rows][: tiles.height]


_UTILIZATION, _POWER = "device.utilization", "device.power.mean"
_SCALES = {_UTILIZATION: 1.0, _POWER: 100.0}


def _share(view: View, metric: str, index: int) -> float | Missing:
    cell = view.cells.number(metric, Place(index))
    return cell if isinstance(cell, Missing) else cell / _SCALES[metric]


def letter(view: View, index: int) -> Span:
    """The device's verdict in one letter; a question mark where it is not judged."""
    if view.is_past:
        return Span(view.signs.dash, "dim")
    for device in view.frame.health.devices:
        if device.index == index:
            return Span(LETTERS[device.verdict], TONES[device.verdict])
    return Span("?", "dim")


def _rows(view: View, index: int) -> dict[str, Callable[[int], Line]]:
    def ratio(tone: Tone, name: str, metric: str) -> Callable[[int], Line]:
        share = _share(view, metric, index)
        bar_of = Bar(name, tone, share, percent(share, view))
        return lambda width: labelled(view, bar_of, width)

    return {
        "util": ratio("load", "util ", _UTILIZATION),
        "HBM": lambda width: _memory(view, index, width),
        "power": ratio("power", "power", _POWER),
    }


def _memory(view: View, index: int, width: int) -> Line:
    used = view.cells.number("device.hbm.used", Place(index))
    capacity = view.cells.number("device.hbm.capacity", Place(index))
    share: float | Missing = used
    if not isinstance(used, Missing):
        share = capacity if isinstance(capacity, Missing) else used / capacity
    text = f"{gib(used, view)}/{gib(capacity, view)}"
    return labelled(view, Bar("HBM  " if width >= 20 else "", "memory", share, text), width)


class Bar(NamedTuple):
    """What a bar shows."""

    name: str
    tone: Tone
    share: float | Missing
    text: str  # the figure behind it


def labelled(view: View, of: Bar, width: int) -> Line:
    """A name, a bar and its figure; no bar where the share is missing."""
    figure = f"{of.text:>8}"
    room = max(width - len(of.name) - len(figure) - (1 if of.name else 0), 0)
    start = line(Span(f"{of.name} ", "dim")) if of.name else ()
    if isinstance(of.share, Missing):
        return (*start, Span(" " * room), Span(figure, "dim"))
    filled, rest = bar(of.share, room, view.signs)
    return (*start, Span(filled, of.tone), Span(rest, "dim"), Span(figure, "figure"))
