"""Intervals agree with textbook values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.stragglers.intervals import bootstrap, rate_bound, wilson


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.278), (8, 10, 0.490, 0.943), (50, 50, 0.929, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_gives_known_intervals(hits: int, of: int, low: float, high: float) -> None:
    """Values of the score interval without continuity correction."""
    assert wilson(hits, of) == pytest.approx((low, high), abs=0.001)


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_share(of: int, data: st.DataObject) -> None:
    """The interval lies in [0, 1] around the share."""
    hits = data.draw(st.integers(0, of))
    low, high = wilson(hits, of)
    assert 0 <= low <= hits / of + 1e-12
    assert hits / of - 1e-12 <= high <= 1


def test_none_in_a_hundred_days_is_below_three_percent_a_day() -> None:
    """The rule of three; and the exact Poisson bound for 4 events (10.24) nearly."""
    assert rate_bound(0, 100) == pytest.approx(0.03)
    assert rate_bound(4, 1) == pytest.approx(10.24, abs=0.1)
    assert rate_bound(0, 0) == float("inf")


def test_the_bootstrap_surrounds_the_figure_and_narrows_with_more_jobs() -> None:
    """Intervals of a mean over jobs."""
    rng = np.random.default_rng(0)
    few = [np.array([value]) for value in rng.normal(1, 0.1, 10)]

    def mean(total: np.ndarray) -> float:
        return float(total[0])

    low, high = bootstrap(few, lambda t: mean(t) / 10, rng)
    many = [np.array([value]) for value in rng.normal(1, 0.1, 1000)]
    low_many, high_many = bootstrap(many, lambda t: mean(t) / 1000, rng)
    assert low < 1 < high
    assert high_many - low_many < (high - low) / 5
