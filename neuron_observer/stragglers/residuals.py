"""From busy times to residuals: what is left when the workload's own ups and downs are removed.

One-way: log busy - the job's median - the rank's own baseline. Enough where shapes are fixed;
needs no topology. Two-way: minus the median of the role and the replica's share as well, where
the data makes a replica's ranks slow together. Which one is used, the noise that is left decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.robust import Groups, distinct, median, medians, sigma

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
        self._complete = False

    def know(self, level: Floats) -> None:
        """Take levels learned elsewhere; NaN is a rank that is never judged."""
        self.value = level.copy()
        self._seen[:] = self._count

    def learn(self, values: Floats) -> Mask:
        """Take one update of the ranks that have no baseline yet; gives those that now have one."""
        ready = np.zeros(len(values), dtype=np.bool_)
        if self._complete:
            return ready
        self._complete = bool((self._seen >= self._count).all())
        rows = np.flatnonzero(np.isfinite(values) & (self._seen < self._count))
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
        self._complete = False

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


FITTED, REFIT = 64, 4  # updates that are all fitted, then every fourth
LARGE = 8  # ranks of a role that have a median worth removing


class TwoWay:
    """What a rank's replica explains: the same data makes its other roles slow as well.

    Each rank is predicted from the ranks of its replica in *other* roles, so that a slow rank,
    device or node does not explain itself away; where there is one role only, from its replica's
    median. One slope a role, for a stage need not feel longer data as much as another.
    """

    def __init__(self, topology: Topology, parameters: Parameters) -> None:
        size = topology.size
        self._centred = size >= parameters.least_ranks
        self._roles: Ints = np.zeros(size, np.int64) if not topology.role else topology.role.codes
        self._width = max(int(self._roles.max(initial=0)) + 1, 1)
        self._replicas: Ints = np.full(size, -1)
        if topology.replica is not None:
            self._replicas = topology.replica.codes
        known = (self._replicas >= 0) & (self._roles >= 0)
        self._cells = Groups(np.where(known, self._replicas * self._width + self._roles, -1))
        self._known = known
        least = 1 if self._width > 1 else parameters.least_replica
        enough = bool(self._cells.sizes.min(initial=size) >= least)
        self.possible = enough and len(distinct(self._replicas[known])) > 1
        self.predicts = (
            1 < self._width < 4
        )  # few others: haste of one looks like a fault of another
        self._warm_up = max(parameters.warm_up, 1)
        self._seen = 0
        self._filled = False  # no rank is without a centre
        self._centre: Floats = np.full(size, np.nan)
        self._large = Groups(self._roles, least=LARGE)  # roles whose own ups and downs are removed
        self._most_shift = 2 * parameters.sigma_floor  # by little: half of a role may be slow
        self._fits = True
        self._count = 0
        self._xy = np.full(self._width, 1e-9)
        self._yy = np.full(self._width, 1e-9)

    def know(self, centre: Floats) -> None:
        """Take the usual level of every rank from elsewhere."""
        self._centre, self._seen = centre, self._warm_up

    def freeze(self) -> None:
        """Keep the slopes as they are."""
        self._fits = False

    def residual(self, logs: Floats, calm: Mask) -> Floats:
        """What the replica does not explain, `(N,)`; slopes are those of unaffected ranks."""
        left = logs - self._about(logs)
        common = self._common(left)
        self._count += 1
        if self._fits and (self._count <= FITTED or self._count % REFIT == 0):
            self._fit(np.where(self.unaffected(calm), left, np.nan), common)
        slopes = np.append(self._xy / self._yy, 1.0)[self._roles]  # code -1: the last
        rest = left - np.clip(slopes, 0.0, 4.0) * common
        shift = np.clip(self._large.medians(rest), -self._most_shift, self._most_shift)
        rest = rest - self._large.spread(shift)
        return np.asarray(rest - np.nan_to_num(median(rest))) if self._centred else rest

    def unaffected(self, calm: Mask) -> Mask:
        """The ranks in whose replica nobody is slow."""
        if calm.all():
            return calm
        slow = distinct(self._replicas[~calm & self._known])
        return calm & ~np.isin(self._replicas, slow)

    def _about(self, logs: Floats) -> Floats:
        """The rank's mean over the first updates, then fixed: any constant will do."""
        if self._seen < self._warm_up:
            self._seen += 1
            fresh = np.where(np.isnan(self._centre), logs, self._centre)
            self._centre = fresh + np.nan_to_num(logs - fresh) / self._seen
            return self._centre
        if not self._filled:
            self._filled = True
            self._centre = np.where(
                np.isnan(self._centre), np.nan_to_num(median(self._centre)), self._centre
            )
        return self._centre

    def _common(self, left: Floats) -> Floats:
        """What the other roles of each rank's replica have in common; NaN if nobody knows."""
        of_cells = self._cells.medians(left)
        table = np.full((int(self._replicas.max(initial=0)) + 1, self._width), np.nan)
        table.reshape(-1)[self._cells.labels] = of_cells
        common = table
        if self._width > 1:
            others = [medians(np.delete(table, role, axis=1).T) for role in range(self._width)]
            common = np.array(others).T
        shared = np.full(len(left), np.nan)
        shared[self._known] = common[self._replicas[self._known], self._roles[self._known]]
        return shared

    def _fit(self, left: Floats, common: Floats) -> None:
        """Slope of each role on what its replica shares: least absolute deviations.

        The slope of one update is the median of the ratios, weighted by the size of the common
        part, so that a slow rank does not bend it; slopes are averaged over a hundred updates.
        """
        order = np.flatnonzero(np.isfinite(left) & np.isfinite(common) & (common != 0))
        order = order[np.argsort(left[order] / common[order])]
        for role in range(self._width):
            rows = order[self._roles[order] == role]
            if len(rows) < 3:
                continue
            weight = np.abs(common[rows]).cumsum()
            middle = rows[np.searchsorted(weight, weight[-1] / 2)]
            self._xy[role] = 0.99 * self._xy[role] + weight[-1] * left[middle] / common[middle]
            self._yy[role] = 0.99 * self._yy[role] + weight[-1]


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
            counts = np.where((tokens > 0) & np.isfinite(tokens), np.log(tokens), np.nan)
        x = np.nan_to_num(counts - median(counts))
        if not x.any():
            return logs
        y = np.nan_to_num(logs - median(logs))
        self._xy = 0.99 * self._xy + float((x * y).sum())
        self._xx = 0.99 * self._xx + float((x * x).sum())
        return np.asarray(logs - min(max(self._xy / self._xx, 0.0), 2.0) * x)
