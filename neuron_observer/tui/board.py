"""The board: the one screen of the application. It keeps what is looked at and how, and paints."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.screen import Screen

from neuron_observer.tui.canvas import Canvas
from neuron_observer.tui.device_grid import columns_of, tiling
from neuron_observer.tui.keys import bindings
from neuron_observer.tui.layout import Region, arrange, drawn, stacked
from neuron_observer.tui.lines import Span, line, plain
from neuron_observer.tui.reasons import listed
from neuron_observer.tui.themes import DEFAULT, THEMES
from neuron_observer.tui.torus import order
from neuron_observer.tui.view import Cells, View

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from neuron_observer.clock import Clock
    from neuron_observer.feed import Feed
    from neuron_observer.model import Frame
    from neuron_observer.tui.lines import Line
    from neuron_observer.tui.signs import Signs


class Board(Screen[None]):
    """What is looked at, and how."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings())

    def __init__(self, feed: Feed, clock: Clock, signs: Signs, selected: int | None) -> None:
        super().__init__(id="board")
        self._feed = feed
        self._clock = clock
        self._signs = signs
        self._cells: Cells | None = None
        self._selected = selected
        self._paused_at: Frame | None = None
        self._regions: tuple[Region, ...] = ()
        self._lines: dict[Region, list[Line]] = {}
        self._shown: tuple[object, ...] = ()
        self._canvas = Canvas(THEMES[DEFAULT])

    def compose(self) -> ComposeResult:
        """One widget for everything."""
        yield self._canvas

    def on_mount(self) -> None:
        """Paint what is there."""
        self.look()

    def on_resize(self) -> None:
        """Lay out anew."""
        self.look()

    # --- what is shown

    @property
    def view(self) -> View | None:
        """What is shown now; None before the first frame."""
        if self._cells is None:
            return None
        paused = self._paused_at is not None
        now = self._clock.monotonic()
        return View(self._feed, self._cells, now, self._selected, self._signs, paused)

    def look(self) -> None:
        """Take the latest frame, unless paused, and paint what changed."""
        frame = self._paused_at or self._feed.latest()
        if frame is not None and (self._cells is None or self._cells.frame is not frame):
            self._cells = Cells(frame)
        self._keep_selection()
        self._paint()

    def _keep_selection(self) -> None:
        """The selected device may vanish and come back; somebody is selected while one is there."""
        view = self.view
        if view is None:
            return
        indexes, _ = order(view)
        if self._selected not in indexes:
            here = [device.index for device in view.snapshot.devices]
            self._selected = min(here or indexes, default=None)

    def _paint(self) -> None:
        view, (width, height) = self.view, self.size
        if view is None:
            self._canvas.show([line(Span("reading the host", "dim"))])
            return
        shown = (view.cells, view._replace(now=0.0), width, height)
        if shown == self._shown:  # time alone moves only the age
            dated = [region for region in self._regions if region.panel == "node"]
        else:
            self._shown = shown
            self._regions = arrange(view, width, height)
            self._lines.clear()
            dated = list(self._regions)
        self._lines |= {region: drawn(view, region) for region in dated}
        self._canvas.show(stacked(self._lines, width))

    # --- keys and clicks

    def select(self, index: int | None) -> None:
        """Select a device and paint."""
        if index is not None:
            self._selected = index
            self._paint()

    def action_move(self, right: int, down: int) -> None:
        """Move the selection in the grid; it stops at the edges."""
        view = self.view
        if view is None:
            return
        indexes, _ = order(view)
        if self._selected not in indexes:
            return
        columns = columns_of(view, self.size.width)
        place = indexes.index(self._selected)
        column = place % columns + right
        moved = place + right + down * columns
        if 0 <= column < columns and 0 <= moved < len(indexes):
            self.select(indexes[moved])

    def action_first(self) -> None:
        """Select the first device of the grid."""
        self._select_at(0)

    def action_last(self) -> None:
        """Select the last device of the grid."""
        self._select_at(-1)

    def _select_at(self, place: int) -> None:
        view = self.view
        if view is not None and (indexes := order(view)[0]):
            self.select(indexes[place])

    def on_canvas_clicked(self, event: Canvas.Clicked) -> None:
        """A click on a tile selects its device."""
        view = self.view
        spot = next((r for r in self._regions if r.panel == "devices"), None)
        if view is not None and spot is not None and spot.has(event.x, event.y):
            tiles = tiling(view, spot.width, spot.height)
            self.select(tiles.at(event.x - spot.x, event.y - spot.y))

    def action_pause(self) -> None:
        """Hold the frame that is shown, or let it go."""
        held = self._cells.frame if self._cells and self._paused_at is None else None
        self._paused_at = held
        self.look()

    def action_help(self) -> None:
        """Show the keys and the words."""
        from neuron_observer.tui.overlay import HELP, Overlay  # noqa: PLC0415 - not at the start

        self.app.push_screen(Overlay(HELP))

    def action_why(self) -> None:
        """Show every reason why a value is missing."""
        from neuron_observer.tui.overlay import Overlay  # noqa: PLC0415 - not at the start

        view = self.view
        if view is not None:
            text = "\n".join(plain(one) for one in listed(view)) or "nothing is missing"
            self.app.push_screen(Overlay(f"Why values are missing\n\n{text}\n"))

    async def action_quit(self) -> None:
        """End."""
        self.app.exit()
