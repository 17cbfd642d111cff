"""The application: asks its feed for frames, lays panels out, takes keys and clicks."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, ClassVar

from textual.app import App

from neuron_observer.tui.device_grid import columns_of, tiling
from neuron_observer.tui.layout import PANELS, Region, arrange, drawn
from neuron_observer.tui.lines import Span, line, plain
from neuron_observer.tui.panel import Panel
from neuron_observer.tui.reasons import listed
from neuron_observer.tui.torus import order
from neuron_observer.tui.view import Cells, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from neuron_observer.clock import Clock
    from neuron_observer.feed import Feed
    from neuron_observer.model import Frame
    from neuron_observer.tui.signs import Signs

LOOK = 0.1  # seconds between two looks at the feed
PATIENCE = 3  # seconds after which a signal ends the program even if the terminal blocks it


class TopApp(App[None]):
    """The screen. It never waits for a read: it shows the last frame, and how old that is."""

    CSS_PATH = "top.tcss"
    TITLE = "neuron-observer"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,ctrl+c,ctrl+q", "quit", "quit"),
        ("question_mark", "help", "help"),
        ("p,space", "pause", "pause"),
        ("w", "why", "why missing"),
        ("left,h", "select(-1, 0)", "left"),
        ("right,l", "select(1, 0)", "right"),
        ("up,k", "select(0, -1)", "up"),
        ("down,j", "select(0, 1)", "down"),
        ("home", "first", "first device"),
        ("end", "last", "last device"),
    ]

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        signs: Signs,
        selected: int | None = None,
        begin: Callable[[], None] = lambda: None,
    ) -> None:
        """`begin` is called once, when the screen has been painted."""
        super().__init__(ansi_color=True)
        self._feed = feed
        self._clock = clock
        self._begin = begin
        self._signs = signs
        self._cells: Cells | None = None
        self._selected = selected
        self._paused_at: Frame | None = None
        self._regions: tuple[Region, ...] = ()
        self._shown: tuple[object, ...] = ()
        self._panels = {name: Panel(name) for name in PANELS}

    def compose(self) -> ComposeResult:
        """One widget a panel."""
        yield from self._panels.values()

    def on_mount(self) -> None:
        """Start looking at the feed; take signals as a wish to end."""
        self.set_interval(LOOK, self.look)
        self.look()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, self._end, number)

    def on_ready(self) -> None:
        """What would keep the first frame waiting begins after it."""
        self.call_after_refresh(self._begin)

    def _end(self, number: signal.Signals) -> None:
        signal.alarm(PATIENCE)  # a terminal that is gone can block the last words
        self.exit(return_code=128 + number)

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
            self._wait_for_first_frame(width)
            return
        shown = (view.cells, view.selected, view.paused, width, height)
        if shown == self._shown:  # time alone moves only the age
            self._draw(view, [region for region in self._regions if region.panel == "node"])
            return
        self._shown = shown
        regions = arrange(view, width, height)
        if regions != self._regions:
            self._regions = regions
            self._place(regions)
        self._draw(view, regions)

    def _draw(self, view: View, regions: Iterable[Region]) -> None:
        for region in regions:
            self._panels[region.panel].show(drawn(view, region))

    def _wait_for_first_frame(self, width: int) -> None:
        self._place((Region("node", 0, 0, width, 1),))
        self._panels["node"].show([line(Span("reading the host", "dim"))])

    def _place(self, regions: tuple[Region, ...]) -> None:
        spots = {region.panel: region for region in regions}
        for name, panel in self._panels.items():
            region = spots.get(name)
            panel.display = region is not None
            if region is not None:
                panel.styles.offset = (region.x, region.y)
                panel.styles.width = region.width
                panel.styles.height = region.height

    # --- keys and clicks

    def select(self, index: int | None) -> None:
        """Select a device and paint."""
        if index is not None:
            self._selected = index
            self._paint()

    def action_select(self, right: int, down: int) -> None:
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

    def on_panel_clicked(self, event: Panel.Clicked) -> None:
        """A click on a tile selects its device."""
        view = self.view
        spot = next((r for r in self._regions if r.panel == event.panel == "devices"), None)
        if view is not None and spot is not None:
            self.select(tiling(view, spot.width, spot.height).at(event.x, event.y))

    def action_pause(self) -> None:
        """Hold the frame that is shown, or let it go."""
        held = self._cells.frame if self._cells and self._paused_at is None else None
        self._paused_at = held
        self.look()

    def action_help(self) -> None:
        """Show the keys and the words."""
        from neuron_observer.tui.overlay import HELP, Overlay  # noqa: PLC0415 - not at the start

        self.push_screen(Overlay(HELP))

    def action_why(self) -> None:
        """Show every reason why a value is missing."""
        from neuron_observer.tui.overlay import Overlay  # noqa: PLC0415 - not at the start

        view = self.view
        if view is not None:
            text = "\n".join(plain(one) for one in listed(view)) or "nothing is missing"
            self.push_screen(Overlay(f"Why values are missing\n\n{text}\n"))

    async def action_quit(self) -> None:
        """End."""
        self.exit()
