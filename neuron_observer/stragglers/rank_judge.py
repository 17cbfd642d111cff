"""Joined steps of one job on one node → the detector's columns, and what it says.

This module and what it imports need numpy: it is loaded once a job has steps to judge.
"""

from __future__ import annotations

from math import isfinite, nan
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.columns import (
    SideColumns,
    StepColumns,
    Times,
    TimeSource,
    Topology,
)
from neuron_observer.stragglers.detector import Detector
from neuron_observer.stragglers.parameters import ONLINE
from neuron_observer.stragglers.robust import median
from neuron_observer.stragglers.suspects import Regime, Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.parsers.heartbeat import Step
    from neuron_observer.stragglers.columns import Floats, Ints
    from neuron_observer.stragglers.joining import Joined
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.ranks import Clocks, Row
    from neuron_observer.stragglers.suspects import Assessment, Suspect

SHORTEST = 0.2  # seconds of an update: shorter steps are taken together, as their means
MOST_HELD = 64  # steps that wait for one whose times the device tells: it tells no more
MEDIANS = 12  # steps in the figures that are shown of a rank
_SOURCES = {"none": TimeSource.NONE, "blocking": TimeSource.BLOCKING, "event": TimeSource.EVENT}
_COLUMNS = 5
_BUSY, _WAIT, _INPUT, _SHORTEST, _TOKENS = range(_COLUMNS)
_UNKNOWN = (nan,) * _COLUMNS
_MACHINES = {Scope.CORE, Scope.DEVICE, Scope.NODE}


Mark: TypeAlias = "tuple[Tier, str, float]"  # how sure, of what kind, how much


class Shown(NamedTuple):
    """Medians over the last steps: busy, wait, input, shortest, tokens by rank, NaN not known."""

    rows: list[list[float]]
    period: float | None  # s a step; None until one is known


