"""What is looked at and how, as keys and clicks have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.tui.findings import alarms
from neuron_observer.tui.pages import PAGES
from neuron_observer.tui.past import Past
from neuron_observer.tui.torus import order
from neuron_observer.tui.view import Cells, View, Way

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.feed import Feed
    from neuron_observer.model import Frame
    from neuron_observer.tui.sheet import Row
    from neuron_observer.tui.signs import Signs

MOST_BACK = 900.0  # seconds; a feed holds no more
NOTICE = 4.0  # seconds for which something is said


class State:
    """One page of one feed."""

    def __init__(
        self, feed: Feed, monotonic: Callable[[], float], signs: Signs, selected: int | None = None
    ) -> None:
        self.feed = feed
        self.signs = signs
        self.selected = selected
        self.page = "overview"
        self.node = ""  # which of several it is
        self.ways: dict[str, Way] = {}  # by page
        self._monotonic = monotonic
        self._cells: Cells | None = None
        self._paused_at: Frame | None = None
        self._notice = ("", 0.0)
        self._alarms: set[str] | None = None  # of the frame before; None: there was none

    @property
    def view(self) -> View | None:
        """What is shown now; None before the first frame."""
        if self._cells is None:
            return None
        now = self._monotonic()
        text, until = self._notice
        return View(
            self.feed,
            self._cells,
            now,
            self.selected,
            self.signs,
            paused=self.is_paused,
            page=self.page,
            way=self.way,
            notice=text if now < until else "",
            node=self.node,
        )

    @property
    def is_paused(self) -> bool:
        """Whether the frame is held."""
        return self._paused_at is not None

    @property
    def way(self) -> Way:
        """How the table of the page is looked at; pages of devices follow the selected one."""
        way = self.ways.get(self.page, Way())
        return way._replace(row=PAGES[self.page].row(self.selected, way.row))

    def change(self, **fields: object) -> None:
        """Look at the table of the page in another way."""
        self.ways[self.page] = self.way._replace(**fields)  # type: ignore[arg-type]

    def choose(self, row: Row) -> None:
        """Choose a row of the table; its device is selected everywhere."""
        if row.place.device is not None:
            self.selected = row.place.device
        self.change(row=row.key)

    def tell(self, text: str) -> None:
        """Say something for some seconds."""
        self._notice = text, self._monotonic() + NOTICE

    def take(self) -> None:
        """Take the latest frame, unless paused; somebody is selected while a device is there."""
        frame = self._paused_at or self.feed.latest()
        if frame is not None and (self._cells is None or self._cells.frame is not frame):
            self._cells = Cells(frame)
        view = self.view
        if view is None:
            return
        self._alarm(view)
        indexes, _ = order(view)
        if self.selected not in indexes:
            here = [device.index for device in view.snapshot.devices]
            self.selected = min(here or indexes, default=None)

    def _alarm(self, view: View) -> None:
        """Say what came up since the frame before, on whatever page that is."""
        now = alarms(view)
        known = now if self._alarms is None else self._alarms
        new = [f"{bad} {what}" for what, bad in now.items() if what not in known]
        if new:
            self.tell(f"new: {new[0]}" + (f" and {len(new) - 1} more" if len(new) > 1 else ""))
        self._alarms = set(now)

    def pause(self) -> None:
        """Hold the frame that is shown, or let it go."""
        held = self._cells.frame if self._cells and not self.is_paused else None
        self._paused_at = held
        if held is None:
            self._cells = None  # of the past, perhaps
        self.take()

    def travel(self, seconds: float) -> None:
        """Go back or on in time; before the frame that is held, which is paused for it."""
        if self._cells is None:
            return
        if not self.is_paused:
            self._paused_at = self._cells.frame
        frame = self._cells.frame
        back = min(max(self._cells.back - seconds, 0.0), MOST_BACK)
        self._cells = Past(frame, self.feed, back) if back else Cells(frame)

    def turn(self, page: str) -> None:
        """Show another page."""
        self.page = page
