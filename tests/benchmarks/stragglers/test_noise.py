"""Healthy variation has the sizes that were measured on real jobs."""

import numpy as np
import pytest

from benchmarks.stragglers.noise import FIXED, HELD_OUT, STRESS, VARIABLE, Noise, busy_factors
from benchmarks.stragglers.topology import TOPOLOGIES

TOPOLOGY = TOPOLOGIES[64]


def _factors(noise: Noise, steps: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    return busy_factors(noise, TOPOLOGY, steps, np.random.default_rng(5))


def test_fixed_shapes_vary_by_four_permille() -> None:
    """Within a rank the standard deviation is 0.4 %; between ranks 0.2 %."""
    busy, _ = _factors(FIXED)
    assert busy.std(axis=0).mean() == pytest.approx(0.004, rel=0.05)
    assert busy.mean(axis=0).std() == pytest.approx(0.002, rel=0.3)


def test_variable_shapes_are_shared_by_a_replica_and_skewed() -> None:
    """12 % from step to step, the same for all ranks of a replica, with a long right tail."""
    _, data = _factors(VARIABLE)
    first = np.flatnonzero(TOPOLOGY.replica == 0)
    assert np.array_equal(data[:, first], np.repeat(data[:, first[:1]], len(first), axis=1))
    column = data[:, first[0]]
    assert column.std() == pytest.approx(0.12, rel=0.1)
    assert ((column - column.mean()) ** 3).mean() / column.std() ** 3 > 0.5


def test_autoregressive_noise_remembers() -> None:
    """The correlation of a step with the one before is 0.95, its size still 0.4 %."""
    busy, _ = _factors(STRESS["AR(1) 0.95"])
    own = busy - busy.mean(axis=0)
    correlation = (own[1:] * own[:-1]).mean() / (own**2).mean()
    assert correlation == pytest.approx(0.95, abs=0.02)
    assert busy.std() == pytest.approx(0.0045, rel=0.2)


def test_heavy_tails_reach_far() -> None:
    """Student's t with three degrees goes beyond 6 scales far more often than a normal does."""
    busy, _ = _factors(STRESS["t3 2 %"])
    beyond = (np.abs(busy - 1) > 6 * 0.02).mean()
    assert 0.005 < beyond < 0.02


def test_hiccups_are_rare_short_and_large() -> None:
    """About one burst in 5,000 rank-steps, 3.5 steps of +30 % on average."""
    busy, _ = _factors(STRESS["hiccups"], steps=20_000)
    assert (busy > 1.25).mean() == pytest.approx(3.5 / 5000, rel=0.25)


def test_equal_seeds_give_equal_noise() -> None:
    """A job can be run again."""
    assert np.array_equal(_factors(VARIABLE, 50)[0], _factors(VARIABLE, 50)[0])


def test_uneven_stages_follow_the_data_less_at_the_end() -> None:
    """The last stage's factor is the first's to the power of 0.85."""
    _, data = _factors(HELD_OUT["variable"], 50)
    first, last = data[:, 0], data[:, TOPOLOGY.ranks // 2]
    assert np.allclose(last, first**0.85, rtol=1e-4)
