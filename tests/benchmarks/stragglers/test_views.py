"""A hook, counters and scrapes show what they can, and no more."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.stragglers.benign import Benign
from benchmarks.stragglers.faults import Fault
from benchmarks.stragglers.job import Job, Spec, simulate
from benchmarks.stragglers.topology import TOPOLOGIES
from benchmarks.stragglers.views import hook, passive, scrapes

TOPOLOGY = TOPOLOGIES[64]
SPEC = Spec("job", 1, TOPOLOGY, 150)


def _job(**changes: object) -> Job:
    return simulate(replace(SPEC, **changes))  # type: ignore[arg-type]


def test_the_hook_shows_the_jobs_own_times() -> None:
    """One sample a step with its busy, wait and input times."""
    job = _job()
    samples = list(hook(job))
    assert [sample.step for sample in samples] == list(range(150))
    assert samples[140].busy is not None
    assert samples[140].wait is not None
    assert np.array_equal(samples[140].busy, job.busy[140])
    assert np.array_equal(samples[140].wait, job.collective[140])


def test_a_rank_without_hook_is_missing_not_zero() -> None:
    """NaN in all its times while the hook is away, and only there."""
    job = _job(benign=(Benign("hook missing", 20, 29, ranks=(5,)),))
    samples = list(hook(job))
    for name in ("busy", "wait", "inputs", "transfer"):
        gone = [bool(np.isnan(getattr(sample, name)[5])) for sample in samples]
        assert gone == [20 <= step <= 29 for step in range(150)]
        assert not np.isnan(np.delete(getattr(samples[25], name), 5)).any()


def test_a_clock_step_moves_the_wall_clock_and_no_period() -> None:
    """Times jump by an hour, periods do not."""
    job = _job(benign=(Benign("clock step", 50, 50, -3600.0),))
    samples = list(hook(job))
    assert samples[50].at - samples[49].at == pytest.approx(job.period[50] - 3600)
    assert samples[50].period == pytest.approx(job.period[50])


def test_the_last_of_a_group_to_come_shows_the_pure_transfer() -> None:
    """The least of a tensor group's shortest collectives is near 20 ms, slow rank or not."""
    fault = Fault("compute", "compute", "core", (9,), 50, 149, 0.5)
    samples = list(hook(_job(faults=(fault,))))
    row = samples[100].transfer
    assert row is not None
    least = row.reshape(-1, TOPOLOGY.tensor).min(axis=1)
    assert least.max() < 0.022
    assert row.reshape(-1, TOPOLOGY.tensor)[2].argmin() == 9 % TOPOLOGY.tensor


def test_a_slow_link_slows_its_groups_and_no_other() -> None:
    """Transfers of the link's ranks take 1 + severity times as long."""
    ranks = tuple(range(8, 12))
    samples = list(hook(_job(faults=(Fault("network", "network", "link", ranks, 50, 149, 1.0),))))
    row = samples[100].transfer
    assert row is not None
    least = row.reshape(-1, TOPOLOGY.tensor).min(axis=1)
    assert least[2] == pytest.approx(0.04, rel=0.1)
    assert np.delete(least, 2).max() < 0.022


@pytest.mark.parametrize(
    ("cls", "column", "least"), [("chip", "ecc", 1.0), ("throttled", "power", 0.95)]
)
def test_evidence_stands_on_the_device_of_the_fault(cls: str, column: str, least: float) -> None:
    """ECC events and power of one device move, on all of its ranks and on no others."""
    fault = Fault("x", cls, "core", (9,), 50, 149, 0.2)  # type: ignore[arg-type]
    samples = list(hook(_job(faults=(fault,))))[60:140]
    mean = np.mean([getattr(sample, column) for sample in samples], axis=0)
    assert set(np.flatnonzero(mean > least)) == set(TOPOLOGY.on_device(2))


def test_host_faults_show_as_gaps_and_waiting_for_a_cpu() -> None:
    """The excess stands in the gap between launches."""
    fault = Fault("host", "host", "core", (9,), 50, 149, 0.2)
    samples = list(hook(_job(faults=(fault,))))
    rise = samples[100].host_gap[9] - samples[10].host_gap[9]  # type: ignore[index]
    assert rise == pytest.approx(0.2 * np.median(simulate(SPEC).busy), rel=0.15)


def test_counters_give_the_period_without_any_busy_time() -> None:
    """Executions counted over 15 s give the step time within their resolution."""
    job = _job()
    samples = list(passive(job))
    assert all(sample.busy is None and sample.transfer is None for sample in samples)
    assert np.mean([s.period for s in samples]) == pytest.approx(job.period.mean(), rel=0.01)


def test_stale_counters_give_no_period() -> None:
    """Counters that stand still say nothing: the period is missing, not infinite or zero."""
    assert all(np.isnan(sample.period) for sample in passive(_job(), stale=True))


def test_scrapes_are_medians_of_twelve_steps_every_fifteen_seconds() -> None:
    """Samples come every 15 s, at the next step's end; busy is the median of the last 12 steps."""
    job = _job()
    samples = list(scrapes(job))
    apart = np.diff([sample.at for sample in samples])
    assert apart.mean() == pytest.approx(15, rel=0.05)
    assert apart.max() < 15 + job.period.max()
    last = samples[-1]
    expected = np.median(job.busy[last.step - 11 : last.step + 1], axis=0)
    assert np.allclose(last.busy, expected)  # type: ignore[arg-type]


def test_scrapes_lose_no_counts() -> None:
    """The ECC events of all scrapes add up to those of all steps seen."""
    job = _job(faults=(Fault("hbm", "chip", "device", TOPOLOGY.on_device(2), 50, 149, 0.2),))
    seen = list(scrapes(job))
    steps = [sample for sample in hook(job) if sample.step <= seen[-1].step]
    assert sum(s.ecc.sum() for s in seen) == sum(s.ecc.sum() for s in steps)


def test_a_missed_scrape_is_absent() -> None:
    """There is one sample less, and the next one still has its counts."""
    usual = list(scrapes(_job()))
    at = usual[3].step
    fewer = list(scrapes(_job(benign=(Benign("missed scrape", at, at),))))
    assert at not in [sample.step for sample in fewer]
