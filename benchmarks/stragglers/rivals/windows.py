"""Rules that look at windows of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from benchmarks.stragglers.job import Job, Matrix

WINDOW = 12
MINDER_WINDOWS = 4
ARRIVALS = 24
LONG = 100


def windowed(job: Job, window: int = WINDOW) -> Matrix:
    """Medians of whole windows, windows x ranks."""
    whole = len(job.busy) // window
    cut = job.busy[: whole * window].reshape(whole, window, -1)
    middles: Matrix = np.median(cut, axis=1)
    return middles


def held(scores: Matrix, steps: int, window: int = WINDOW) -> Matrix:
    """Scores of whole windows, known at a window's end and until the next: steps by ranks."""
    spread = np.full((steps, scores.shape[1]), -np.inf, np.float32)
    for index, row in enumerate(scores):
        end = (index + 1) * window - 1
        spread[end : end + window] = row
    return spread


def minder(job: Job) -> Matrix:
    """Minder's idea without its autoencoder: the machine farthest from all others, for 4 min.

    The score is the least standard score of its summed distances over 4 windows (48 steps); only
    the farthest machine of a window has one.
    """
    scores = []
    for row in windowed(job):
        total = _summed_distances(row)
        z = (total - total.mean()) / max(float(total.std()), 1e-9)
        scores.append(np.where(z == z.max(), z, 0))
    least = np.array(scores, np.float32)
    for later in range(MINDER_WINDOWS - 1, len(least)):
        scores[later] = least[later - MINDER_WINDOWS + 1 : later + 1].min(axis=0)
    known = np.array(scores, np.float32)
    known[: MINDER_WINDOWS - 1] = 0
    return held(known, len(job.busy))


def _summed_distances(values: Matrix) -> Matrix:
    """Σ_j |x_i - x_j| for each i, by sorting."""
    order = np.argsort(values)
    ranked = values[order].astype(np.float64)
    below = np.concatenate(([0.0], np.cumsum(ranked)))
    place = np.arange(len(ranked))
    total = (
        ranked * place - below[:-1] + (below[-1] - below[1:]) - ranked * (len(ranked) - 1 - place)
    )
    result = np.empty(len(values), np.float32)
    result[order] = total
    return result


def last_arrival(job: Job) -> Matrix:
    """Share of the last 24 steps in which the rank waited least of all."""
    last = np.zeros_like(job.busy)
    last[np.arange(len(last)), job.collective.argmin(axis=1)] = 1
    total = np.cumsum(last, axis=0, dtype=np.float32)
    total[ARRIVALS:] -= total[:-ARRIVALS].copy()
    return total / np.float32(ARRIVALS)


def sliding_mean(job: Job) -> Matrix:
    """Mean busy time of 12 steps against the mean of the 100 before, each rank by itself."""
    total = np.concatenate((np.zeros((1, job.busy.shape[1])), np.cumsum(job.busy, 0, np.float64)))
    scores = np.zeros_like(job.busy)
    now = (total[LONG + WINDOW :] - total[LONG:-WINDOW]) / WINDOW
    before = (total[LONG:-WINDOW] - total[: -LONG - WINDOW]) / LONG
    scores[LONG + WINDOW - 1 :] = now / before
    return scores


def twice_the_median(job: Job) -> Matrix:
    """DLRover's check: in two rounds running, how many times the median a rank takes."""
    medians = windowed(job)
    ratios = medians / np.median(medians, axis=1, keepdims=True)
    both = ratios.copy()
    both[1:] = np.minimum(ratios[1:], ratios[:-1])
    both[:1] = 0
    return held(both, len(job.busy))
