"""One judged quantity of all ranks: baselines, noise, regime and channel put together."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuron_observer.stragglers.channel import Channel
from neuron_observer.stragglers.residuals import Baseline, Scale, TwoWay, one_way
from neuron_observer.stragglers.robust import median, sigma
from neuron_observer.stragglers.suspects import Regime

if TYPE_CHECKING:
    from neuron_observer.stragglers.channel import Moment
    from neuron_observer.stragglers.columns import Floats, Mask, Topology
    from neuron_observer.stragglers.parameters import Parameters

PEEK = 16  # updates between looks at the regime that is not in use
REVIEW = 64  # updates between choices of the regime
CLEARLY = 0.67  # share of the one-way noise below which two-way removal is worth it


class _Way:
    """One way of removing the workload: its baseline and what noise it leaves."""

    def __init__(self, size: int, parameters: Parameters) -> None:
        self.baseline = Baseline(size, parameters.baseline)
        self.scale = Scale(parameters.scale_window, parameters.sigma_floor)
        self.residual: Floats = np.full(size, np.nan)

    def know(self, level: Floats, noise: float) -> None:
        """Take a level and a noise that were learned elsewhere, and keep them."""
        self.baseline.know(level)
        self.scale.know(noise)

    def take(self, values: Floats, calm: Mask, *, centre: bool) -> None:
        """Learn from one update, then say how far each rank is from its usual.

        The noise is that of the `calm` ranks: in a small job the slow ones and those predicted
        from them are half of all.
        """
        ready = self.baseline.learn(values)
        if ready.any():
            self.scale.add(self.baseline.scale(ready))
        self.residual = values - self.baseline.value
        if centre:
            middle = median(self.residual)
            self.residual = self.residual - (middle if isfinite(middle) else 0.0)
        self.scale.add(sigma(self.residual[calm]))


class Usual(NamedTuple):
    """Levels and noise known beforehand: one-way, and two-way where that is possible."""

    level: Floats
    sigma: float
    polished: Floats | None
    polished_sigma: float
    two_way: TwoWay


class Signal:
    """Judges one value a rank and update; `values` are logs, or shares of the usual period."""

    def __init__(
        self, topology: Topology, parameters: Parameters, effect: float, *, replicas: bool
    ) -> None:
        self._p = parameters
        self._effect = effect
        self._centre = topology.size >= parameters.least_ranks
        self._least = parameters.least_ranks
        self._two_way = TwoWay(topology, parameters) if replicas else None
        self._fixed = _Way(topology.size, parameters)
        self._polished = _Way(topology.size, parameters)
        self._way = self._fixed
        self._windowed = Scale(parameters.scale_window, parameters.sigma_floor)
        self._count = 0
        self.regime = Regime.LEARNING
        self.channel = Channel(topology.size, parameters, effect)

    def know(self, usual: Usual) -> None:
        """Take levels and noise that were learned elsewhere, and keep them."""
        self._two_way = usual.two_way
        self._fixed.know(usual.level, usual.sigma)
        if usual.polished is not None:
            self._polished.know(usual.polished, usual.polished_sigma)
        self._choose()

    @property
    def sigma(self) -> float:
        """The noise of what is judged; NaN while learning."""
        return self._windowed.value if self.regime is Regime.NOISY else self._way.scale.value

    @property
    def residual(self) -> Floats:
        """How far each rank is from its usual, `(N,)`."""
        return self._way.residual

    @property
    def levels(self) -> Floats:
        """Each rank's usual value less the job's median, `(N,)`; NaN while it is learned."""
        return self._fixed.baseline.value

    def lateness(self, seconds: Floats) -> float:
        """How much longer than its usual the latest rank took in this update, in seconds."""
        late = seconds * (1 - np.exp(-self.residual))
        known = late[np.isfinite(late)]
        return float(known.max()) if known.size else 0.0

    def forget(self, rows: Mask) -> None:
        """Learn these ranks anew."""
        for way in (self._fixed, self._polished):
            way.baseline.forget(rows)
        self.channel.clear(rows)

    def absorb(self, rows: Mask) -> None:
        """Take the present level of these ranks as their usual: it is the work, not a fault."""
        level = np.nan_to_num(self.channel.windowed())
        self._way.baseline.value[rows] += level[rows]
        self.channel.clear(rows)

    def update(self, moment: Moment, values: Floats) -> Mask:
        """Take one update; gives the ranks whose episode ended."""
        self._count += 1
        nobody = np.zeros(len(values), dtype=np.bool_)
        peek = self.regime is Regime.LEARNING or self._count % PEEK == 0
        two_way = self._two_way
        calm = self.channel.calm
        if two_way is not None and two_way.possible and (peek or self._way is self._polished):
            polished = two_way.residual(values, calm)
            if self._count > self._p.warm_up:
                self._polished.take(polished, two_way.unaffected(calm), centre=False)
        if self._count <= self._p.warm_up:
            return nobody
        if peek or self._way is self._fixed:
            self._fixed.take(one_way(values, self._least), calm, centre=self._centre)
        if self.regime is Regime.LEARNING or (self._count % REVIEW == 0 and calm.all()):
            self._choose()
        if self.regime is Regime.LEARNING:
            return nobody
        ended = self._judge(moment)
        if self._p.drift and self._count % PEEK == 0:
            step = PEEK * self._p.drift * self._way.scale.value
            self._way.baseline.follow(self.residual, step, self.channel.calm)
        return ended

    def _choose(self) -> None:
        one, two = self._fixed.scale.value, self._polished.scale.value
        if not np.isfinite(one):
            return
        helps = np.isfinite(two) and two < CLEARLY * one
        self._way = self._polished if helps else self._fixed
        usable = Regime.TWO_WAY if helps else Regime.FIXED
        regime = Regime.NOISY if self._way.scale.value > self._p.noisy_above else usable
        if regime is not self.regime:
            noisy = regime is Regime.NOISY
            effect = self._p.effect_noisy if noisy else self._effect
            span = self._p.window if noisy else 1
            self.channel = Channel(len(self.residual), self._p, effect, span)
            self.regime = regime

    def _judge(self, moment: Moment) -> Mask:
        residual = self.residual
        self.channel.record(moment.step, residual)
        run_length = len(residual) * moment.a_day / self._p.false_alarms_a_day
        if self.regime is not Regime.NOISY:
            ended = self.channel.judge(moment, residual, self._way.scale.value, run_length)
            self.channel.persist(moment.elapsed)
            return ended
        if self._count % self._p.stride:
            return np.zeros(len(residual), dtype=np.bool_)
        score = self.channel.windowed()
        noise = self._windowed.add(sigma(score))
        self.channel.effect = max(self._p.effect_noisy, self._p.noisy_z * noise)
        return self.channel.judge(moment, score, noise, run_length / self._p.stride)
