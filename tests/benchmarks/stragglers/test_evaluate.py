"""From a job to its figures, with the real detector."""

from dataclasses import replace

import pytest

from benchmarks.stragglers.evaluate import Cell, as_seen, run
from benchmarks.stragglers.faults import Class, Fault
from benchmarks.stragglers.job import Spec, simulate
from benchmarks.stragglers.topology import TOPOLOGIES

TOPOLOGY = TOPOLOGIES[64]
SLOW = Fault("compute", "compute", "core", (50,), 150, 220, 0.4, evidence=False)
SPEC = Spec("job", 3, TOPOLOGY, 260, faults=(SLOW,))


def test_a_gross_fault_is_found_named_and_classed() -> None:
    """+40 % on one rank of 64: within 4 and 12 steps, that rank, nobody else."""
    cell = run(Cell(64, "fixed"), [SPEC])
    early, late = cell.first_results[0], cell.results[0]
    assert early.delay is not None
    assert early.delay <= 4
    assert late.delay is not None
    assert late.delay <= 12
    assert late.exact
    assert late.right_class
    assert cell.warnings[0].false == ()
    assert len(cell.cpu) == 260


def test_without_a_hook_nobody_is_named_and_the_job_is_slower() -> None:
    """Counters alone show the slowdown and no rank."""
    fault = replace(SLOW, last=259)
    cell = run(Cell(64, "fixed", "passive"), [replace(SPEC, faults=(fault,))])
    assert not cell.results[0].found
    assert cell.false_names == 0
    assert (cell.slower_asked, cell.slower_found, cell.slower_false) == (1, 1, 0)


def test_scrapes_find_it_later() -> None:
    """Medians of 12 steps and 15 s between looks cost steps, not the fault."""
    cell = run(Cell(64, "fixed", "scrapes"), [SPEC])
    result = cell.results[0]
    assert result.exact
    assert result.delay is not None
    assert 4 < result.delay <= 24


def test_rivals_enter_where_calm_jobs_are_given() -> None:
    """Each rule has an outcome for each job, twice."""
    cell = run(Cell(64, "fixed"), [SPEC], [replace(SPEC, seed=4, faults=())])
    assert cell.contest is not None
    for row in (*cell.contest.published, *cell.contest.equal):
        assert len(row.outcomes) == 1
    assert cell.calm_days == pytest.approx(260 * 5 / 86_400, rel=0.05)


@pytest.mark.parametrize(
    ("cls", "evidence", "ranks"),
    [("chip", True, TOPOLOGY.on_device(12)), ("chip", False, (50,)), ("compute", True, (50,))],
)
def test_counters_place_a_fault_on_its_device(
    cls: Class, *, evidence: bool, ranks: tuple[int, ...]
) -> None:
    """ECC events are a device's; without evidence nothing is widened."""
    fault = replace(SLOW, cls=cls, evidence=evidence)
    assert as_seen(fault, simulate(SPEC)).ranks == ranks
