"""Slow transfers: the shortest time in a collective of each group, against its own past.

The last rank to enter a collective does not wait, so the least time of a group is the transfer
itself (no clocks compared). It also rises when a rank that is not observed comes late.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.channel import Channel, Tier
from neuron_observer.stragglers.residuals import Baseline, Scale
from neuron_observer.stragglers.robust import Groups, sigma

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints, Topology
    from neuron_observer.stragglers.parameters import Parameters


class Transfers:
    """Follows the transfer time of every collective group of one job."""

    def __init__(self, topology: Topology, parameters: Parameters) -> None:
        self._p = parameters
        labels = topology.group or topology.role
        codes = np.zeros(topology.size, dtype=np.int64) if labels is None else labels.codes
        self.names = ("job",) if labels is None else labels.names
        self.groups = Groups(codes, least=2)
        size = len(self.groups)
        self._effect = float(np.log1p(parameters.transfer))
        self.channel = Channel(size, parameters, self._effect)
        self._baseline = Baseline(size, parameters.baseline)
        self._scale = Scale(parameters.scale_window, parameters.sigma_floor)
        self._count = 0
        self._now: Floats = np.full(size, np.nan)
        self.shortest = False  # whether the times are shortest collectives
        self._late: deque[float] = deque(maxlen=parameters.scale_window)

    def update(
        self, step: int, at: float, times: Floats, updates_a_day: float, late: float | None
    ) -> None:
        """Take seconds in collectives, `(N,)`.

        `late` is how much longer than usual the slowest rank took in this step, where the times
        are whole waits: steps in which that explains the rise are passed over. None where
        they are shortest collectives, which no lateness lengthens for the whole group.
        """
        self._count += 1
        self.shortest = late is None
        self._now = self.groups.minima(times)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(self._now > 0, np.log(self._now), np.nan)
        if self._count <= self._p.warm_up or not len(self.groups):
            return
        ready = self._baseline.learn(logs)
        if ready.any():
            self._scale.add(self._baseline.scale(ready))
        residual = logs - self._baseline.value
        calm = residual[self.channel.tier == Tier.NONE]
        noise = self._scale.add(sigma(calm) if calm.size else float("nan"))
        if not np.isfinite(noise):
            return
        if late is not None:
            residual = self._unexplained(residual, late)
        self.channel.effect = max(self._effect, 3 * noise)
        self.channel.record(step, residual)
        run_length = len(self.groups) * updates_a_day / self._p.false_alarms_a_day
        self.channel.judge(step, at, residual, noise, run_length)
        self.channel.persist(at)

    def _unexplained(self, residual: Floats, late: float) -> Floats:
        """The residuals that no late rank explains; NaN for those that one does."""
        self._late.append(late)
        extra = late - float(np.median(self._late))
        rise = self._now * (1 - np.exp(-residual))
        with np.errstate(invalid="ignore"):
            return np.where((rise > 0) & (extra >= self._p.kind_share * rise), np.nan, residual)

    def slow(self) -> Ints:
        """The groups whose transfers are slow."""
        return np.flatnonzero(self.channel.tier > Tier.NONE)

    def excess(self, groups: Ints) -> float:
        """Seconds a step that these groups' transfers take longer, at most."""
        ratio = np.exp(self.channel.level(groups, self._p.persist_of))
        return float(np.nanmax(self._now[groups] * (1 - 1 / ratio)))
