"""Healthy step times: what varies although nothing is wrong.

Sizes are those measured on public traces (fixed shapes: 0.3 to 0.5 % a rank; variable shapes:
9.5 to 14 %, shared by the ranks of a replica) and the stress set of eight kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.stragglers.topology import Topology

    Matrix = NDArray[np.float32]

Shape = Literal["normal", "ar1", "t3"]
AR1_RHO = 0.95
BURST_PER_RANK_STEP = 1 / 5000
BURST_EXCESS = 0.30


@dataclass(frozen=True)
class Noise:
    """How healthy ranks vary; all sizes are ratios of the busy time.

    `data` is the spread that the ranks of a replica share (variable shapes), `chip` the lasting
    spread between ranks, `bursts` whether hosts hiccup for 1 to 6 steps now and then. `uneven` is
    by how much less the last stage follows the data than the first (as an exponent).
    """

    shape: Shape = "normal"
    sigma: float = 0.004
    data: float = 0.0
    chip: float = 0.002
    bursts: bool = False
    uneven: float = 0.0


FIXED = Noise()
# 0.76 % is what remained of a rank's noise on the variable-length trace without its data.
VARIABLE = Noise(sigma=0.0076, data=0.12)

# Heavier tails, more spread between chips, and stages that follow the data unevenly.
HELD_OUT = {
    "fixed": Noise(shape="t3", chip=0.01),
    "variable": Noise(shape="t3", sigma=0.0076, data=0.12, chip=0.01, uneven=0.15),
}

STRESS: dict[str, Noise] = {
    "iid 0.4 %": FIXED,
    "AR(1) 0.95": Noise(shape="ar1"),
    "t3 0.4 %": Noise(shape="t3"),
    "t3 2 %": Noise(shape="t3", sigma=0.02),
    "chips 1 %": Noise(chip=0.01),
    "chips 2 %": Noise(chip=0.02),
    "chips 4 %": Noise(chip=0.04),
    "hiccups": Noise(bursts=True),
}


def busy_factors(
    noise: Noise, topology: Topology, steps: int, rng: np.random.Generator
) -> tuple[Matrix, Matrix]:
    """Busy time as a ratio of its nominal value (steps by ranks), and the data's part of it."""
    ranks = topology.ranks
    chip = np.exp(noise.chip * rng.standard_normal(ranks)).astype(np.float32)
    own = _own(noise, steps, ranks, rng)
    own += 1.0
    own *= chip
    if noise.bursts:
        own *= _bursts(steps, ranks, rng)
    data: Matrix = _data(noise.data, steps, topology.data, rng)[:, topology.replica]
    if noise.uneven:
        data **= (1 - noise.uneven * topology.stage / topology.stage[-1]).astype(np.float32)
    return np.maximum(own * data, np.float32(0.05)), data


def _own(noise: Noise, steps: int, ranks: int, rng: np.random.Generator) -> Matrix:
    """Zero-mean noise of each rank by itself, of scale `sigma`."""
    white: Matrix = rng.standard_normal((steps, ranks), dtype=np.float32)
    if noise.shape == "ar1":
        innovation = np.float32(np.sqrt(1 - AR1_RHO**2))
        for step in range(1, steps):
            white[step] *= innovation
            white[step] += np.float32(AR1_RHO) * white[step - 1]
    elif noise.shape == "t3":
        chi: Matrix = np.zeros_like(white)
        for _ in range(3):
            chi += rng.standard_normal((steps, ranks), dtype=np.float32) ** 2
        white /= np.sqrt(chi / 3)
    white *= np.float32(noise.sigma)
    return white


def _data(spread: float, steps: int, replicas: int, rng: np.random.Generator) -> Matrix:
    """One factor a step and replica: mean 1, standard deviation `spread`, skewed to the right."""
    if spread == 0:
        return np.ones((steps, replicas), np.float32)
    shape = 4.0
    drawn = rng.standard_gamma(shape, (steps, replicas))
    factors: Matrix = (1 + spread * (drawn - shape) / np.sqrt(shape)).astype(np.float32)
    return factors


def _bursts(steps: int, ranks: int, rng: np.random.Generator) -> Matrix:
    """Hiccups of the host: 1 to 6 steps, 30 % longer."""
    factor = np.ones((steps, ranks), np.float32)
    count = rng.poisson(steps * ranks * BURST_PER_RANK_STEP)
    first = rng.integers(0, steps, count)
    rank = rng.integers(0, ranks, count)
    length = rng.integers(1, 7, count)
    for later in range(6):
        hit = (length > later) & (first + later < steps)
        factor[first[hit] + later, rank[hit]] = 1 + BURST_EXCESS
    return factor
