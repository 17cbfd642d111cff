"""Onset detection on one residual a rank: capped CUSUM, confirmation, persistence, episodes."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from neuron_observer.stragglers.recent import Recent
from neuron_observer.stragglers.robust import medians, threshold

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Bytes, Floats, Ints, Mask
    from neuron_observer.stragglers.parameters import Parameters


class Tier(IntEnum):
    """How far a rank's slowdown is established."""

    NONE = 0
    NOTICE = 1  # info
    WARNING = 2
    CRITICAL = 3


_NONE: Final = int(Tier.NONE)  # numpy asks an enum for many an attribute before it takes the number


class Moment(NamedTuple):
    """When an update is: its step, the wall clock, our own clock that never jumps, both in s."""

    step: int
    at: float
    elapsed: float
    a_day: float  # updates a day, for the rate of false alarms


class Channel:
    """The CUSUM and the open episode of every rank, as arrays.

    `residual` is `(N,)`: log ratio to what the rank should take, NaN where it is not known;
    such a rank stands still. `effect` is the smallest residual looked for.
    """

    def __init__(self, size: int, parameters: Parameters, effect: float, span: int = 1) -> None:
        self._p = parameters
        self.span = span  # updates that one score rests on
        self.effect = effect
        self.tier: Bytes = np.zeros(size, dtype=np.uint8)
        self.onset: Ints = np.zeros(size, dtype=np.int64)  # step at which the sum left zero
        self.since: Floats = np.zeros(size)  # wall clock of the onset
        self.warned: Floats = np.full(size, np.nan)  # our clock when the warning came
        self.last: Ints = np.zeros(size, dtype=np.int64)  # last slow step
        self.peak: Bytes = np.zeros(size, dtype=np.uint8)  # highest tier of the episode
        self.slow: Ints = np.zeros(size, dtype=np.int64)  # slow steps since the onset
        self._slow_total: Floats = np.zeros(size)  # sum of their residuals
        self.worst: Floats = np.full(size, np.nan)  # greatest residual since the onset
        self.steps: Ints = np.zeros(size, dtype=np.int64)  # steps since the onset
        self._sum: Floats = np.zeros(size)
        self._busy = False  # any sum above zero, or any episode
        self._quiet: Ints = np.zeros(size, dtype=np.int64)
        self._run: Ints = np.zeros(size, dtype=np.int64)  # steps since the last normal one
        self._recent = Recent(max(parameters.window, 2 * parameters.persist_of), size)

    def clear(self, rows: Mask) -> None:
        """Forget all about these ranks."""
        for array in (self.tier, self._sum, self._quiet, self._run, self.slow):
            array[rows] = 0
        self._recent.forget(rows)
        self.warned[rows] = np.nan

    @property
    def calm(self) -> Mask:
        """Ranks without an episode."""
        return np.equal(self.tier, _NONE)

    @property
    def flagged(self) -> Mask:
        """Ranks with one."""
        return np.greater(self.tier, _NONE)

    @property
    def rising(self) -> Mask:
        """Ranks with an episode, or on the way to one."""
        latest = self._recent.last(np.arange(len(self.tier)), 1)[0]
        slow = np.nan_to_num(latest) > self._p.normal * self.effect
        return np.asarray(self.flagged | ((self._sum > 0) & slow))

    def level(self, rows: Ints, window: int) -> Floats:
        """The median residual of these ranks over their last `window` updates."""
        return medians(self._recent.last(rows, window))

    def windowed(self) -> Floats:
        """The median residual of every rank over the window of the noisy regime, `(N,)`."""
        return self._recent.medians(self._p.window)

    def excess(self, rows: Ints) -> Floats:
        """The mean residual of these ranks' slow steps."""
        return np.asarray(self._slow_total[rows] / np.maximum(self.slow[rows], 1))

    def raise_to(self, tier: Tier, rows: Ints) -> None:
        """Give these ranks a higher tier."""
        self.tier[rows] = tier
        self.peak[rows] = np.maximum(self.peak[rows], tier)

    def record(self, step: int, residual: Floats) -> None:
        """Remember one update."""
        known = self._recent.add(step, residual)
        with np.errstate(invalid="ignore"):
            above = residual > self._p.gate * self.effect
            normal = residual < self._p.normal * self.effect
        self._run += known
        self._run[normal] = 0
        self.steps += known
        np.fmax(self.worst, residual, out=self.worst)
        rows = np.flatnonzero(above)
        if rows.size:
            self.last[rows] = step
            self.slow[rows] += 1
            self._slow_total[rows] += residual[rows]

    def judge(self, moment: Moment, score: Floats, sigma: float, run_length: float) -> Mask:
        """Move the sums by one score a rank (NaN stands still) and open or close episodes.

        `run_length` is the mean number of scores between false alarms, over one rank. Gives the
        ranks whose episode ended; their figures stay until the next one.
        """
        k = self.effect / (2 * sigma)
        h = threshold(k, run_length, self._p.least_h)
        move = np.minimum(score / sigma - k, h / self._p.steps_to_notice)
        if not self._busy and not (move > 0).any():
            return np.zeros(len(score), dtype=np.bool_)  # nothing is open and nobody is slow
        known = np.isfinite(score)
        total = np.clip(self._sum + np.where(known, move, 0.0), 0.0, 1.25 * h)
        starts = known & (total > 0) & (self._sum == 0) & self.calm
        self._sum = total
        if starts.any():
            self._start(np.flatnonzero(starts), moment)
        alarms = np.flatnonzero((total >= h) & self.calm)
        if alarms.size:
            self._open(alarms, sigma)
        ended = self._close(known & (total < h / 4))
        self._busy = bool(total.any()) or bool(self.tier.any())
        return ended

    def _start(self, rows: Ints, moment: Moment) -> None:
        """Begin an account of these ranks with the first slow step that the score rests on."""
        values = self._recent.last(rows, self.span)
        slow = values > self._p.gate * self.effect
        oldest = self.span - 1 - slow[::-1].argmax(axis=0)  # of the slow ones; the last row if none
        steps = self._recent.steps(rows, self.span)
        some = slow.any(axis=0)
        self.onset[rows] = np.where(some, steps[oldest, np.arange(len(rows))], moment.step)
        self.since[rows] = moment.at
        self.steps[rows] = np.where(some, oldest + 1, 1)
        self.slow[rows] = slow.sum(axis=0)
        self._slow_total[rows] = np.where(slow, values, 0.0).sum(axis=0)
        self.worst[rows] = np.fmax.reduce(values, axis=0)

    def _open(self, rows: Ints, sigma: float) -> None:
        noisy = sigma > self._p.noisy_above
        window = self._p.steps_to_notice_noisy if noisy else self._p.steps_to_notice
        sure = self.level(rows, window) > self._p.gate * self.effect
        self.peak[rows[sure]] = 0
        self.raise_to(Tier.NOTICE, rows[sure])
        self._quiet[rows[sure]] = 0

    def _close(self, low: Mask) -> Mask:
        self._quiet = np.where(low, self._quiet + 1, 0)
        ended = self.flagged & (self._quiet >= self._p.clear)
        self.tier[ended] = Tier.NONE
        self.warned[ended] = np.nan
        return ended

    def persist(self, elapsed: float) -> None:
        """Raise notices to warnings where k of the last m updates were slow.

        Two bursts side by side can fill k of m as well; so the run must not have come back
        to normal between, or k of m must hold over twice the time.
        """
        if not self._busy:  # then nothing is open
            return
        rows = np.flatnonzero(self.tier == Tier.NOTICE)
        if not rows.size:
            return
        m = self._p.persist_of
        above = self._recent.last(rows, 2 * m) > self._p.gate * self.effect
        once = above[:m].sum(axis=0) >= self._p.persist
        twice = above.sum(axis=0) >= 2 * self._p.persist
        raised = rows[once & (twice | (self._run[rows] >= self._p.persist))]
        self.raise_to(Tier.WARNING, raised)
        self.warned[raised] = elapsed
