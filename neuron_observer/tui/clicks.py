"""What a click does, by what stands at its cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.tui.core_sheet import key_of
from neuron_observer.tui.device_grid import tiling
from neuron_observer.tui.finding_sheet import key_of as key_of_finding
from neuron_observer.tui.findings import shown
from neuron_observer.tui.heat import core_at
from neuron_observer.tui.jobs import table_of
from neuron_observer.tui.pages import sheet_of
from neuron_observer.tui.table import draw
from neuron_observer.tui.tabs import page_at

if TYPE_CHECKING:
    from neuron_observer.tui.region import Region
    from neuron_observer.tui.state import State
    from neuron_observer.tui.view import View


def clicked(state: State, view: View, region: Region, x: int, y: int) -> bool:
    """Change the state by a click at a cell of a region; True where it asks for everything."""
    if region.panel == "table":
        return _in_table(state, view, region, (x, y))
    if region.panel == "devices":
        return _device(state, tiling(view, region.width, region.height).at(x, y))
    if region.panel == "heat":
        found = core_at(view, region.width, x, y)
        if found is not None:
            _device(state, found[0])
            state.change(row=key_of(found[0], found[1] or 0))
    if region.panel == "tabs" and (page := page_at(view, region.width, x)):
        state.turn(page)
    if region.panel == "findings" and y < len(every := shown(view)):
        state.turn("findings")
        state.change(row=key_of_finding(every[y]))
    if region.panel == "jobs":
        row = table_of(view, region.width, region.height).row_at(y)
        state.turn("jobs")
        if row is not None:
            state.change(row=row.key)
    return False


def _device(state: State, index: int | None) -> bool:
    """Select a device; True if it was selected before."""
    was = state.selected
    if index is not None:
        state.selected = index
    return index is not None and index == was


def _in_table(state: State, view: View, region: Region, cell: tuple[int, int]) -> bool:
    """A heading sorts, again the other way round; a row is chosen, again opened."""
    drawn = draw(view, sheet_of(view), region.width, region.height)
    column, row = drawn.column_at(cell[0]), drawn.row_at(cell[1])
    if cell[1] == 0 and column is not None:
        falling = not view.way.falling if view.way.sort == column.id else True
        state.change(sort=column.id, falling=falling)
    if row is None:
        return False
    again = row.key == view.way.row
    state.choose(row)
    return again
