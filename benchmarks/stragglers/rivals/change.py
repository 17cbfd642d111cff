"""Bayesian online change-point detection on the job's step time, verified; then peers.

After Greyhound (ATC'25): a change of the step time is believed if the new segment is at least
10 % slower over 10 steps; while the job is slow, ranks are compared with the median of their role.
The change points are Adams and MacKay's (2007), with a normal-gamma prior.
"""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.stragglers.job import Job, Matrix

    Floats = NDArray[np.float64]

HAZARD = 1 / 250
LONGEST = 300
PROBABLE = 0.9
VERIFY_RATIO = 1.10
VERIFY_STEPS = 10
PRIOR_KAPPA, PRIOR_ALPHA, PRIOR_BETA = 0.1, 1.0, 1e-4
_LGAMMA = np.array([lgamma(PRIOR_ALPHA + k / 2) for k in range(LONGEST + 2)])


def bocd_then_peers(job: Job) -> Matrix:
    """Busy time against the role's median in the steps in which the job is slow, else 0."""
    slow = slow_steps(np.log(job.period))
    scores = np.zeros_like(job.busy)
    for stage in np.unique(job.spec.topology.stage):
        role = (job.spec.topology.stage == stage).nonzero()[0]
        busy = job.busy[np.ix_(slow, role)]
        scores[np.ix_(slow, role)] = busy / np.median(busy, axis=1, keepdims=True)
    return scores


def slow_steps(values: Floats) -> NDArray[np.bool_]:
    """Steps in which the job is known to be at least 10 % slower than before."""
    changed = change_points(values)
    slow = np.zeros(len(values), bool)
    usual: float | None = None
    start = 0
    for step in range(len(values)):
        if changed[step]:
            if usual is None and step - start >= VERIFY_STEPS:
                usual = float(np.median(values[start:step]))
            start = step
        if usual is None or step - start + 1 < VERIFY_STEPS:
            slow[step] = slow[step - 1] if usual is not None and step else False
            continue
        slow[step] = np.median(values[start : step + 1]) - usual >= np.log(VERIFY_RATIO)
    return slow


def change_points(values: Floats) -> NDArray[np.bool_]:
    """Steps at which a new segment has probably begun (P of a short run above 0.9)."""
    changed = np.zeros(len(values), bool)
    centred = values - np.median(values[:60])
    belief = np.ones(1)
    mean, kappa = np.zeros(1), np.full(1, PRIOR_KAPPA)
    alpha, beta = np.full(1, PRIOR_ALPHA), np.full(1, PRIOR_BETA)
    before = 0
    for step, value in enumerate(centred):
        likely = belief * np.exp(_log_student(value, mean, kappa, alpha, beta))
        grown = np.concatenate(([likely.sum() * HAZARD], likely * (1 - HAZARD)))[:LONGEST]
        belief = grown / max(grown.sum(), 1e-300)
        beta = np.concatenate(
            ([PRIOR_BETA], beta + kappa * (value - mean) ** 2 / (2 * (kappa + 1)))
        )[:LONGEST]
        mean = np.concatenate(([0.0], (kappa * mean + value) / (kappa + 1)))[:LONGEST]
        kappa = np.concatenate(([PRIOR_KAPPA], kappa + 1))[:LONGEST]
        alpha = np.concatenate(([PRIOR_ALPHA], alpha + 0.5))[:LONGEST]
        run = int(belief.argmax())
        if run < before and belief[: run + 3].sum() > PROBABLE:
            changed[max(step - run + 1, 0)] = True
            changed[step] = True
        before = run
    return changed


def _log_student(value: float, mean: Floats, kappa: Floats, alpha: Floats, beta: Floats) -> Floats:
    """Log density of the next value for each run length: Student t with 2 alpha degrees."""
    scale = beta * (kappa + 1) / (alpha * kappa)
    index = np.rint(2 * (alpha - PRIOR_ALPHA)).astype(int)
    size = np.minimum(index, LONGEST)
    shape: Floats = _LGAMMA[size + 1] - _LGAMMA[size] - 0.5 * np.log(2 * np.pi * alpha * scale)
    return shape - (alpha + 0.5) * np.log1p((value - mean) ** 2 / (2 * alpha * scale))