class RankJudge:
    """The detector of one world: the same ranks, processes and restart for as long as it lives."""

    def __init__(
        self,
        rows: Sequence[Row],
        *,
        job: str,
        elsewhere: int,
        node: str,
        parameters: Parameters = ONLINE,
    ) -> None:
        self.rows = tuple(rows)
        self.topology = _topology(self.rows, node)
        self._detector = Detector(self.topology, parameters, job=job, elsewhere=elsewhere)
        size = len(rows)
        self._recent: Floats = np.full((MEDIANS, 5, size), np.nan)
        self._periods: Floats = np.full(MEDIANS, np.nan)
        self._ends: Floats = np.full(size, np.nan)
        self._numbers: Ints = np.full(size, -2, dtype=np.int64)
        self._count = 0  # steps
        self.fold = 1  # steps of the last update whose busy times are known; all, if none is
        self._shown: Shown | None = None
        self._held: list[tuple[Floats, float]] = []  # short steps that wait for more of them
        self._sampled = False  # the device tells of few steps: the others wait for one of these
        self._source = np.zeros(size, dtype=np.uint8)
        self.assessment: Assessment | None = None

    def take(self, joined: Joined, clocks: Clocks, side: SideColumns) -> None:
        """Take one step."""
        values, ends, numbers = self._values(joined)
        periods = np.where(numbers == self._numbers + 1, ends - self._ends, np.nan)
        period = median(periods[periods > 0])
        there = np.isfinite(ends)
        self._ends = np.where(there, ends, self._ends)
        self._numbers = np.where(there, numbers, self._numbers)
        self._shown = None
        self._recent[self._count % MEDIANS] = values
        self._periods[self._count % MEDIANS] = period
        self._count += 1
        steps = joined.steps.values()
        pause = any(step.pause for step in steps)
        if pause:
            self._held = []
        self._held.append((values, period))
        passed = sum(one for _, one in self._held if one > 0)
        awaits = self._awaits(joined)
        if not pause and (awaits or (passed < SHORTEST and isfinite(period))):
            return
        held, self._held = self._held, []
        self._update(held, joined, clocks, side, pause=pause)

    def _awaits(self, joined: Joined) -> bool:
        """Whether a step of which the device tells is still to come among those held."""
        self._sampled = bool(joined.filled) or (self._sampled and len(self._held) < MOST_HELD)
        return self._sampled and not _measured(self._held)

    def _update(
        self,
        held: list[tuple[Floats, float]],
        joined: Joined,
        clocks: Clocks,
        side: SideColumns,
        *,
        pause: bool,
    ) -> None:
        values = held[0][0] if len(held) == 1 else _means([one for one, _ in held])
        periods = [period for _, period in held if period > 0]
        self.fold = _measured(held) or len(held)
        self.assessment = self._detector.update(
            StepColumns(
                step=joined.number,
                at=clocks.wall_of(joined.end),
                period=sum(periods) / len(periods) if periods else float("nan"),
                busy=self._times(values[_BUSY]),
                wait=self._times(values[_WAIT]),
                input=Times(values[_INPUT], TimeSource.EVENT),
                transfer=self._transfer(values[_SHORTEST]),
                tokens=values[_TOKENS] if np.isfinite(values[_TOKENS]).any() else None,
                side=side,
                pause=pause,
            )
        )

    def _values(self, joined: Joined) -> tuple[Floats, Floats, Ints]:
        """Busy, wait, input, shortest collective and tokens by rank; ends and numbers of steps."""
        size = len(self.rows)
        found, ends, numbers = [_UNKNOWN] * size, [nan] * size, [-2] * size
        last_ends, last_numbers = self._ends.tolist(), self._numbers.tolist()
        sources = self._source.tolist()
        for row, step in joined.steps.items():
            ends[row], numbers[row] = step.end, step.number
            before = last_ends[row] if last_numbers[row] + 1 == step.number else None
            source = TimeSource.NONE if step.async_handles else _SOURCES[step.source]
            if step.async_handles or source is TimeSource.BLOCKING or not self._sampled:
                sources[row] = source
            busy, wait, data, shortest, tokens = _split(step, before)
            if step.source == "event":  # with the others', once all have it
                busy = wait = shortest = nan
            found[row] = busy, wait, data, shortest, tokens
        for row, step in joined.filled.items():
            busy, wait, _, shortest, _ = _split(step, None)
            _, _, data, _, tokens = found[row]
            found[row] = busy, wait, data, shortest, tokens
            sources[row] = TimeSource.NONE if step.async_handles else TimeSource.EVENT
        self._source = np.array(sources, dtype=np.uint8)
        values = np.array([*zip(*found, strict=True)]) if size else np.empty((_COLUMNS, 0))
        return values, np.array(ends), np.array(numbers, dtype=np.int64)

    def _times(self, seconds: Floats) -> Times:
        return Times(seconds, self._source.copy())

    def _transfer(self, seconds: Floats) -> Times | None:
        return self._times(seconds) if np.isfinite(seconds).any() else None

    def side(self, **columns: Sequence[float] | None) -> SideColumns:
        """Side columns from plain lists by row."""
        return SideColumns(
            **{
                name: None if values is None else np.asarray(values, dtype=np.float64)
                for name, values in columns.items()
            }
        )

    @property
    def shown(self) -> Shown:
        """The figures of the last steps; made anew when there are more."""
        if self._shown is None:
            held = self._recent[: min(self._count, MEDIANS)]
            rows = self._medians(held) if len(held) else [[nan] * len(self.rows)] * _COLUMNS
            period = median(self._periods)
            self._shown = Shown(rows, period if isfinite(period) else None)
        return self._shown

    @staticmethod
    def _medians(held: Floats) -> list[list[float]]:
        counts = np.isfinite(held).sum(axis=0)
        ordered = np.sort(held, axis=0)
        low = np.take_along_axis(ordered, np.maximum(counts - 1, 0)[None] // 2, axis=0)[0]
        high = np.take_along_axis(ordered, np.minimum(counts // 2, len(held) - 1)[None], axis=0)[0]
        found: list[list[float]] = np.where(counts > 0, (low + high) / 2, np.nan).tolist()
        return found

    @property
    def usual(self) -> float | None:
        """The usual period of an update's steps; None while it is learned."""
        return self._detector.period if self._detector.is_learned else None

    @property
    def learned(self) -> bool:
        """Whether its usual times are known."""
        now = self.assessment
        return now is not None and now.regime is not Regime.LEARNING and self.usual is not None

    @property
    def marks(self) -> dict[int, Mark]:
        """Slow ranks by row: how far that is established, of what kind, how much."""
        found: dict[int, Mark] = {}
        for suspect in self.suspects:
            if suspect.scope in _MACHINES and suspect.tier > Tier.NONE:
                for row in suspect.rows:
                    mark = (suspect.tier, suspect.kind.value, suspect.ratio)
                    found[row] = max(found.get(row, mark), mark, key=lambda one: one[0])
        return found

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """Those against whom something stands now."""
        return self.assessment.suspects if self.assessment else ()


def _split(step: Step, before: float | None) -> tuple[float, float, float, float, float]:
    """Busy, wait, input, shortest and tokens of a step.

    The step reaches back to the end of the one before where waiting for data is known, because
    that lies between; else it is what its program calls a step.
    """
    known = isfinite(step.input)
    whole = step.end - (before if known and before is not None else step.begin)
    busy = whole - step.collectives - (step.input if known else 0.0)
    return (busy if busy > 0 else nan, step.collectives, step.input, step.shortest, step.tokens)


def _measured(held: Sequence[tuple[Floats, float]]) -> int:
    """How many of these steps have a busy time."""
    return sum(bool(np.isfinite(values[_BUSY]).any()) for values, _ in held)


def _means(values: Sequence[Floats]) -> Floats:
    """The mean of several steps by rank, of those that are known."""
    stacked = np.array(values)
    known = np.isfinite(stacked)
    counts = known.sum(axis=0)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def _topology(rows: Sequence[Row], node: str) -> Topology:
    def labels(values: list[str | None]) -> list[str | None] | None:
        return values if any(values) else None

    devices = [row.device for row in rows]
    cores = [row.core if row.core is not None else -1 for row in rows]
    return Topology.of(
        [row.number for row in rows],
        role=labels([row.role for row in rows]),
        replica=labels([row.replica for row in rows]),
        node=[node] * len(rows),
        device=devices if any(one is not None for one in devices) else None,
        core=cores if any(one >= 0 for one in cores) else None,
    )
