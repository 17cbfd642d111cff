"""The first page: everything at a glance, and the selected device in detail."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.tui.device_grid import rows_of
from neuron_observer.tui.findings import shown
from neuron_observer.tui.jobs import lines_needed
from neuron_observer.tui.memory import CATEGORIES
from neuron_observer.tui.reasons import by_reason
from neuron_observer.tui.region import Region

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

_HOST, POWER = 2, 2  # lines
_CATEGORIES = 1 + len(CATEGORIES)  # lines of the memory panel
# Lines that a row of devices may take (with a gap, without one, two lines a device) and the lines
# that must then be left for the selected one: its eight cores at least, six where it is narrow.
_TILES = ((5, _CATEGORIES + POWER), (4, 9), (2, 7))
_OF_DEVICE = ("identity", "cores", "memory", "power")


class Heights(NamedTuple):
    """Lines of what can be more or less high."""

    grid: int  # all devices
    detail: int  # cores, memory and power of the selected device
    reasons: int
    findings: int = 0
    jobs: int = 0


def overview(view: View, width: int, height: int) -> list[Region]:
    """Regions of a page of that size; what does not fit is cut, the devices stay longest."""
    most = 1 if height < 24 else 2 if height < 34 else 5
    reasons = min(len(by_reason(view)), most)
    found = min(len(shown(view)), most)
    jobs = min(lines_needed(view), 2 if height < 24 else 3 if height < 34 else max(height - 38, 5))
    room = max(height - found - jobs - _HOST - reasons, 0)
    grid = _grid_height(view, width, room)
    return stack(view, width, Heights(grid, max(room - grid - 1, 0), reasons, found, jobs))


def _grid_height(view: View, width: int, room: int) -> int:
    """As high as leaves the details what they need at least."""
    if view.device is None:
        return max(room - 1, 0)
    rows = rows_of(view, width)
    fitting = [1 + rows * tile for tile, detail in _TILES if rows * tile + 2 + detail <= room]
    return fitting[0] if fitting else min(1 + 2 * rows, max(room - 3, 1 + rows), room)


def stack(view: View, width: int, heights: Heights) -> list[Region]:
    """All panels from top to bottom."""
    top = heights.findings
    half, below = width // 2, top + heights.grid + 1
    jobs = below + heights.detail
    end = jobs + heights.jobs
    figures = min(max(heights.detail - POWER, 0), _CATEGORIES)
    regions = [
        Region("findings", 0, 0, width, heights.findings),
        Region("devices", 0, top, width, heights.grid),
        Region("identity", 0, below - 1, width, 1),
        Region("cores", 0, below, half, heights.detail),
        Region("memory", half, below, width - half, figures),
        Region("power", half, below + figures, width - half, min(heights.detail - figures, POWER)),
        Region("jobs", 0, jobs, width, heights.jobs),
        Region("host", 0, end, width, _HOST),
        Region("reasons", 0, end + _HOST, width, heights.reasons),
    ]
    return [one for one in regions if view.device or one.panel not in _OF_DEVICE]
