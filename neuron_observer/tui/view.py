"""What a screen shows: one frame of a feed at one instant, with one device selected."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from neuron_observer.catalogue.chips import GIB
from neuron_observer.model import Missing, Place, Value, Why
from neuron_observer.readings import ABSENT, find
from neuron_observer.text import bytes_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from neuron_observer.feed import Feed
    from neuron_observer.model import Batch, Cell, Device, Frame, Snapshot
    from neuron_observer.tui.signs import Signs

T = TypeVar("T")
RATE_WINDOW = 10.0  # seconds over which a rate is taken
GONE_AFTER = 3.0  # seconds (of the 1 s lane, three periods) after which a frame is old


class Way(NamedTuple):
    """How the table of a page is looked at."""

    sort: str = ""  # id of a column; empty: as it comes
    falling: bool = True  # the largest first
    filter: str = ""
    columns: tuple[str, ...] = ()  # ids of those shown; empty: the page's own
    row: str = ""  # key of the chosen row; empty: the first
    shift: int = 0  # columns that have gone out at the left


class View(NamedTuple):
    """What is drawn; panels are functions of this, a width and a height."""

    feed: Feed
    cells: Cells
    now: float  # monotonic, of the clock by which the snapshot was read
    selected: int | None  # index of a device
    signs: Signs
    paused: bool = False
    page: str = "overview"
    way: Way = Way()
    notice: str = ""  # what is said for some seconds in the last line
    node: str = ""  # which of several nodes it is

    @property
    def frame(self) -> Frame:
        """The frame shown."""
        return self.cells.frame

    @property
    def snapshot(self) -> Snapshot:
        """The frame's snapshot."""
        return self.cells.frame.snapshot

    @property
    def device(self) -> Device | None:
        """The selected device, while it is there."""
        return next((d for d in self.snapshot.devices if d.index == self.selected), None)

    @property
    def instant(self) -> float:
        """The monotonic time of what is shown: the frame's, or an earlier one."""
        return self.snapshot.monotonic - self.cells.back

    @property
    def at(self) -> float:
        """The same by the wall clock."""
        return self.snapshot.at - self.cells.back

    @property
    def is_past(self) -> bool:
        """Whether a time before the frame's is shown."""
        return self.cells.back > 0

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """Values up to what is shown, also when time has gone on since."""
        end = self.instant
        late = max(self.now - end, 0.0)
        values = self.feed.history(metric, place, seconds + late)
        return [value for value in values if end - seconds <= value.read_time <= end]


class Cells:
    """The cells of a frame, found by metric and place; and what is computed of it only once."""

    back = 0.0  # seconds before the frame

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.rates: dict[tuple[str, Place], float | Missing] = {}
        self.reasons: dict[int | None, dict[str, list[str]]] = {}  # by selected device
        self._worked_out: dict[Hashable, Any] = {}
        self._batches: dict[int | None, list[Batch]] = {}
        for batch in frame.snapshot.batches:
            self._batches.setdefault(batch.device, []).append(batch)

    def at(self, metric: str, place: Place) -> Cell:
        """One cell; of a device's own batches first."""
        for key in (None,) if place.device is None else (place.device, None):
            found = find(self._batches.get(key, ()), metric, place)
            if found:
                return found[0].cells[found[1]]
        return ABSENT

    def number(self, metric: str, place: Place) -> float | Missing:
        """The same where a number is needed."""
        cell = self.at(metric, place)
        return Missing(Why.FAILED, f"no number: {cell}") if isinstance(cell, str) else cell

    def once(self, name: Hashable, work: Callable[[], T]) -> T:
        """What is worked out of a frame only once; `name` tells it from other work."""
        if name not in self._worked_out:
            self._worked_out[name] = work()
        found: T = self._worked_out[name]
        return found

    @cached_property
    def ports(self) -> tuple[Place, ...]:
        """EFA ports, in the order of their batches."""
        columns = (
            batch.layout.columns.get("efa.port.tx_bytes")
            for batches in self._batches.values()
            for batch in batches
        )
        return tuple(place for column in columns if column for place in column.places)


def rate(view: View, metric: str, place: Place) -> float | Missing:
    """Increase a second of a counter over the last seconds, because traffic comes in bursts.

    Only what was counted since the counter last fell is looked at.
    """
    known = view.cells.rates
    if (metric, place) not in known:
        known[metric, place] = _rate(view, metric, place)
    return known[metric, place]


def _rate(view: View, metric: str, place: Place) -> float | Missing:
    now = view.cells.number(metric, place)
    if isinstance(now, Missing):
        return now
    values = _since_it_fell(view.history(metric, place, RATE_WINDOW))
    if len(values) < 2:
        return Missing(Why.NOT_YET, "needs two reads")
    (first, begin), (last, end) = values[0], values[-1]
    return (last - first) / (end - begin)


def _since_it_fell(values: Sequence[Value]) -> list[tuple[float, float]]:
    """Numbers and times, each later than the one before and no less."""
    found: list[tuple[float, float]] = []
    for value, read_time in values:
        if isinstance(value, str) or (found and read_time <= found[-1][1]):
            continue
        if found and value < found[-1][0]:
            found = []
        found.append((value, read_time))
    return found


def percent(share: float | Missing, view: View) -> str:
    """At most four cells: 0.834 → 83%, 0.002 → 0.2%; the dash where it is missing."""
    if isinstance(share, Missing):
        return view.signs.dash
    number = share * 100
    return f"{number:.1f}%" if 0 < number < 9.95 else f"{number:.0f}%"


def gib(number: float | Missing, view: View) -> str:
    """At most four cells: 71.1, 0.39, <.01 for what is less than that and not nothing."""
    if isinstance(number, Missing):
        return view.signs.dash
    held = number / GIB
    if held == round(held):
        return f"{held:.0f}"
    if held < 0.01:
        return "<.01"
    return f"{held:.2f}" if held < 9.995 else f"{held:.1f}" if held < 99.95 else f"{held:.0f}"


def amount(number: float | Missing, view: View) -> str:
    """Bytes in their unit."""
    return view.signs.dash if isinstance(number, Missing) else bytes_text(number)


def clock_text(at: float) -> str:
    """The time of the day, UTC."""
    return datetime.fromtimestamp(at, tz=timezone.utc).strftime("%H:%M:%S")
