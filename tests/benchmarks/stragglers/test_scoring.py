"""Alarms against the truth."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.stragglers.faults import Fault
from benchmarks.stragglers.scoring import (
    CHORUS_STEPS,
    Alarm,
    Figures,
    belongs,
    chorus,
    episodes,
    figures,
    scorable,
    score,
)

FAULT = Fault("compute", "compute", "device", (4, 5), 100, 150, 0.2)


def _alarm(*ranks: int, raised: int = 103, last: int = 150, cls: str = "compute") -> Alarm:
    return Alarm(frozenset(ranks), raised, last, cls, "device")


@pytest.mark.parametrize(
    ("alarm", "right"),
    [
        (_alarm(4, 5), True),
        (_alarm(4), True),
        (_alarm(4, 6), True),
        (_alarm(4, 6, 7), False),
        (_alarm(6), False),
        (_alarm(), False),
        (_alarm(4, raised=99), False),
        (_alarm(4, raised=180), True),
        (_alarm(4, raised=181), False),
    ],
)
def test_an_alarm_belongs_if_in_time_and_mostly_about_the_slow_ranks(
    alarm: Alarm, *, right: bool
) -> None:
    """Up to 30 steps after the end, with at least half of the named ranks slow."""
    assert belongs(alarm, FAULT) is right


def test_a_whole_jobs_fault_is_right_if_nobody_is_singled_out() -> None:
    """Naming nobody, or everybody, is right; naming one is not."""
    fault = Fault("network", "network", "job", (0, 1, 2), 100, 150, 1.0)
    assert belongs(_alarm(), fault)
    assert belongs(_alarm(0, 1, 2), fault)
    assert not belongs(_alarm(1), fault)


def test_a_fault_counts_once_and_its_delay_is_that_of_the_first_alarm() -> None:
    """Two alarms, one fault found; the first slow step is 1."""
    outcome = score([FAULT], [True], [_alarm(4), _alarm(5, raised=110)], 300, 1500.0)
    result = outcome.results[0]
    assert result.delay == 4
    assert result.exact
    assert result.right_class
    assert outcome.counts.tolist() == [1, 1, 0]


def test_naming_too_few_or_too_many_is_found_but_not_exact() -> None:
    """Exact means the set of slow ranks."""
    for alarms in ([_alarm(4)], [_alarm(4, 5), _alarm(4, 6)]):
        result = score([FAULT], [True], alarms, 300, 1500.0).results[0]
        assert result.found
        assert not result.exact


def test_a_missed_fault_and_a_false_alarm_are_counted() -> None:
    """Precision and recall fall to nothing."""
    outcome = score([FAULT], [True], [_alarm(9)], 300, 1500.0)
    assert outcome.counts.tolist() == [0, 1, 1]
    measured = figures([outcome])
    assert (measured.precision, measured.recall, measured.f1) == (0.0, 0.0, 0.0)


def test_short_weak_and_old_faults_are_neither_asked_for_nor_false() -> None:
    """An alarm about a burst of 5 steps is not false, and missing it is no miss."""
    burst = Fault("host burst", "host", "core", (4,), 100, 104, 0.5)
    assert not scorable(burst)
    assert not scorable(Fault("always slow", "compute", "core", (4,), 0, 299, 0.1))
    outcome = score([burst], [True], [_alarm(4)], 300, 1500.0)
    assert outcome.counts.tolist() == [0, 0, 0]


def test_false_alarms_in_chorus_count_once() -> None:
    """Alarms at most 12 steps after the one before are one; the next is another."""
    alarms = [_alarm(1, raised=step) for step in (10, 22, 34, 47)]
    assert [alarm.raised for alarm in chorus(alarms)] == [10, 47]


@given(arrays(np.bool_, (40, 3)))
def test_episodes_cover_all_flags_and_are_apart(flags: np.ndarray) -> None:
    """Each flag lies in one episode of its rank; two episodes of a rank are > 12 steps apart."""
    alarms = episodes(flags)
    for rank in range(3):
        mine = sorted((a.raised, a.last) for a in alarms if a.ranks == {rank})
        covered = [any(a <= step <= b for a, b in mine) for step in range(40)]
        assert all(covered[step] for step in np.flatnonzero(flags[:, rank]))
        assert all(flags[a, rank] and flags[b, rank] for a, b in mine)
        assert all(later[0] - before[1] > CHORUS_STEPS for before, later in pairwise(mine))


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_figures_are_shares_and_f1_lies_between(found: int, missed: int, false: int) -> None:
    """F1 is between precision and recall; all are between 0 and 1."""
    measured = Figures(found, found + missed, false)
    low, high = sorted((measured.precision, measured.recall))
    assert 0 <= low <= measured.f1 + 1e-12
    assert measured.f1 <= high + 1e-12 <= 1 + 1e-12
