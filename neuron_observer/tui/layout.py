"""Which panel stands where, by the size of the screen; and a whole screen as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from neuron_observer.tui.core_bars import core_bars
from neuron_observer.tui.device_grid import device_grid, rows_of
from neuron_observer.tui.findings import findings, shown
from neuron_observer.tui.host_strip import host_strip
from neuron_observer.tui.lines import BLANK, fit, plain
from neuron_observer.tui.memory import CATEGORIES, memory
from neuron_observer.tui.node_line import node_line
from neuron_observer.tui.power import identity, power
from neuron_observer.tui.reasons import by_reason, listed, reasons
from neuron_observer.tui.tabs import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from neuron_observer.tui.lines import Line
    from neuron_observer.tui.view import View

    Panel: TypeAlias = Callable[[View, int, int], list[Line]]

PANELS: Mapping[str, Panel] = {
    "node": node_line,
    "findings": findings,
    "devices": device_grid,
    "identity": identity,
    "cores": core_bars,
    "memory": memory,
    "power": power,
    "host": host_strip,
    "reasons": reasons,
    "keys": keys,
}
_HOST, _POWER = 2, 2  # lines
_CATEGORIES = 1 + len(CATEGORIES)  # lines of the memory panel
# Lines that a row of devices may take (with a gap, without one, two lines a device) and the lines
# that must then be left for the selected one: its eight cores at least, six where it is narrow.
_TILES = ((5, _CATEGORIES + _POWER), (4, 9), (2, 7))


class Region(NamedTuple):
    """Where a panel stands, in cells."""

    panel: str
    x: int
    y: int
    width: int
    height: int

    def has(self, x: int, y: int) -> bool:
        """Whether a cell of the screen lies in it."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


class Heights(NamedTuple):
    """Lines of what can be more or less high."""

    grid: int  # all devices
    detail: int  # cores, memory and power of the selected device
    reasons: int
    keys: int = 1
    findings: int = 0


def arrange(view: View, width: int, height: int) -> tuple[Region, ...]:
    """Regions for a screen of that size; what does not fit is cut, the devices stay longest."""
    most = 1 if height < 26 else 2 if height < 36 else 5
    reasons = min(len(by_reason(view)), most)
    found = min(len(shown(view)), most)
    room = max(height - 1 - found - _HOST - reasons - 1, 0)
    grid = _grid_height(view, width, room)
    heights = Heights(grid, max(room - grid - 1, 0), reasons, findings=found)
    placed = (
        region._replace(height=min(region.height, height - region.y))
        for region in _stacked(view, width, heights)
    )
    return tuple(region for region in placed if region.height > 0)


def _grid_height(view: View, width: int, room: int) -> int:
    """As high as leaves the details what they need at least."""
    if view.device is None:
        return max(room - 1, 0)
    rows = rows_of(view, width)
    fitting = [1 + rows * tile for tile, detail in _TILES if rows * tile + 2 + detail <= room]
    return fitting[0] if fitting else min(1 + rows, room)


def _stacked(view: View, width: int, heights: Heights) -> list[Region]:
    """All panels from top to bottom."""
    top = 1 + heights.findings
    half, below = width // 2, top + heights.grid + 1
    end = below + heights.detail
    figures = min(max(heights.detail - _POWER, 0), _CATEGORIES)
    regions = [
        Region("node", 0, 0, width, 1),
        Region("findings", 0, 1, width, heights.findings),
        Region("devices", 0, top, width, heights.grid),
        Region("identity", 0, below - 1, width, 1),
        Region("cores", 0, below, half, heights.detail),
        Region("memory", half, below, width - half, figures),
        Region("power", half, below + figures, width - half, min(heights.detail - figures, _POWER)),
        Region("host", 0, end, width, _HOST),
        Region("reasons", 0, end + _HOST, width, heights.reasons),
        Region("keys", 0, end + _HOST + heights.reasons, width, heights.keys),
    ]
    return [one for one in regions if view.device or one.panel not in _OF_DEVICE]


_OF_DEVICE = ("identity", "cores", "memory", "power")


def printed(view: View, width: int) -> list[str]:
    """A frame for a pipe or a file: as high as it needs, without keys, each reason in full."""
    cores = len(view.device.cores) if view.device else 0
    detail = 1 + max(cores, len(CATEGORIES) + _POWER) if view.device else 0
    grid = 1 + max(2 * rows_of(view, width), 2)
    regions = _stacked(view, width, Heights(grid, detail, 0, 0, len(shown(view))))
    lines = [*_composed(view, regions, width), *listed(view)]
    return [plain(one).rstrip() for one in lines]


def screen(view: View, width: int, height: int) -> list[str]:
    """The whole screen as text, without what the widgets add: tones."""
    return [plain(one).rstrip() for one in composed(view, width, height)]


def composed(view: View, width: int, height: int) -> list[Line]:
    """The whole screen as lines."""
    lines = _composed(view, arrange(view, width, height), width)
    return [*lines, *[BLANK] * (height - len(lines))]


def _composed(view: View, regions: Sequence[Region], width: int) -> list[Line]:
    return stacked({region: drawn(view, region) for region in regions}, width)


def stacked(of: Mapping[Region, list[Line]], width: int) -> list[Line]:
    """The lines of regions, each where it stands."""
    height = max(region.y + region.height for region in of)
    rows: list[Line] = [BLANK] * height
    for region in sorted(of, key=lambda region: region.x):
        for y, one in enumerate(of[region], region.y):
            rows[y] = (*fit(rows[y], region.x), *one)
    return [fit(row, width) for row in rows]


def drawn(view: View, region: Region) -> list[Line]:
    """The lines of one region, exactly as many and as long as it is."""
    lines = PANELS[region.panel](view, region.width, region.height)[: region.height]
    lines += [()] * (region.height - len(lines))
    return [fit(one, region.width) for one in lines]
