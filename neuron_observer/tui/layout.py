"""Which panel stands where, by page and size; and a whole screen as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.tui.banner import banner_height
from neuron_observer.tui.device_grid import rows_of
from neuron_observer.tui.findings import shown
from neuron_observer.tui.jobs import lines_needed
from neuron_observer.tui.lines import BLANK, fit, plain
from neuron_observer.tui.memory import CATEGORIES
from neuron_observer.tui.overview import POWER, Heights, stack
from neuron_observer.tui.pages import PAGES
from neuron_observer.tui.panels import PANELS
from neuron_observer.tui.reasons import listed
from neuron_observer.tui.region import Region

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from neuron_observer.tui.lines import Line
    from neuron_observer.tui.view import View

_FRAME = 2  # lines around a page: the node's above it, the tabs below


def arrange(view: View, width: int, height: int) -> tuple[Region, ...]:
    """Regions for a screen of that size: the node's line, the page, the tabs."""
    told = banner_height(view)
    page = PAGES[view.page].arrange(view, width, max(height - _FRAME - told, 0))
    regions = [
        Region("node", 0, 0, width, 1),
        Region("banner", 0, 1, width, told),
        *_moved(page, 1 + told),
        Region("tabs", 0, height - 1, width, 1),
    ]
    return tuple(_cut(regions, height))


def _moved(page: Iterable[Region], lines: int) -> Iterable[Region]:
    """The page below the node's line and the banner."""
    return (region._replace(y=region.y + lines) for region in page)


def _cut(regions: Iterable[Region], height: int) -> Iterable[Region]:
    """Regions without what lies below the screen or under the tabs."""
    for region in regions:
        last = region.panel in ("node", "tabs")
        kept = region._replace(height=min(region.height, height - region.y - (0 if last else 1)))
        if kept.height > 0 and kept.width > 0 and (region.y or region.panel == "node"):
            yield kept


def printed(view: View, width: int) -> list[str]:
    """A frame for a pipe or a file: as high as it needs, without keys, each reason in full."""
    cores = len(view.device.cores) if view.device else 0
    detail = 1 + max(cores, len(CATEGORIES) + POWER) if view.device else 0
    grid = 1 + max(2 * rows_of(view, width), 2)
    heights = Heights(grid, detail, 0, len(shown(view)), lines_needed(view))
    told = banner_height(view)
    head = [Region("node", 0, 0, width, 1), Region("banner", 0, 1, width, told)]
    regions = [*head, *_moved(stack(view, width, heights), 1 + told)]
    regions = [region for region in regions if region.height > 0]
    lines = [*_composed(view, regions, width), *listed(view)]
    return [plain(one).rstrip() for one in lines]


def screen(view: View, width: int, height: int) -> list[str]:
    """The whole screen as text, without what the widget adds: tones."""
    return [plain(one).rstrip() for one in composed(view, width, height)]


def composed(view: View, width: int, height: int) -> list[Line]:
    """The whole screen as lines."""
    lines = _composed(view, arrange(view, width, height), width)
    return [*lines, *[BLANK] * (height - len(lines))]


def _composed(view: View, regions: Sequence[Region], width: int) -> list[Line]:
    return stacked({region: drawn(view, region) for region in regions}, width)


def stacked(of: Mapping[Region, list[Line]], width: int) -> list[Line]:
    """The lines of regions, each where it stands."""
    height = max((region.y + region.height for region in of), default=0)
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
