"""95 % intervals: Wilson for shares, the bootstrap over jobs for everything else."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Z95 = 1.959964
RESAMPLES = 1000


def wilson(hits: int, of: int) -> tuple[float, float]:
    """Interval of a share; (0, 1) where nothing was tried."""
    if of == 0:
        return 0.0, 1.0
    share = hits / of
    denominator = 1 + Z95**2 / of
    middle = (share + Z95**2 / (2 * of)) / denominator
    half = Z95 / denominator * math.sqrt(share * (1 - share) / of + Z95**2 / (4 * of**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def rate_bound(count: int, days: float) -> float:
    """Upper 95 % bound of a Poisson rate a day: Byar's approximation, 3 / days for none."""
    if days <= 0:
        return math.inf
    if count == 0:
        return 3.0 / days
    more = count + 1
    return float(more * (1 - 1 / (9 * more) + Z95 / (3 * math.sqrt(more))) ** 3 / days)


def bootstrap(
    jobs: Sequence[NDArray[np.float64]],
    figure: Callable[[NDArray[np.float64]], float],
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Interval of `figure` of the jobs' summed counts; jobs are drawn with replacement."""
    if not jobs:
        return 0.0, 1.0
    table = np.array(jobs, float)
    picks = rng.integers(0, len(table), (RESAMPLES, len(table)))
    values = np.array([figure(table[pick].sum(axis=0)) for pick in picks])
    low, high = np.nanpercentile(values, [2.5, 97.5])
    return float(low), float(high)
