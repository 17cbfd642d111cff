"""What counters grew by between two reads, and which of them fell.

A counter that falls was reset: what it shows now is what it counted since.
"""

from __future__ import annotations

from operator import gt, sub
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.model import Batch, Missing, Place, Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.catalogue.spec import MetricSpec
    from neuron_observer.model import Cell, Layout

FIRST = Missing(Why.NOT_YET, "needs two reads")
PE_CARRY = 1 << 32  # the PE counters' halves are read apart: at a carry a value is off by this
_WHOLE = {int}
_FLOP_RATE_BOUND = 10**16  # operations a second; above any core, to tell a wrap from a reset

# A batch and what the same files gave the time before.
Pair: TypeAlias = "tuple[Batch | None, Batch]"


class Delta(NamedTuple):
    """What a counter grew by between two reads."""

    increase: int
    was_reset: bool = False


def delta(spec: MetricSpec, before: int, now: int, seconds: float) -> Delta:
    """The increase of a counter; never more than what truly happened."""
    if now >= before:
        return Delta(now - before)
    if spec.wraps_at:
        wrapped = now + spec.wraps_at - before
        if wrapped <= _FLOP_RATE_BOUND * seconds:
            return Delta(wrapped)
    return Delta(now, was_reset=True)


class Growth(NamedTuple):
    """How one counter moved at several places, in their order."""

    increases: list[int | Missing]
    seconds: list[float]  # over which it came
    now: list[Cell]  # what it shows
    resets: frozenset[int] = frozenset()  # the positions at which it was reset
    plain: bool = False  # whether every increase is a number


def growth(pairs: Iterable[Pair], metric: str, places: tuple[Place, ...]) -> Growth:
    """How a counter moved at some places, or why that cannot be said."""
    found = [pair for pair in pairs if metric in pair[1].layout.columns]
    if len(found) == 1 and found[0][1].layout.columns[metric].places == places:
        return _growth(METRICS[metric], found[0])
    absent = Missing(Why.UNSUPPORTED, f"{metric} is not read")
    by_place: dict[Place, tuple[Growth, int]] = {}
    for pair in found:
        part = _growth(METRICS[metric], pair)
        for position, place in enumerate(pair[1].layout.columns[metric].places):
            by_place[place] = part, position
    nothing = Growth([absent], [0.0], [absent])
    spots = [by_place.get(place, (nothing, 0)) for place in places]
    return Growth(
        [part.increases[position] for part, position in spots],
        [part.seconds[position] for part, position in spots],
        [part.now[position] for part, position in spots],
        frozenset(n for n, (part, position) in enumerate(spots) if position in part.resets),
    )


def _growth(spec: MetricSpec, pair: Pair) -> Growth:
    """At all places of one batch; where all are numbers that rose, as nearly always, at once."""
    before, now = pair
    column = now.layout.columns[spec.id]
    cells = now.cells[column.start : column.start + len(column.places)]
    earlier = _earlier(pair, spec.id)
    length = now.read_at - before.read_at if before else 0.0
    seconds = [length] * len(cells)
    rose = _rises(earlier, cells) if length > 0 else None
    if rose:
        return Growth(rose, seconds, cells, plain=True)
    moved = [_moved(spec, was, cell, length) for was, cell in zip(earlier, cells, strict=True)]
    increases = [one.increase if isinstance(one, Delta) else one for one in moved]
    resets = (n for n, one in enumerate(moved) if isinstance(one, Delta) and one.was_reset)
    return Growth(increases, seconds, cells, frozenset(resets))


def _rises(earlier: Iterable[Any], cells: Iterable[Any]) -> list[Any] | None:
    """Increases, if all are whole numbers and none is a fall."""
    try:
        rose = list(map(sub, cells, earlier))
    except TypeError:  # something is missing
        return None
    return rose if set(map(type, rose)) == _WHOLE and min(rose) >= 0 else None


def _moved(spec: MetricSpec, before: Cell, now: Cell, seconds: float) -> Delta | Missing:
    if isinstance(now, Missing):
        return now
    if not isinstance(now, int) or not isinstance(before, int) or seconds <= 0:
        return FIRST
    return delta(spec, before, now, seconds)


def _earlier(pair: Pair, metric: str) -> list[Cell]:
    """What the places of a metric showed the time before."""
    before, now = pair
    column = now.layout.columns[metric]
    if before is None:
        return [FIRST] * len(column.places)
    if before.layout is now.layout:
        return before.cells[column.start : column.start + len(column.places)]
    rows = [before.layout.rows.get((metric, place)) for place in column.places]
    return [FIRST if row is None else before.cells[row] for row in rows]


class Fall(NamedTuple):
    """A counter that shows less than before: it was reset."""

    metric: str
    place: Place
    before: int
    now: int


def only_rose(before: Batch, now: Batch) -> bool:
    """Whether all cells that changed are numbers and none is less: as nearly always, so at once."""
    if before.layout is not now.layout:
        return False
    earlier: Iterator[Any] = map(before.cells.__getitem__, now.changed)
    later: Iterator[Any] = map(now.cells.__getitem__, now.changed)
    try:
        return not any(map(gt, earlier, later))
    except TypeError:  # a text or a missing one among numbers
        return False


def falls(before: Batch, now: Batch) -> Iterator[Fall]:
    """Counters of a batch that fell since the batch before it; a wrap or a carry is no fall.

    The kernel's own CPU times are left out: idle and iowait may go back (Documentation/proc).
    """
    if before.layout is not now.layout:
        return
    cells_before, cells = before.cells, now.cells
    seconds = now.read_at - before.read_at
    for row in now.changed:
        earlier, cell = cells_before[row], cells[row]
        if isinstance(earlier, int) and isinstance(cell, int) and cell < earlier:
            metric, place = _spot(now.layout, row)
            if _is_reset(metric, earlier, cell, seconds):
                yield Fall(metric, place, earlier, cell)


def _is_reset(metric: str, earlier: int, now: int, seconds: float) -> bool:
    spec = METRICS[metric]
    if spec.kind is not Kind.COUNTER or metric.startswith("host.cpu."):
        return False
    carry = PE_CARRY if metric.startswith("core.pe_array.") else 0
    return earlier - now > carry and delta(spec, earlier, now, seconds).was_reset


def _spot(layout: Layout, row: int) -> tuple[str, Place]:
    """What a row is; its column is looked for, because few are ever asked for."""
    for metric, column in layout.columns.items():
        if 0 <= row - column.start < len(column.places):
            return metric, column.places[row - column.start]
    raise IndexError(f"row {row} is in no column")
