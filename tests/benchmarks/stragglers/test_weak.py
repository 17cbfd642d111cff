"""Weak cells are listed without asking."""

from benchmarks.stragglers import weak
from benchmarks.stragglers.bench import Outcomes
from benchmarks.stragglers.evaluate import Cell
from benchmarks.stragglers.faults import Fault
from benchmarks.stragglers.quiet import Quiet
from benchmarks.stragglers.scoring import Alarm, score

FAULT = Fault("host", "host", "core", (4,), 100, 150, 0.2)


def _cell(*alarms: Alarm) -> Cell:
    cell = Cell(64, "fixed")
    cell.warnings.append(score([FAULT], [True], alarms, 300, 1500.0))
    return cell


def test_a_perfect_run_has_no_weak_cells() -> None:
    """Found, exact, right class, silence elsewhere: nothing to list."""
    alarm = Alarm(frozenset((4,)), 109, 150, "host", "core")
    out = Outcomes(cells=[_cell(alarm)], healthy={(64, "iid"): Quiet(days=1.0)})
    assert weak.lines(out) == []


def test_missed_faults_and_false_alarms_are_named() -> None:
    """With where and how many."""
    out = Outcomes(cells=[_cell(Alarm(frozenset((9,)), 109, 150, "chip", "device"))])
    missed, false = weak.lines(out)
    assert missed.startswith("fixed shapes, hook, host of a core: found 0.00")
    assert false == "fixed shapes, hook: 1 false warnings in 1 jobs"


def test_a_wrong_class_is_named() -> None:
    """Found and exact, but called something else."""
    out = Outcomes(cells=[_cell(Alarm(frozenset((4,)), 109, 150, "compute", "core"))])
    (line,) = weak.lines(out)
    assert "host of a core: class 0.00" in line


def test_noise_that_raises_notices_is_named() -> None:
    """Notices are no warnings, but they are listed."""
    out = Outcomes(healthy={(64, "hiccups"): Quiet(days=2.0, notices=3, slowdowns=1)})
    assert weak.lines(out) == [
        "healthy, 64 ranks, hiccups: 3 notices and 1 times job slower in 2.0 days"
    ]


def test_benign_events_taken_for_faults_are_named() -> None:
    """By event and view."""
    out = Outcomes(benign={("restart", "hook"): Quiet(cases=5, warnings=2)})
    assert weak.lines(out) == ["benign, restart, hook: 2 warnings in 5 cases"]
