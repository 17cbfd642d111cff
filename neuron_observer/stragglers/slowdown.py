"""Stage A: is the job slower than it was? Needs the step period of any one rank."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite, log, sqrt
from typing import TYPE_CHECKING

from neuron_observer.stragglers.middle import middle, quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.stragglers.parameters import Parameters


MAD_TO_SIGMA = 1.4826  # of a normal distribution
ONE_SIGMA = 0.8413  # share of a normal distribution below one sigma
MEDIAN_ERROR = 1.2533  # standard error of a median over that of a mean, normal noise


@dataclass(frozen=True, slots=True)
class Slowdown:
    """The job is slower: since when, and how long a step took before and takes now (seconds)."""

    first_step: int
    since: float  # wall clock
    before: float
    now: float

    @property
    def ratio(self) -> float:
        """How many times as long a step takes."""
        return self.now / self.before


class JobSlowdown:
    """A one-sided CUSUM on the log period, verified: ≥ 1.10x over ≥ 10 periods.

    Three quarters of them must be well above the usual: hiccups side by side are no slowdown.
    Pauses (checkpoint, evaluation: more than 3x the usual) are left out, but only as long as
    they are short: slowness that stays is no pause.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._p = parameters
        self._good: list[float] = []
        self._count = 0
        self._median: float | None = None  # of the good log periods, and their noise
        self._sigma: float | None = None
        self._sum = 0.0
        self._pending: list[float] = []  # log periods since the sum left zero
        self._onset = (0, 0.0)
        self._recent: list[float] = []
        self.pauses = 0  # in a row
        self.current: Slowdown | None = None

    @property
    def usual(self) -> float:
        """The usual period in seconds; NaN until ten are known."""
        return exp(self._centre()) if self._count >= self._p.slowdown_periods else float("nan")

    def is_pause(self, period: float, *, blind: bool = False) -> bool:
        """Whether a period is that of a pause; not the fourth in a row.

        Looked at from outside (`blind`) a pause is not one long step but many slow samples.
        """
        usual = self.current.now if self.current else self.usual
        long = isfinite(period) and period > self._p.pause * usual
        self.pauses = self.pauses + 1 if long else 0
        return long and self.pauses < (self._p.pause_samples if blind else self._p.steps_to_notice)

    def update(self, step: int, at: float, period: float) -> Slowdown | None:
        """Take one good period; gives the slowdown while there is one."""
        if not isfinite(period) or period <= 0:
            return self.current
        value = log(period)
        if self._count < 2 * self._p.slowdown_periods:
            self._learn(value)
            return None
        centre = self._centre()
        sigma = self._scale(centre)
        if self.current is not None:
            return self._follow(value, centre)
        self._accumulate(step, at, value, (value - centre) / sigma)
        if self._sum == 0:
            self._forgive()
        return self._verify(centre, sigma)

    def _scale(self, centre: float) -> float:
        """The noise of the good periods; that above their median where they are skewed."""
        if self._sigma is None:
            apart = [value - centre for value in self._good]
            both = MAD_TO_SIGMA * middle(map(abs, apart))
            self._sigma = max(self._p.sigma_floor, both, quantile(apart, ONE_SIGMA))
        return self._sigma

    def _learn(self, value: float) -> None:
        if len(self._good) < self._p.period_window:
            self._good.append(value)
        else:
            self._good[self._count % len(self._good)] = value
        self._count += 1
        self._median = self._sigma = None

    def _centre(self) -> float:
        """The median of the good log periods."""
        if self._median is None:
            self._median = middle(self._good)
        return self._median

    def _forgive(self) -> None:
        """What was suspected was usual after all: leaving it out would bend the baseline."""
        for value in self._pending:
            self._learn(value)
        self._pending = []

    def _accumulate(self, step: int, at: float, value: float, score: float) -> None:
        if self._sum == 0:
            self._onset = (step, at)
        self._sum = min(max(0.0, self._sum + min(max(score, -4.0), 4.0) - 1.0), 40.0)
        self._pending.append(value)

    def _verify(self, centre: float, sigma: float) -> Slowdown | None:
        """Whether the last periods, or all since it began, are longer: by 10 %, and by more than
        their median varies.
        """
        least = self._p.slowdown_periods
        if self._sum < self._p.least_h or len(self._pending) < least:
            return None
        since = self._pending
        for periods in (since[-least:], since):
            now = middle(periods)
            if now - centre >= self._enough(len(periods), sigma) and self._lasts(periods, centre):
                self.current = Slowdown(*self._onset, exp(centre), exp(now))
                self._recent = self._pending[-least:]
                return self.current
        if len(since) >= self._p.period_window:  # slower, but not enough to tell: the new usual
            self._sum = 0.0
            self._forgive()
        return None

    def _enough(self, periods: int, sigma: float) -> float:
        """Log ratio that a median over so many periods must exceed."""
        varies = MEDIAN_ERROR * sigma / sqrt(periods)
        return max(log(self._p.slowdown), self._p.slowdown_z * varies)

    def _lasts(self, periods: Sequence[float], centre: float) -> bool:
        """Whether three quarters of the periods are well above the usual."""
        low = quantile(periods, 1 - self._p.slowdown_share)
        return low - centre >= log(self._p.slowdown) / 2

    def _follow(self, value: float, centre: float) -> Slowdown | None:
        self._recent = [*self._recent, value][-self._p.slowdown_periods :]
        now = middle(self._recent)
        if now - centre < log(self._p.slowdown) / 2:
            self.current, self._sum, self._pending = None, 0.0, []  # those were slow
        elif self.current is not None:
            first = self.current
            self.current = Slowdown(first.first_step, first.since, first.before, exp(now))
        return self.current
