"""A sample of the mutations of rules: a number that is off by a factor of two is noticed."""

from __future__ import annotations

import pytest

from benchmarks.rule_mutations import EQUAL, Mutant, killed_by, mutants, timelines
from neuron_observer.rules.loader import load

EVERY = 23  # one in so many; the whole takes minutes
MUTANTS = [mutant for rule in load() for mutant in mutants(rule)]


@pytest.mark.parametrize("mutant", MUTANTS[::EVERY], ids=str)
def test_a_timeline_notices(mutant: Mutant) -> None:
    """One of the fault's timelines fails."""
    assert killed_by(mutant)


@pytest.mark.parametrize("rule", load(), ids=lambda rule: rule.id)
def test_every_rule_has_timelines_and_numbers(rule: object) -> None:
    """Nothing is noticed where nothing is played."""
    assert len(timelines(str(getattr(rule, "id", "")))) >= 5


def test_each_number_is_doubled_and_halved() -> None:
    """Thresholds, counts and times; what is left out is known and why."""
    changed = {(mutant.rule.id, mutant.where): set[float]() for mutant in MUTANTS}
    for mutant in MUTANTS:
        changed[mutant.rule.id, mutant.where].add(mutant.after / mutant.before)
    assert changed["host-memory", "when.times"] == {2.0, 0.5}
    assert all(2.0 in factors or 0.5 in factors for factors in changed.values())
    assert all(reason for reason in EQUAL.values())
