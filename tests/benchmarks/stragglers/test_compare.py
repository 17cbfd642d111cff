"""Rivals on the same jobs."""

from dataclasses import replace

import pytest

from benchmarks.stragglers.compare import Contest, outcome
from benchmarks.stragglers.faults import Fault
from benchmarks.stragglers.job import Spec, simulate
from benchmarks.stragglers.rivals import rivals
from benchmarks.stragglers.scoring import Alarm
from benchmarks.stragglers.topology import TOPOLOGIES

SPEC = Spec("job", 3, TOPOLOGIES[8], 300)
SLOW = Fault("compute", "compute", "core", (6,), 200, 280, 0.6)
FABRIC = Fault("network", "network", "job", tuple(range(8)), 100, 150, 2.0)


@pytest.mark.parametrize("allowed", [0, 2])
def test_at_equal_false_alarms_no_rule_has_more_of_them(allowed: int) -> None:
    """On the calm jobs each rule is as silent as it has to be."""
    contest = Contest([simulate(replace(SPEC, seed=seed)) for seed in (1, 2)], allowed)
    assert len(contest.equal) == len(rivals())
    assert all(row.calm_false <= allowed for row in contest.equal)
    assert any(row.calm_false > allowed for row in contest.published)


def test_a_gross_fault_is_found_by_most_rules() -> None:
    """+60 % on one rank: the rules work, or the comparison would be worth nothing."""
    contest = Contest([simulate(SPEC)], 0)
    contest.enter(simulate(replace(SPEC, faults=(SLOW,))))
    found = {row.name for row in contest.published if row.delays}
    assert {"fixed threshold", "MAD", "nvrx relative", "sliding mean", "CUSUM"} <= found


def test_what_is_said_of_a_network_fault_is_neither_right_nor_wrong() -> None:
    """Rivals cannot see it, so it is left out of the comparison for everybody."""
    job = simulate(replace(SPEC, faults=(FABRIC, SLOW)))
    about_fabric = Alarm(frozenset(), 110, 150, "network", "job")
    mistaken = Alarm(frozenset((1,)), 20, 30, "compute", "core")
    measured = outcome(job, [about_fabric, mistaken])
    assert [result.fault for result in measured.results] == [SLOW]
    assert measured.false == (mistaken,)
