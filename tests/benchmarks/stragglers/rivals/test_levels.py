"""Rules on single steps."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.stragglers.job import Spec, simulate
from benchmarks.stragglers.rivals import levels
from benchmarks.stragglers.topology import TOPOLOGIES

JOB = simulate(Spec("job", 1, TOPOLOGIES[8], 200))


def _slower(rank: int, factor: float) -> np.ndarray:
    busy = JOB.busy.copy()
    busy[100:, rank] *= factor
    return busy


def test_the_ratio_is_that_to_the_jobs_median() -> None:
    """A rank at twice its time stands at twice its ratio, nearly."""
    scores = levels.ratio(replace(JOB, busy=_slower(3, 2.0)))
    assert scores[150, 3] / scores[50, 3] == pytest.approx(2.0, rel=0.1)


def test_a_z_score_cannot_reach_three_among_eight_ranks() -> None:
    """Its greatest value is the root of n - 1, however slow one rank is."""
    scores = levels.z_score(replace(JOB, busy=_slower(3, 50.0)))
    assert scores.max() == pytest.approx(np.sqrt(7), rel=0.001)


def test_the_mad_score_has_no_such_limit() -> None:
    """It grows with the slowness."""
    assert levels.mad_score(replace(JOB, busy=_slower(3, 50.0)))[150, 3] > 100


def test_cusum_climbs_on_the_slow_rank() -> None:
    """It stays low until the change and climbs with every slow step."""
    scores = levels.cusum(replace(JOB, busy=_slower(3, 1.1)))
    assert scores[99, 3] < scores[110, 3] < scores[150, 3]
    assert scores[:60].max() == 0


def test_a_guess_is_the_same_for_twelve_steps() -> None:
    """It is random between windows, held within."""
    scores = levels.guess(JOB)
    assert np.array_equal(scores[0], scores[11])
    assert not np.array_equal(scores[11], scores[12])
    assert scores.shape == JOB.busy.shape
