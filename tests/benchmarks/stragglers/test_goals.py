"""Figures hold or do not."""

from benchmarks.stragglers.bench import Outcomes
from benchmarks.stragglers.evaluate import Cell
from benchmarks.stragglers.faults import Fault
from benchmarks.stragglers.goals import Goal, goals
from benchmarks.stragglers.quiet import Quiet
from benchmarks.stragglers.scoring import Alarm, score

FAULT = Fault("host", "host", "core", (4,), 100, 150, 0.2)


def _goals(*, raised: int, rank: int = 4, days: float = 3.0, warnings: int = 0) -> dict[str, Goal]:
    alarm = Alarm(frozenset((rank,)), raised, 150, "host", "core")
    outcome = score([FAULT], [True], [alarm], 300, 1500.0)
    cell = Cell(64, "fixed")
    for kept in (cell.notices, cell.warnings, cell.ranked_notices, cell.ranked_warnings):
        kept.append(outcome)
    healthy = {(64, "iid"): Quiet(days=days, warnings=warnings)}
    out = Outcomes(cells=[cell], healthy=healthy)
    return {goal.name: goal for goal in goals(out, full=False)}


def test_a_fault_found_in_time_by_name_holds_all_its_figures() -> None:
    """Recall, precision, exact ranks, class and delay."""
    held = _goals(raised=103)
    names = [name for name in held if name.startswith("fixed, hook")]
    assert len(names) == 7
    assert all(held[name].holds for name in names)


def test_a_late_warning_misses_the_delay_only() -> None:
    """The 20th slow step is found, but too late."""
    held = _goals(raised=119)
    assert held["fixed, hook: recall of slow ranks"].holds
    assert not held["fixed, hook: warning, median"].holds


def test_a_wrong_name_misses_recall_and_precision() -> None:
    """Naming another rank is a miss and a false alarm."""
    held = _goals(raised=103, rank=9)
    assert not held["fixed, hook: recall of slow ranks"].holds
    assert not held["fixed, hook: precision of warnings"].holds


def test_healthy_days_count_only_if_there_are_enough() -> None:
    """One false warning, or too few days, and it does not hold."""
    name = "healthy days with stress noise: false warnings"
    assert _goals(raised=103)[name].holds
    assert not _goals(raised=103, warnings=1)[name].holds
    assert not _goals(raised=103, days=0.5)[name].holds


def test_what_was_not_asked_for_does_not_hold() -> None:
    """An empty run proves nothing."""
    assert not any(goal.holds for goal in goals(Outcomes(), full=True) if "hook" in goal.name)
