"""The rule of nvidia-resiliency-ext: with its package or, where it is absent, computed here."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.stragglers.job import Spec, simulate
from benchmarks.stragglers.rivals import nvrx
from benchmarks.stragglers.topology import TOPOLOGIES

JOB = simulate(Spec("job", 1, TOPOLOGIES[8], 120))


def _slow(factor: float) -> np.ndarray:
    busy = JOB.busy.copy()
    busy[60:, 2] *= factor
    return busy


@pytest.mark.parametrize(("factor", "flagged"), [(1.30, False), (1.40, True)])
def test_below_a_third_nothing_is_flagged(factor: float, *, flagged: bool) -> None:
    """0.75 of the fastest means 1.33 times as long."""
    busy = np.repeat(JOB.busy[:, :1], 8, axis=1)
    busy[60:, 2] *= factor
    scores = nvrx.relative(replace(JOB, busy=busy))
    assert bool((scores[80:, 2] >= 0.25).any()) is flagged


def test_the_individual_score_compares_with_ones_own_best() -> None:
    """Twice as long as ever before is a score of 0.5; the others stay near 1."""
    scores = nvrx.individual(replace(JOB, busy=_slow(2.0)))
    assert 1 - scores[80, 2] == pytest.approx(0.5, abs=0.02)
    assert np.delete(scores[80], 2).max() < 0.02


def test_the_table_says_which_one_ran() -> None:
    """Its own generator, or the rule of it."""
    own = nvrx.package() is not None
    assert ("its own" in nvrx.note()) is own
    assert ("rule of" in nvrx.note()) is not own
