"""Medians and quantiles without numpy are those of numpy."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.stragglers.middle import middle, quantile


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0, 1))
def test_as_numpy(values: list[float], share: float) -> None:
    """The linear rule between neighbours."""
    assert middle(values) == pytest.approx(float(np.median(values)))
    assert quantile(values, share) == pytest.approx(float(np.quantile(values, share)), abs=1e-6)


def test_of_nothing_nothing() -> None:
    """NaN, never zero."""
    assert isnan(middle([]))
