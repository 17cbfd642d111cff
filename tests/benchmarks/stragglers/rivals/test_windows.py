"""Rules on windows of steps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.stragglers.faults import Fault
from benchmarks.stragglers.job import Spec, simulate
from benchmarks.stragglers.rivals import windows
from benchmarks.stragglers.topology import TOPOLOGIES

TOPOLOGY = TOPOLOGIES[8]
FAULT = Fault("compute", "compute", "core", (6,), 150, 399, 1.5)
JOB = simulate(Spec("job", 1, TOPOLOGY, 400, faults=(FAULT,)))


@given(arrays(np.float32, st.integers(1, 20), elements=st.floats(0, 100, width=32)))
def test_summed_distances_agree_with_the_double_loop(values: np.ndarray) -> None:
    """Σ|x_i - x_j| by sorting is the same as by definition."""
    direct = np.abs(values[:, None].astype(float) - values[None, :]).sum(axis=1)
    assert windows._summed_distances(values) == pytest.approx(direct, rel=1e-4, abs=1e-3)


def test_a_window_is_known_only_when_it_is_over() -> None:
    """Scores of the window of steps 12 to 23 stand from step 23 to 34."""
    held = windows.held(np.arange(3, dtype=np.float32)[:, None], 40)
    assert held[:11].max() == -np.inf
    assert held[23:35].tolist() == [[1.0]] * 12


def test_minder_waits_four_minutes() -> None:
    """The slow rank scores only after four whole windows; nobody else ever does by then."""
    scores = windows.minder(JOB)
    assert scores[150:180, 6].max() < 1
    assert scores[260, 6] > 2
    assert np.delete(scores[260], 6).max() == 0


def test_the_last_to_come_is_the_culprit() -> None:
    """It waits least in all of the last 24 steps."""
    scores = windows.last_arrival(JOB)
    assert scores[250, 6] == pytest.approx(1.0)
    assert scores.max() == pytest.approx(1.0)


def test_the_sliding_mean_sees_the_change_and_forgets_it() -> None:
    """Twelve steps in, the ratio is that of the fault; after 100 more it is usual."""
    scores = windows.sliding_mean(JOB)
    assert scores[161, 6] == pytest.approx(2.5, rel=0.02)
    assert scores[300, 6] == pytest.approx(1.0, rel=0.02)


def test_twice_the_median_must_hold_twice() -> None:
    """One slow window is not enough."""
    busy = JOB.busy.copy()
    busy[:, 6] = busy[:, 5]
    busy[156:168, 6] *= 3
    assert windows.twice_the_median(replace(JOB, busy=busy)).max() < 2
    assert windows.twice_the_median(JOB)[200, 6] > 2
