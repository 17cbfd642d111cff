"""Stage A: is the job slower?"""

from __future__ import annotations

import numpy as np
import pytest

from neuron_observer.stragglers.parameters import ONLINE
from neuron_observer.stragglers.slowdown import JobSlowdown, Slowdown


def follow(periods: list[float]) -> list[Slowdown | None]:
    """What is said after each period; pauses are left out as the detector does."""
    watch = JobSlowdown(ONLINE)
    said = []
    for step, period in enumerate(periods):
        if watch.is_pause(period):
            said.append(watch.current)
            continue
        said.append(watch.update(step, 1000.0 + step, period))
    return said


def noisy(seconds: float, count: int, cv: float, seed: int = 1) -> list[float]:
    """Periods with this coefficient of variation."""
    return list(seconds * np.random.default_rng(seed).lognormal(0, cv, count))


def test_twelve_per_cent_is_found_at_the_tenth_period() -> None:
    """CV 0.45 % as on a public trace of fixed shapes."""
    said = follow(noisy(5.0, 100, 0.0045) + noisy(5.6, 40, 0.0045, seed=2))
    assert said.index(next(filter(None, said))) == 109
    now = said[-1]
    assert now is not None
    assert (now.first_step, now.since) == (100, 1100.0)
    assert now.ratio == pytest.approx(1.12, abs=0.01)


@pytest.mark.parametrize(("cv", "seconds"), [(0.0045, 5.4), (0.0, 5.4), (0.07, 5.2)])
def test_less_than_ten_per_cent_is_not(cv: float, seconds: float) -> None:
    """Greyhound's verification: changes below 10 % are let be."""
    assert not any(follow(noisy(5.0, 100, cv) + noisy(seconds, 200, cv, seed=2)))


@pytest.mark.parametrize("seed", range(6))
def test_uneven_data_is_no_slowdown(seed: int) -> None:
    """CV 8 %, skewed to the right as the slowest of many replicas is; 1,500 steps."""
    rng = np.random.default_rng(seed)
    periods = 5.0 * (1 + 0.08 * (rng.gamma(4.0, 1.0, (1500, 4)).max(axis=1) - 6.0) / 2.0)
    assert not any(follow(list(periods)))


def test_uneven_data_hides_no_thirty_per_cent() -> None:
    """The same noise, a job that becomes 1.3 times as slow."""
    said = follow(noisy(5.0, 150, 0.08) + noisy(6.5, 60, 0.08, seed=2))
    assert said[-1] is not None
    assert said[-1].ratio == pytest.approx(1.3, abs=0.1)


def test_pauses_and_hiccups_are_no_slowdown() -> None:
    """Checkpoints of eight times a step every hundred; bursts of six steps of 30 %."""
    periods = noisy(5.0, 600, 0.0045)
    for step in range(100, 600, 100):
        periods[step] = 40.0
        periods[step + 40 : step + 46] = [6.5] * 6
    assert not any(follow(periods))


def test_slowness_that_stays_is_no_pause() -> None:
    """Four times as slow for good: from the fourth such step on it counts."""
    said = follow(noisy(5.0, 100, 0.0045) + noisy(20.0, 40, 0.0045, seed=2))
    assert said[-1] is not None
    assert said[-1].ratio == pytest.approx(4.0, abs=0.1)


def test_it_ends_when_the_job_is_as_fast_as_before() -> None:
    """Ten periods of the old length."""
    fast, slow = noisy(5.0, 100, 0.0045), noisy(6.5, 40, 0.0045)
    said = follow([*fast, *slow, *fast])
    assert said[139] is not None
    assert said[-1] is None


def test_nothing_is_usual_before_ten_periods() -> None:
    """NaN, not a guess; odd periods are passed over."""
    watch = JobSlowdown(ONLINE)
    for period in (float("nan"), 0.0, -1.0, float("inf")):
        assert watch.update(0, 0.0, period) is None
    assert np.isnan(watch.usual)
    for step in range(10):
        watch.update(step, 0.0, 5.0)
    assert watch.usual == pytest.approx(5.0)


def test_a_slowdown_that_ended_leaves_no_mark_on_the_usual() -> None:
    """Slow twice by 12 %: the second time is seen as soon as the first."""
    fast, slow = noisy(5.0, 100, 0.0045), noisy(5.6, 40, 0.0045)
    said = follow([*fast, *slow, *fast, *slow])
    assert said[109] is not None
    assert said[249] is not None
    assert said[239] is None
