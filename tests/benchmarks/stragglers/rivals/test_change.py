"""Change points of the step time."""

import numpy as np
import pytest

from benchmarks.stragglers.rivals.change import change_points, slow_steps


def _periods(ratio: float, noise: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    periods = 5 * np.exp(noise * rng.standard_normal(300))
    periods[150:] *= ratio
    logs: np.ndarray = np.log(periods)
    return logs


@pytest.mark.parametrize("ratio", [1.12, 1.3, 2.0])
def test_a_slower_job_is_seen_at_the_tenth_step(ratio: float) -> None:
    """Verified over ten steps, for changes above 10 %."""
    slow = slow_steps(_periods(ratio, 0.0045))
    assert not slow[:150].any()
    assert 155 <= np.flatnonzero(slow)[0] <= 162
    assert slow[170:].all()


def test_smaller_changes_are_not_believed() -> None:
    """5 % is a change point, but no slowdown."""
    values = _periods(1.05, 0.0045)
    assert change_points(values)[145:165].any()
    assert not slow_steps(values).any()


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_no_slowdown(seed: int) -> None:
    """No slow step in 300 healthy ones."""
    assert not slow_steps(_periods(1.0, 0.0045, seed)).any()
