"""The jobs of a run are decided by its seed."""

import pytest

from benchmarks.stragglers import benign, suites
from benchmarks.stragglers.benign import BenignKind
from benchmarks.stragglers.faults import HELD_OUT_KINDS


def test_equal_seeds_give_equal_jobs_and_others_differ() -> None:
    """The whole list is equal, faults and benign events included."""
    first = list(suites.fault_jobs(64, "fixed", 5, 1))
    assert first == list(suites.fault_jobs(64, "fixed", 5, 1))
    assert first != list(suites.fault_jobs(64, "fixed", 5, 2))


def test_calm_jobs_have_no_faults_and_other_seeds() -> None:
    """Thresholds of rivals are not set on the jobs that they are judged by."""
    faulty = {spec.seed for spec in suites.fault_jobs(64, "fixed", 5, 1)}
    calm = list(suites.calm_jobs(64, "fixed", 5, 1))
    assert all(spec.faults == () and spec.benign for spec in calm)
    assert not faulty & {spec.seed for spec in calm}


def test_held_out_jobs_have_the_two_kinds_that_no_other_job_has() -> None:
    """Half of them; the other half has known kinds at 5 to 10 % only."""
    kept = {kind.name for kind in HELD_OUT_KINDS}
    first, second = list(suites.held_out(64, "fixed", 2))
    assert {fault.kind for fault in first.faults} <= kept
    ranked = [fault for fault in second.faults if fault.cls != "network"]
    assert all(0.05 <= fault.severity <= 0.10 for fault in ranked)
    usual = {f.kind for spec in suites.fault_jobs(64, "fixed", 30, 1) for f in spec.faults}
    assert not usual & kept


@pytest.mark.parametrize(("step_s", "steps"), [(5.0, 4320), (20.0, 1080)])
def test_healthy_jobs_last_a_quarter_of_a_day(step_s: float, steps: int) -> None:
    """Two days are eight jobs, one for each kind of noise."""
    specs = list(suites.healthy(8, step_s, 2.0, 1))
    assert [spec.steps for spec in specs] == [steps] * 8
    assert len({spec.name for spec in specs}) == 8
    assert all(spec.faults == () and spec.benign == () for spec in specs)


@pytest.mark.parametrize("kind", benign.KINDS)
def test_every_benign_event_happens(kind: BenignKind) -> None:
    """Each case holds its event, or two jobs after each other."""
    for specs in suites.benign_jobs(64, kind, 2, 1):
        if kind in ("restart", "elastic resize"):
            assert [spec.restart for spec in specs] == [0, 1]
        else:
            assert {event.kind for event in specs[0].benign} == {kind}


def test_a_resized_job_is_smaller_and_still_whole() -> None:
    """It loses whole replicas and fills whole devices and nodes."""
    for ranks in (8, 64, 512):
        before, after = next(iter(suites.benign_jobs(ranks, "elastic resize", 1, 1)))
        smaller = after.topology
        assert smaller.ranks < before.topology.ranks
        assert smaller.ranks % smaller.ranks_per_device == 0
        assert smaller.ranks % smaller.ranks_per_node == 0


def test_the_full_run_is_as_large_as_the_figures_need() -> None:
    """A hundred healthy days and jobs of 4,096 ranks."""
    assert sum(suites.FULL.healthy_days.values()) >= 100
    assert suites.FULL.fault_jobs["fixed", 4096] >= 30
