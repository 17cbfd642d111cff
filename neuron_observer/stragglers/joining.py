"""The steps of a job's ranks, put together by their number; no rank is waited for longer than that.

Each process counts its own steps from 0. In synchronous training they end at nearly the same time
on all ranks, so a rank that counts otherwise (its hook began later) is told by when its steps end.

Where the device tells the time in collectives it does so some steps later, of few steps, and not at
once on all ranks. These records are put together once more, and handed on with a later step.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.stragglers.middle import middle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.parsers.heartbeat import Step

MOST_HELD = 256  # steps that wait for a rank; the ring itself holds no more
LAG = 4  # steps that a rank may be behind before the others are judged without it
PATIENCE = 3.0  # … or so many usual periods, at least one second
FILLED_FOR = 32  # steps that a rank may be behind with the device's times of one
PAIRS = 8  # steps by which the counting of a rank is compared


class Joined(NamedTuple):
    """One step of a job: the record of each rank, by row; absent where a rank has none."""

    number: int
    end: float  # monotonic, the last rank's
    steps: dict[int, Step]
    filled: dict[int, Step]  # one earlier step of which the device has told by now; often none


class _Row:
    """What is known of one rank's counting."""

    def __init__(self) -> None:
        self.shift: int | None = None  # what to add to its numbers; None: not known yet
        self.held: list[Step] = []  # until it is
        self.last = -1  # the highest number, shifted
        self.end = 0.0
        self.told = -1  # the last number whose times the device told, shifted


class Joiner:
    """Takes steps by row and gives joined ones, in order."""

    def __init__(self) -> None:
        self._rows: dict[int, _Row] = {}
        self._open: dict[int, dict[int, Step]] = {}
        self._filled: dict[int, dict[int, Step]] = {}  # by steps of which the device told
        self._handed_on = -1  # the last of them
        self._ends: dict[int, float] = {}  # of the last steps, whoever did them
        self._next = 0
        self._period = 0.0
        self.late = 0  # steps that came when theirs was judged already

    def add(self, row: int, steps: Iterable[Step], filled: Iterable[Step] = ()) -> None:
        """Take finished steps of a rank, in order, and earlier ones of which more is known."""
        known = self._rows.setdefault(row, _Row())
        known.held += steps
        if known.shift is None and not self._align(row, known):
            return
        shift = known.shift or 0
        for step in (*filled, *known.held):
            if step.source == "event" and step.number + shift > self._handed_on:
                known.told = step.number + shift
                self._filled.setdefault(known.told, {})[row] = step
        for step in known.held:
            number = step.number + shift
            if number < self._next:
                self.late += 1
                continue
            self._open.setdefault(number, {})[row] = step
            self._ends.setdefault(number, step.end)
            known.last, known.end = number, step.end
        known.held = []
        while len(self._open) > MOST_HELD:
            del self._open[min(self._open)]
        while len(self._filled) > FILLED_FOR:
            del self._filled[min(self._filled)]
        while len(self._ends) > MOST_HELD:
            del self._ends[min(self._ends)]

    def _align(self, row: int, known: _Row) -> bool:
        """Find how a rank counts; the first one counts as the job does."""
        others = [one for number, one in self._rows.items() if number != row]
        if not known.held:
            return False
        if not any(one.shift is not None for one in others):
            known.shift = 0
            return True
        usual = self._usual(known.held)
        found = [
            round((step.end - self._ends[step.number]) / usual) if usual > 0 else 0
            for step in known.held[-PAIRS:]
            if step.number in self._ends
        ]
        if found:
            known.shift = round(middle(found))
        elif len(known.held) >= PAIRS:  # it counts far elsewhere: by the end that is nearest
            last = known.held[-1]
            near = min(self._ends, key=lambda number: abs(self._ends[number] - last.end))
            apart = round((last.end - self._ends[near]) / usual) if usual > 0 else 0
            known.shift = near + apart - last.number
        return known.shift is not None

    def _usual(self, steps: list[Step]) -> float:
        ends = [self._ends[number] for number in sorted(self._ends)[-PAIRS:]]
        ends = ends if len(ends) > 1 else [step.end for step in steps[-PAIRS:]]
        gaps = [b - a for a, b in pairwise(ends) if b > a]
        self._period = middle(gaps) if gaps else self._period
        return self._period

    def ready(self, now: float, *, missing: frozenset[int] = frozenset()) -> list[Joined]:
        """The steps that are complete, or that have waited long enough; `missing` rows are dead."""
        found = []
        expected = self._rows.keys() - missing
        newest = max((row.last for row in self._rows.values()), default=-1)
        patience = max(1.0, PATIENCE * self._usual([]))
        for number in sorted(self._open):
            steps = self._open[number]
            end = max(step.end for step in steps.values())
            old = newest - number >= LAG or now - end > patience
            if not (old or expected <= steps.keys()):
                break
            del self._open[number]
            self._next = number + 1
            found.append(Joined(number, end, steps, self._told(number, expected)))
        return found

    def _told(self, number: int, expected: set[int]) -> dict[int, Step]:
        """The oldest step up to `number` of which the device told, if no more is to come of it."""
        oldest = min(self._filled, default=number + 1)
        waited = all(self._rows[row].told >= oldest for row in expected)
        if oldest > number or not (waited or number - oldest > FILLED_FOR):
            return {}
        self._handed_on = oldest
        return self._filled.pop(oldest)
