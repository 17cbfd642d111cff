"""Robust statistics against numpy's own, and the CUSUM threshold."""

from __future__ import annotations

from math import exp, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.stragglers.robust import Groups, distinct, median, medians, sigma, threshold

numbers = st.floats(-1e6, 1e6, allow_nan=False) | st.just(float("nan"))


@given(st.lists(numbers, min_size=1, max_size=40))
def test_median_is_that_of_the_finite_values(values: list[float]) -> None:
    """NaN is absent, not a value."""
    finite = [value for value in values if not isnan(value)]
    found = median(np.array(values))
    if finite:
        assert found == pytest.approx(float(np.median(finite)))
    else:
        assert isnan(found)


@given(st.lists(st.integers(-3, 9)))
def test_distinct_values_are_those_of_numpy(values: list[int]) -> None:
    """In order, of the same type."""
    array = np.array(values, dtype=np.int64)
    np.testing.assert_array_equal(distinct(array), np.unique(array), strict=True)


@given(st.lists(st.lists(numbers, min_size=5, max_size=5), min_size=1, max_size=9))
def test_medians_down_columns(rows: list[list[float]]) -> None:
    """Each column by itself, and NaN for a column without values."""
    table = np.array(rows)
    expected = [median(table[:, column]) for column in range(5)]
    np.testing.assert_allclose(medians(table), expected)


@given(st.lists(st.tuples(st.integers(-1, 4), numbers), min_size=1, max_size=40))
def test_group_medians_and_minima(pairs: list[tuple[int, float]]) -> None:
    """Every group alone; code -1 is in no group and gets the fill value."""
    codes, values = np.array([code for code, _ in pairs]), np.array([value for _, value in pairs])
    groups = Groups(codes)
    spread = groups.spread(groups.medians(values), fill=-7.0)
    least = groups.spread(groups.minima(values), fill=-7.0)
    for row, code in enumerate(codes):
        mine = values[codes == code]
        finite = mine[np.isfinite(mine)]
        known = code >= 0 and finite.size > 0
        assert spread[row] == pytest.approx(float(np.median(finite)) if known else -7.0)
        assert least[row] == pytest.approx(float(finite.min()) if known else -7.0)


def test_groups_below_the_least_size_are_none() -> None:
    """A replica of three is too small where four are asked for."""
    groups = Groups(np.array([0, 0, 0, 1, 1, 1, 1]), least=4)
    assert len(groups) == 1
    assert groups.labels.tolist() == [1]
    assert groups.share(np.array([1.0, 1, 1, 1, 0, 0, 0])).tolist() == [0.25]


def test_sigma_of_normal_noise() -> None:
    """1.4826 x MAD is the standard deviation of normal noise."""
    noise = np.random.default_rng(1).normal(0, 0.02, 20_000)
    assert sigma(noise) == pytest.approx(0.02, rel=0.03)


def test_threshold_solves_siegmund() -> None:
    """The run length comes out of the approximation again."""
    k, run_length = 0.5, 1e6
    h = threshold(k, run_length, least=0.0)
    assert exp(2 * k * (h + 1.166)) / (2 * k * k) == pytest.approx(run_length)


def test_threshold_has_a_floor() -> None:
    """With little noise the formula would ask for less than four."""
    assert threshold(5.0, 1e6, least=4.0) == 4.0
