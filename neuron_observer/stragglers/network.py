"""Slow transfers: the shortest time in a collective of each group, against its own past.

The last rank to enter a collective does not wait, so the least time of a group is the transfer
itself (no clocks compared). It also rises when a rank that is not observed comes late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuron_observer.stragglers.channel import Channel
from neuron_observer.stragglers.residuals import Baseline, Scale
from neuron_observer.stragglers.robust import Groups, medians, sigma

if TYPE_CHECKING:
    from neuron_observer.stragglers.channel import Moment
    from neuron_observer.stragglers.columns import Floats, Ints, Topology
    from neuron_observer.stragglers.parameters import Parameters


class Busy(NamedTuple):
    """What busy times say of waits: the latest rank's excess (s), and the job's log median."""

    late: float
    level: float


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
        self._usual: list[Busy] = []  # of the first updates

    def update(self, moment: Moment, times: Floats, busy: Busy | None) -> None:
        """Take seconds in collectives, `(N,)`.

        `busy` is given where the times are whole waits: steps in which a late rank explains the
        rise, or the work of all has changed, are passed over. None where they are shortest
        collectives, which no lateness lengthens for the whole group.
        """
        self._count += 1
        self.shortest = busy is None
        self._now = self.groups.minima(times)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(self._now > 0, np.log(self._now), np.nan)
        if self._count <= self._p.warm_up or not len(self.groups):
            return
        ready = self._baseline.learn(logs)
        if ready.any():
            self._scale.add(self._baseline.scale(ready))
        residual = logs - self._baseline.value
        calm = residual[self.channel.calm]
        noise = self._scale.add(sigma(calm) if calm.size else float("nan"))
        if not np.isfinite(noise):
            return
        if busy is not None:
            residual = self._unexplained(residual, busy)
        self.channel.effect = max(self._effect, 3 * noise)
        self.channel.record(moment.step, residual)
        run_length = len(self.groups) * moment.a_day / self._p.false_alarms_a_day
        self.channel.judge(moment, residual, noise, run_length)
        self.channel.persist(moment.elapsed)

    def _unexplained(self, residual: Floats, busy: Busy) -> Floats:
        """The residuals that no busy time explains; NaN for those that one does."""
        if len(self._usual) < self._p.baseline:
            self._usual.append(busy)
        late, level = medians(np.array(self._usual))
        if abs(busy.level - level) > self._p.effect:
            return np.full_like(residual, np.nan)
        rise = self._now * (1 - np.exp(-residual))
        with np.errstate(invalid="ignore"):
            explained = (rise > 0) & (busy.late - late >= self._p.kind_share * rise)
        return np.where(explained, np.nan, residual)

    def slow(self) -> Ints:
        """The groups whose transfers are slow."""
        return np.flatnonzero(self.channel.flagged)

    def excess(self, groups: Ints) -> float:
        """Seconds a step that these groups' transfers take longer, at most."""
        ratio = np.exp(self.channel.level(groups, self._p.persist_of))
        return float(np.nanmax(self._now[groups] * (1 - 1 / ratio)))
