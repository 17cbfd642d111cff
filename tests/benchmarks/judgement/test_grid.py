"""Faults of the simulation through reader, loop and rules."""

from __future__ import annotations

import pytest

from benchmarks.judgement import grid, setups
from benchmarks.judgement.cases import CASES
from benchmarks.judgement.grid import LONG, run
from benchmarks.judgement.setups import Setup, chip_of, full, pairwise
from benchmarks.judgement.watch import is_live
from neuron_observer.model import Action
from neuron_observer.sim.chips import INSTANCES

WATCH = {case.name: case.watch for case in CASES}
QUICK = [
    one for one in pairwise() if WATCH[one.case] < LONG and INSTANCES[one.instance].devices < 5
]
SAMPLE = QUICK[::8]


def problems(setup: Setup) -> list[str]:
    """What is wrong with a run."""
    result = run(setup)
    found = [f"{one.id}: {text}" for one in result.seen for text in one.problems]
    return found + [f"beside it: {text}" for text in result.extra]


@pytest.mark.parametrize("setup", SAMPLE, ids=lambda one: " ".join(map(str, one)))
def test_a_fault_is_found_in_time_and_nothing_beside_it(setup: Setup) -> None:
    """Right part, right action; what this chip or driver cannot show is told as not covered."""
    assert problems(setup) == []


def test_all_pairs_are_there() -> None:
    """Each fault on each chip and driver that there is, idle and busy."""
    wanted = {(one.case, chip_of(INSTANCES[one.instance])) for one in full()}
    there = {(one.case, chip_of(INSTANCES[one.instance])) for one in pairwise()}
    assert there == wanted
    assert {one.instance for one in full()} == set(INSTANCES)


def test_a_rule_that_is_off_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the grid would prove nothing."""
    kept = tuple(rule for rule in grid.shipped() if rule.id != "hbm-scrub-failed")
    monkeypatch.setattr(grid, "shipped", lambda: kept)
    setup = next(one for one in QUICK if one.case == "line: scrub")
    assert problems(setup) == ["hbm-scrub-failed: missed"]


def test_a_wrong_action_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table says which is right."""
    wrong = tuple(
        rule._replace(action=Action.NONE) if rule.id == "firmware-sram" else rule
        for rule in grid.shipped()
    )
    monkeypatch.setattr(grid, "shipped", lambda: wrong)
    setup = Setup("component: sram", "trn2.3xlarge", "2.30.2", busy=False)
    assert problems(setup) == ["firmware-sram: action is none, not replace_instance"]


def test_an_alarm_that_nobody_expects_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case of nothing must stay silent."""
    nothing = tuple(
        case._replace(expects=()) if case.name == "line: scrub" else case for case in CASES
    )
    monkeypatch.setattr(setups, "CASES", nothing)
    setup = next(one for one in QUICK if one.case == "line: scrub")
    assert [text.split(" on ")[0] for text in problems(setup)] == ["beside it: hbm-scrub-failed"]


def test_what_can_be_shown_follows_the_table() -> None:
    """Chip and driver decide, unless a line tells it."""
    storm = next(case for case in CASES if case.name == "ECC storm, HBM").expects[0]
    assert is_live(storm, INSTANCES["trn2.3xlarge"], "2.30.2")
    assert not is_live(storm, INSTANCES["trn2.3xlarge"], "2.28")
    assert not is_live(storm, INSTANCES["inf1.xlarge"], "2.24.7")
    assert is_live(storm._replace(line=True), INSTANCES["inf1.xlarge"], "2.24.7")
