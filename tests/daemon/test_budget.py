"""When lanes get longer because we cost too much, and when shorter again."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.daemon.budget import (
    FACTORS,
    LONGEST,
    OVER,
    STEPS,
    UNDER,
    Budget,
    Cost,
    Keeper,
    lengthened,
)
from neuron_observer.loop import PERIODS
from neuron_observer.rules.engine import LONG_GAP

if TYPE_CHECKING:
    from neuron_observer.daemon.budget import Change

BUDGET = Budget(0.05, 60e6)
SMALL = 20e6  # bytes


def run(
    keeper: Keeper, uses: list[tuple[float, float, float]], begin: float = 1000.0
) -> list[tuple[float, Change]]:
    """The changes that come of stretches of so many seconds, share of a core and bytes."""
    at, cpu = begin, 0.0
    keeper.note(Cost(at, cpu, SMALL))
    changes = []
    for seconds, share, memory in uses:
        until = at + seconds
        while at < until:
            at, cpu = at + 10.0, cpu + 10.0 * share
            change = keeper.note(Cost(at, cpu, memory))
            if change:
                changes.append((at - begin, change))
    return changes


def test_a_sustained_cost_makes_one_step_a_minute_and_no_more_than_there_are() -> None:
    """Not before a minute over it, then a step a minute until the last."""
    keeper = Keeper(BUDGET)
    changes = run(keeper, [(50.0, 0.9, SMALL)])
    assert changes == []
    keeper = Keeper(BUDGET)
    changes = run(keeper, [(600.0, 0.08, SMALL)])
    assert [(at, change.step) for at, change in changes] == [(60.0, 1), (120.0, 2), (180.0, 3)]
    assert all(change.risen and round(change.cpu, 6) == 0.08 for _, change in changes)


def test_memory_counts_as_well() -> None:
    """Over its bytes, whatever the processor says: one step, as more of them free nothing."""
    assert [change.step for _, change in run(Keeper(BUDGET), [(900.0, 0.0, 61e6)])] == [1]
    keeper = Keeper(BUDGET)
    both = [(120.0, 0.1, 61e6), (900.0, 0.0, 61e6)]
    assert [change.step for _, change in run(keeper, both)] == [1, 2]
    assert run(Keeper(BUDGET), [(600.0, 0.0, 59e6)]) == []


def test_it_comes_back_by_steps_when_twice_the_cost_would_fit() -> None:
    """Five minutes well below it; just below it nothing changes, for ever."""
    keeper = Keeper(BUDGET)
    run(keeper, [(180.0, 0.08, SMALL)])
    assert keeper.step == 3
    assert run(keeper, [(3600.0, 0.04, SMALL)]) == []
    changes = run(keeper, [(1000.0, 0.02, SMALL)])
    assert [(at, change.step) for at, change in changes] == [(300.0, 2), (600.0, 1), (900.0, 0)]
    assert not any(change.risen for _, change in changes)


def test_a_moment_within_it_begins_the_count_anew() -> None:
    """A burst of less than a minute, again and again, is no sustained cost."""
    assert run(Keeper(BUDGET), [(50.0, 0.5, SMALL), (10.0, 0.01, SMALL)] * 20) == []


def test_zero_is_no_limit() -> None:
    """Of either."""
    assert run(Keeper(Budget(0.0, 0.0)), [(600.0, 1.0, 1e9)]) == []


@given(
    st.lists(
        st.tuples(st.floats(0.0, 100.0), st.floats(0.0, 1.0), st.floats(0.0, 120e6)), max_size=200
    )
)
@settings(max_examples=100)
def test_never_faster_than_its_hold(uses: list[tuple[float, float, float]]) -> None:
    """Whatever it costs when: steps of one, within bounds, a minute to a rise, five to a fall."""
    keeper, at, cpu = Keeper(BUDGET), 1000.0, 0.0
    last, step = None, 0
    for seconds, share, memory in uses:
        at, cpu = at + seconds, cpu + seconds * share
        change = keeper.note(Cost(at, cpu, memory))
        if change is None:
            continue
        assert abs(change.step - step) == 1
        assert change.risen == (change.step > step)
        assert 0 <= change.step <= STEPS
        if last is not None:
            assert at - last >= (OVER if change.risen else UNDER)
        last, step = at, change.step
    assert keeper.step == step


@given(
    st.dictionaries(st.sampled_from(sorted(PERIODS)), st.floats(0.05, 600.0)),
    st.integers(0, STEPS),
)
@settings(max_examples=100)
def test_lanes_stay_within_their_bounds(periods: dict[str, float], step: int) -> None:
    """Never shorter than configured, never beyond the longest; the firmware's never changes."""
    longer = lengthened(periods, step)
    assert longer.keys() == periods.keys()
    for lane, period in periods.items():
        assert period <= longer[lane] <= max(period, LONGEST.get(lane, period))
    assert longer.get("firmware") == periods.get("firmware")


def test_each_step_is_longer_than_the_one_before() -> None:
    """In no lane shorter, in at least one longer."""
    at = [lengthened(PERIODS, step) for step in range(len(FACTORS))]
    for before, after in pairwise(at):
        assert all(after[lane] >= before[lane] for lane in PERIODS)
        assert after != before
    assert at[0] == PERIODS


@pytest.mark.parametrize("lane", ["fast", "normal"])
def test_a_frame_comes_before_the_rules_take_it_for_a_pause(lane: str) -> None:
    """Whichever of the two lanes makes the frames."""
    assert LONGEST[lane] < LONG_GAP
