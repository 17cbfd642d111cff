"""Robust statistics over ranks: medians of groups, scales, the threshold of a CUSUM."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints

MAD_TO_SIGMA = 1.4826  # of a normal distribution


def median(values: Floats) -> float:
    """The median of the finite values; NaN of none.

    Not numpy's, which would load masked arrays, more than a megabyte; nor is its `unique` used.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return float("nan")
    finite.sort()
    half = finite.size // 2
    return float(finite[half] if finite.size % 2 else (finite[half - 1] + finite[half]) / 2)


def distinct(values: Ints) -> Ints:
    """Each value once, ascending."""
    return np.array(sorted(set(values.tolist())), dtype=values.dtype)


def medians(rows: Floats) -> Floats:
    """The median down each column of `(window, N)`; NaN where a column has no value."""
    return _middle(np.sort(rows, axis=0).T, np.isfinite(rows).sum(axis=0))


def _middle(ordered: Floats, counts: Ints) -> Floats:
    """Medians of ascending rows whose first `counts` entries are values."""
    row = np.arange(len(counts))
    low = ordered[row, np.maximum(counts - 1, 0) // 2]
    high = ordered[row, np.minimum(counts // 2, ordered.shape[1] - 1)]
    return np.where(counts > 0, (low + high) / 2, np.nan)


def sigma(residuals: Floats) -> float:
    """1.4826 x the median absolute value; NaN of none."""
    return MAD_TO_SIGMA * median(np.abs(residuals))


class Groups:
    """Ranks by a label; medians over all groups at once. Rows without a label are in none."""

    def __init__(self, codes: Ints, *, least: int = 1) -> None:
        sizes = np.bincount(codes[codes >= 0]) if (codes >= 0).any() else np.zeros(0, np.int64)
        kept = np.flatnonzero(sizes >= least)
        place = np.full(len(sizes) + 1, len(kept), dtype=np.int64)
        place[kept] = np.arange(len(kept))
        self.codes: Ints = place[codes]  # len(self) for a row that is in no group
        self.sizes: Ints = sizes[kept]
        self.labels: Ints = kept  # group → code it was built from
        self._index = np.full((len(kept), int(self.sizes.max(initial=1))), len(codes))
        for group, label in enumerate(kept):
            members = np.flatnonzero(codes == label)
            self._index[group, : len(members)] = members

    def __len__(self) -> int:
        """The number of groups."""
        return len(self.sizes)

    def medians(self, values: Floats) -> Floats:
        """The median of each group, `(groups,)`; NaN of a group without values."""
        table = np.append(values, np.nan)[self._index]
        counts = np.isfinite(table).sum(axis=1)
        table.sort(axis=1)
        return _middle(table, counts)

    def minima(self, values: Floats) -> Floats:
        """The least value of each group; NaN of a group without values."""
        table = np.append(values, np.inf)[self._index]
        least = np.where(np.isnan(table), np.inf, table).min(axis=1)
        return np.where(np.isfinite(least), least, np.nan)

    def spread(self, of_groups: Floats, fill: float = 0.0) -> Floats:
        """Give each rank the value of its group, `(N,)`; `fill` where there is none."""
        values = np.append(of_groups, fill)[self.codes]
        return np.where(np.isnan(values), fill, values)

    def share(self, chosen: Floats) -> Floats:
        """Share of each group's members that are chosen (1.0 or 0.0), `(groups,)`."""
        table = np.append(chosen, 0.0)[self._index]
        return np.asarray(table.sum(axis=1) / self.sizes)


def threshold(k: float, run_length: float, least: float) -> float:
    """CUSUM threshold h for a mean run of `run_length` updates between false alarms.

    Siegmund (1985): ARL₀ ≈ e^{2k(h + 1.166)} / (2k²), for reference value k in units of sigma.
    """
    return max(least, log(max(2 * k * k * run_length, 1.0)) / (2 * k) - 1.166)
