"""Rules that look at one step at a time, or add steps up; none knows who does what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from benchmarks.stragglers.job import Job, Matrix

MAD_TO_SIGMA = 1.4826
BASELINE = slice(20, 60)
CUSUM_SLACK = 0.5
GUESS_STEPS = 12


def ratio(job: Job) -> Matrix:
    """Busy time against the job's median in the same step."""
    scores: Matrix = job.busy / np.median(job.busy, axis=1, keepdims=True)
    return scores


def z_score(job: Job) -> Matrix:
    """Standard score of the busy time over the job's ranks."""
    middle = job.busy.mean(axis=1, keepdims=True)
    spread = job.busy.std(axis=1, keepdims=True)
    scores: Matrix = (job.busy - middle) / np.maximum(spread, 1e-9)
    return scores


def mad_score(job: Job) -> Matrix:
    """The same with median and median absolute deviation."""
    away = job.busy - np.median(job.busy, axis=1, keepdims=True)
    spread = MAD_TO_SIGMA * np.median(np.abs(away), axis=1, keepdims=True)
    scores: Matrix = away / np.maximum(spread, 1e-9)
    return scores


def cusum(job: Job) -> Matrix:
    """One-sided CUSUM of each rank against its own 40 steps after warm-up."""
    known = job.busy[BASELINE]
    z = (job.busy - known.mean(axis=0)) / np.maximum(known.std(axis=0), 1e-9)
    scores = np.zeros_like(job.busy)
    for step in range(BASELINE.stop, len(z)):
        scores[step] = np.maximum(scores[step - 1] + z[step] - CUSUM_SLACK, 0)
    return scores


def guess(job: Job) -> Matrix:
    """Names somebody at random, anew every 12 steps."""
    rng = np.random.default_rng((job.spec.seed, 3))
    windows = -(-len(job.busy) // GUESS_STEPS)
    drawn = rng.random((windows, job.busy.shape[1]), np.float32)
    return np.repeat(drawn, GUESS_STEPS, axis=0)[: len(job.busy)]
