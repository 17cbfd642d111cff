"""From busy times to residuals: what is left when the workload's own ups and downs are removed.

One-way: log busy - the job's median - the rank's own baseline. Enough where shapes are fixed;
needs no topology. Two-way: minus the median of the role and the replica's share as well, where
the data makes a replica's ranks slow together. Which one is used, the noise that is left decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.robust import Groups, median, medians, sigma

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints, Mask, Topology
    from neuron_observer.stragglers.parameters import Parameters


class Baseline:
    """Each rank's own usual value: the median of its first good updates, then a slow follower."""

    def __init__(self, size: int, count: int) -> None:
        self.value: Floats = np.full(size, np.nan)
        self._count = count
        self._first: Floats = np.full((count, size), np.nan)
        self._seen: Ints = np.zeros(size, dtype=np.int64)

    def know(self, level: Floats) -> None:
        """Take levels learned elsewhere; NaN is a rank that is never judged."""
        self.value = level.copy()
        self._seen[:] = self._count

    def learn(self, values: Floats) -> Mask:
        """Take one update of the ranks that have no baseline yet; gives those that now have one."""
        rows = np.flatnonzero(np.isfinite(values) & (self._seen < self._count))
        ready = np.zeros(len(values), dtype=np.bool_)
        if rows.size:
            self._first[self._seen[rows], rows] = values[rows]
            self._seen[rows] += 1
            done = rows[self._seen[rows] == self._count]
            self.value[done] = medians(self._first[:, done])
            ready[done] = True
        return ready

    def scale(self, rows: Mask) -> float:
        """Sigma of these ranks' first values about their baseline."""
        return sigma((self._first[:, rows] - self.value[rows]).ravel())

    def forget(self, rows: Mask) -> None:
        """Start anew for these ranks."""
        self.value[rows] = np.nan
        self._first[:, rows] = np.nan
        self._seen[rows] = 0

    def follow(self, residual: Floats, step: float, free: Mask) -> None:
        """Move the baseline of the free ranks by at most `step` towards their residual."""
        move = np.sign(residual) * step
        self.value += np.where(free & np.isfinite(move), move, 0.0)


class Scale:
    """sigma over all ranks: the running median of each update's robust scale, with a floor."""

    def __init__(self, window: int, floor: float) -> None:
        self._floor = floor
        self._ring = np.full(window, np.nan)
        self._seen = 0
        self._fixed = False
        self.value = float("nan")

    def know(self, scale: float) -> None:
        """Take a scale learned elsewhere, and keep it."""
        self.value, self._fixed = max(scale, self._floor), np.isfinite(scale)

    def add(self, scale: float) -> float:
        """Take one update's scale; gives the running median, at least the floor."""
        if np.isfinite(scale) and not self._fixed:
            self._ring[self._seen % len(self._ring)] = scale
            self._seen += 1
            self.value = max(median(self._ring), self._floor)
        return self.value


class TwoWay:
    """Role x replica removal: Tukey's median polish with one slope a role.

    A replica of two or three ranks has no median that a slow member does not move: there each
    rank is predicted from the others.
    """

    def __init__(self, topology: Topology, parameters: Parameters) -> None:
        if topology.role is None:
            codes = np.zeros(topology.size, dtype=np.int64)
        else:
            codes = topology.role.codes
        replica = topology.replica
        unknown = np.full(topology.size, -1)
        self._roles = Groups(codes, least=3)
        self._replicas = Groups(unknown if replica is None else replica.codes, least=2)
        self._small: Mask = self._replicas.spread(
            (self._replicas.sizes < parameters.least_replica).astype(np.float64)
        ).astype(np.bool_)
        self._rounds = parameters.polish
        self._xy = np.full(len(self._roles) + 1, 1e-9)
        self._yy = np.full(len(self._roles) + 1, 1e-9)
        self._frozen = False
        self.predicts = bool(self._small.any())  # ranks from the few others of their replica
        self.possible = len(self._replicas) > 1 and len(self._roles) > 0

    def residual(self, logs: Floats) -> Floats:
        """What role and replica do not explain, `(N,)`."""
        left = logs - self._roles.spread(self._roles.medians(logs))
        level = left - self._roles.spread(self._roles.medians(left))
        left = level
        for round_ in range(self._rounds):
            common = self._common(left)
            if round_ == 0 and not self._frozen:
                self._fit(left, common)
            left = left - self._slopes() * common if round_ == 0 else left - common
            left = left - self._roles.spread(self._roles.medians(left))
            if self._small.any():
                break
        return left

    def freeze(self) -> None:
        """Keep the slopes as they are."""
        self._frozen = True

    def _common(self, left: Floats) -> Floats:
        """The part that a rank's replica shares, seen from its other ranks where they are few."""
        common = self._replicas.spread(self._replicas.medians(left))
        if self._small.any():
            known = np.where(np.isfinite(left), left, 0.0)
            codes = self._replicas.codes
            size = len(self._replicas) + 1
            count = np.bincount(codes, weights=np.isfinite(left), minlength=size)[codes] - 1
            total = np.bincount(codes, weights=known, minlength=size)[codes] - known
            others = np.where(count > 0, total / np.maximum(count, 1), 0.0)
            common = np.where(self._small, others, common)
        return common

    def _fit(self, left: Floats, common: Floats) -> None:
        """Slope of each role on its replicas' common part: least absolute deviations.

        The slope of one update is the median of the ratios weighted by the size of the common part,
        so that a slow rank does not bend it; slopes are averaged over about a hundred updates.
        """
        good = np.isfinite(left) & (common != 0)
        order = np.flatnonzero(good)
        order = order[np.argsort(left[order] / common[order])]
        for role in range(len(self._roles)):
            rows = order[self._roles.codes[order] == role]
            if len(rows) < 3:
                continue
            weight = np.abs(common[rows]).cumsum()
            middle = rows[np.searchsorted(weight, weight[-1] / 2)]
            self._xy[role] = 0.99 * self._xy[role] + weight[-1] * left[middle] / common[middle]
            self._yy[role] = 0.99 * self._yy[role] + weight[-1]

    def _slopes(self) -> Floats:
        return np.asarray(np.clip(self._xy / self._yy, 0.0, 4.0)[self._roles.codes])


def one_way(logs: Floats, least: int) -> Floats:
    """Log values minus the job's median; as they are where the ranks are too few for one."""
    return logs - median(logs) if len(logs) >= least else logs


class TokenTerm:
    """Removes what a rank's number of tokens explains, with one slope fitted over all ranks."""

    def __init__(self) -> None:
        self._xy = 1e-9
        self._xx = 1e-6

    def remove(self, logs: Floats, tokens: Floats) -> Floats:
        """Log times as if every rank had had the job's median number of tokens."""
        with np.errstate(divide="ignore", invalid="ignore"):
            counts = np.where(tokens > 0, np.log(tokens), np.nan)
        x = np.nan_to_num(counts - median(counts))
        if not x.any():
            return logs
        y = np.nan_to_num(logs - median(logs))
        self._xy = 0.99 * self._xy + float((x * y).sum())
        self._xx = 0.99 * self._xx + float((x * x).sum())
        return np.asarray(logs - min(max(self._xy / self._xx, 0.0), 2.0) * x)
