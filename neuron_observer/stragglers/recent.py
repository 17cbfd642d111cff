"""The last residuals of every rank, each at its own pace: a rank that is missing stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.robust import medians

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints, Mask


class Recent:
    """Ring buffers `(depth, N)` of values and of the steps that they belong to."""

    def __init__(self, depth: int, size: int) -> None:
        self.depth = depth
        self._values: Floats = np.full((depth, size), np.nan)
        self._steps: Ints = np.zeros((depth, size), dtype=np.int64)
        self._seen: Ints = np.zeros(size, dtype=np.int64)
        self._together = True  # all ranks have seen equally many

    def add(self, step: int, values: Floats) -> Mask:
        """Take one update; NaN is no value. Gives the ranks that have one."""
        known: Mask = np.isfinite(values)
        if self._together and known.all():
            row = int(self._seen[0]) % self.depth if len(values) else 0
            self._values[row] = values
            self._steps[row] = step
            self._seen += 1
            return known
        self._together = False
        ranks = np.flatnonzero(known)
        rows = self._seen[ranks] % self.depth
        self._values[rows, ranks] = values[ranks]
        self._steps[rows, ranks] = step
        self._seen[ranks] += 1
        return known

    def forget(self, ranks: Mask) -> None:
        """Empty the rings of these ranks."""
        self._values[:, ranks] = np.nan
        self._seen[ranks] = 0
        self._together = False

    def last(self, ranks: Ints, count: int) -> Floats:
        """The last values of these ranks, newest first, `(count, ranks)`; NaN if fewer."""
        return self._values[self._back(ranks, count), ranks]

    def steps(self, ranks: Ints, count: int) -> Ints:
        """The steps of the last values, newest first."""
        return self._steps[self._back(ranks, count), ranks]

    def medians(self, count: int) -> Floats:
        """The median of the last values of every rank, `(N,)`."""
        return medians(self.last(np.arange(len(self._seen)), count))

    def _back(self, ranks: Ints, count: int) -> Ints:
        back = np.arange(1, min(count, self.depth) + 1)[:, None]
        return np.asarray((self._seen[ranks] - back) % self.depth)
