"""The board: the one screen of the application. It paints, and takes keys and clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.screen import Screen

from neuron_observer.tui import asking
from neuron_observer.tui.canvas import Canvas
from neuron_observer.tui.clicks import clicked
from neuron_observer.tui.device_grid import columns_of
from neuron_observer.tui.keys import bindings
from neuron_observer.tui.layout import arrange, drawn, stacked
from neuron_observer.tui.lines import Span, line
from neuron_observer.tui.pages import PAGES, sheet_of
from neuron_observer.tui.sheet import chosen, columns_shown, rows_shown
from neuron_observer.tui.signs import ASCII
from neuron_observer.tui.state import State
from neuron_observer.tui.themes import THEMES
from neuron_observer.tui.torus import order

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from neuron_observer.clock import Clock
    from neuron_observer.feed import Feed
    from neuron_observer.tui.keys import Key
    from neuron_observer.tui.lines import Line
    from neuron_observer.tui.region import Region
    from neuron_observer.tui.settings import Settings
    from neuron_observer.tui.signs import Signs
    from neuron_observer.tui.view import View


_DATED = ("node", "banner")  # what tells the age of what is shown


class Board(Screen[None]):
    """What is looked at, and how."""

    BINDINGS: ClassVar[list[BindingType]] = list(bindings())
    OWN_KEYS: ClassVar[tuple[Key, ...]] = ()  # of a board for more than a host of today

    def __init__(
        self, feed: Feed, clock: Clock, signs: Signs, selected: int | None, settings: Settings
    ) -> None:
        super().__init__(id="board")
        self.state = State(feed, clock.monotonic, signs, selected)
        self.state.page, self.state.ways = settings.page, dict(settings.ways)
        self.settings = settings
        self._signs = signs
        self._regions: tuple[Region, ...] = ()
        self._lines: dict[Region, list[Line]] = {}
        self._shown: tuple[object, ...] = ()
        self._canvas = Canvas(THEMES[settings.theme])
        if settings.ascii:
            self.state.signs = ASCII
        if settings.trouble:
            self.state.tell(settings.trouble)

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
        return self.state.view

    @property
    def waiting(self) -> str:
        """What is said before the first frame."""
        return "reading the host"

    def look(self) -> None:
        """Take the latest frame, unless paused, and paint what changed."""
        self.state.take()
        self.paint()

    def paint(self) -> None:
        """Draw what changed since the last time."""
        view, (width, height) = self.view, self.size
        if view is None:
            self._canvas.show([line(Span(self.waiting, "dim"))])
            return
        shown = (view.cells, view._replace(now=0.0), width, height)
        if shown == self._shown:  # time alone moves only the age
            dated = [region for region in self._regions if region.panel in _DATED]
        else:
            self._shown = shown
            self._regions = arrange(view, width, height)
            self._lines.clear()
            dated = list(self._regions)
        self._lines |= {region: drawn(view, region) for region in dated}
        self._canvas.show(stacked(self._lines, width))

    def tell(self, text: str) -> None:
        """Say something in the last line for some seconds."""
        self.state.tell(text)
        self.paint()

    # --- clicks

    def on_canvas_clicked(self, event: Canvas.Clicked) -> None:
        """Do what stands at the cell."""
        view = self.view
        region = next((one for one in self._regions if one.has(event.x, event.y)), None)
        if view is not None and region is not None:
            again = clicked(self.state, view, region, event.x - region.x, event.y - region.y)
            self.paint()
            if again:
                self.action_open()

    def on_canvas_wheeled(self, event: Canvas.Wheeled) -> None:
        """The wheel moves in tables and through devices."""
        self.action_move(event.way)

    # --- pages and the selection in them

    def action_page(self, name: str) -> None:
        """Show a page."""
        self.state.turn(name)
        self.paint()

    def action_turn(self, way: int) -> None:
        """Show the next page, or the one before."""
        names = list(PAGES)
        self.action_page(names[(names.index(self.state.page) + way) % len(names)])

    def action_back(self) -> None:
        """Take the filter away; then go to the overview."""
        if self.state.way.filter:
            self.state.change(filter="")
        else:
            self.state.turn("overview")
        self.paint()

    def action_side(self, way: int) -> None:
        """In time while paused; else to a device beside, or through the columns."""
        view = self.view
        if view is None:
            return
        if view.paused:
            self.action_time(way)
        elif view.page == "overview":
            self._move_in_grid(view, way, 0)
        else:
            last = max(len(columns_shown(sheet_of(view), view.way)) - 2, 0)
            self.state.change(shift=min(max(view.way.shift + way, 0), last))
            self.paint()

    def action_move(self, way: int) -> None:
        """To a device above or below, or through the rows."""
        view = self.view
        if view is None:
            return
        if view.page == "overview":
            self._move_in_grid(view, 0, way)
        else:
            self._move_in_table(view, way)

    def action_leap(self, way: int) -> None:
        """A screen full of rows."""
        view = self.view
        if view is not None:
            table = next((one for one in self._regions if one.panel == "table"), None)
            self._move_in_table(view, way * max(table.height - 3 if table else 1, 1))

    def action_end(self, place: int) -> None:
        """The first or the last device or row."""
        view = self.view
        if view is None:
            return
        if view.page == "overview":
            if indexes := order(view)[0]:
                self.state.selected = indexes[place]
        elif rows := rows_shown(view, sheet_of(view)):
            self.state.choose(rows[place])
        self.paint()

    def _move_in_grid(self, view: View, right: int, down: int) -> None:
        """The selection stops at the edges."""
        indexes, _ = order(view)
        if view.selected not in indexes:
            return
        columns = columns_of(view, self.size.width)
        place = indexes.index(view.selected)
        column = place % columns + right
        moved = place + right + down * columns
        if 0 <= column < columns and 0 <= moved < len(indexes):
            self.state.selected = indexes[moved]
            self.paint()

    def _move_in_table(self, view: View, way: int) -> None:
        rows = rows_shown(view, sheet_of(view))
        if rows:
            self.state.choose(rows[min(max(chosen(view, rows) + way, 0), len(rows) - 1)])
            self.paint()

    # --- tables and time

    def action_sort(self, way: int) -> None:
        """Sort by the next column, or the one before; before the first one it is as it comes."""
        view = self.view
        if view is not None:
            ids = ["", *(one.id for one in columns_shown(sheet_of(view), view.way))]
            at = ids.index(view.way.sort) if view.way.sort in ids else 0
            self.state.change(sort=ids[(at + way) % len(ids)])
            self.remember()

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self.state.change(falling=not self.state.way.falling)
        self.remember()

    def action_pause(self) -> None:
        """Hold the frame that is shown, or let it go."""
        self.state.pause()
        self.paint()

    def action_time(self, seconds: float) -> None:
        """Go back or on in time."""
        self.state.travel(seconds)
        self.paint()

    # --- the look

    def action_theme(self, name: str = "") -> None:
        """Another theme: the one named, else the next one."""
        names = list(THEMES)
        following = names[(names.index(self.settings.theme) + 1) % len(names)]
        trouble = self.settings.wear(name or following)
        theme = THEMES[self.settings.theme]
        self._canvas.dress(theme)
        self.tell(trouble or f"theme {self.settings.theme}: {theme.help}")

    def action_signs(self) -> None:
        """ASCII signs, or those of the terminal."""
        trouble = self.settings.use_ascii(wanted=not self.settings.ascii)
        self.state.signs = ASCII if self.settings.ascii else self._signs
        self.tell(trouble)

    def remember(self) -> None:
        """Keep how the table is looked at, and paint."""
        trouble = self.settings.look_at(self.state.page, self.state.way)
        if trouble:
            self.state.tell(trouble)
        self.paint()

    # --- what lies over the board

    def action_open(self) -> None:
        """Show everything that is known of what is chosen."""
        asking.open_chosen(self)

    def action_filter(self) -> None:
        """Ask for a filter."""
        asking.ask_filter(self)

    def action_columns(self) -> None:
        """Ask for the columns."""
        asking.ask_columns(self)

    def action_export(self) -> None:
        """Ask for a file and write it."""
        asking.ask_file(self)

    def action_copy(self) -> None:
        """Give the chosen row to the terminal's clipboard."""
        asking.copy_row(self)

    def action_copy_all(self) -> None:
        """Give the whole table to the terminal's clipboard."""
        asking.copy_table(self)

    def action_help(self) -> None:
        """Show the keys and the words."""
        asking.show_help(self)

    def action_why(self) -> None:
        """Show every reason why a value is missing."""
        asking.show_reasons(self)

    def action_palette(self) -> None:
        """Find all of this by name."""
        self.app.action_command_palette()

    def action_suspend(self) -> None:
        """To the shell; `fg` comes back."""
        self.app.action_suspend_process()

    async def action_quit(self) -> None:
        """End."""
        self.app.exit()
