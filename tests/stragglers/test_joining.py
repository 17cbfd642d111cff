"""Steps of ranks put together: late, lost, counted otherwise, dead; nobody waits for ever."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.parsers.heartbeat import Step
from neuron_observer.stragglers.joining import LAG, MOST_HELD, Joiner

if TYPE_CHECKING:
    from neuron_observer.stragglers.joining import Joined


def step(number: int, end: float | None = None) -> Step:
    """A step of one second."""
    at = number + 1.0 if end is None else end
    return Step(
        number, at - 1, at, 0.1, 0.01, nan, nan, 1, compiled=False, pause=False,
        async_handles=False, source="blocking",
    )  # fmt: skip


def numbers(found: list[Joined]) -> list[int]:
    """Which steps these are."""
    return [one.number for one in found]


def test_a_step_is_ready_when_all_have_it() -> None:
    """In order, each once, with all that ranks said."""
    joiner = Joiner()
    joiner.add(0, [step(0), step(1)])
    joiner.add(1, [step(0)])
    assert numbers(joiner.ready(2.0)) == [0]
    joiner.add(1, [step(1)])
    (one,) = joiner.ready(2.0)
    assert (one.number, one.end, set(one.steps)) == (1, 2.0, {0, 1})
    assert joiner.ready(9.0) == []


def test_a_rank_that_falls_silent_holds_up_nobody() -> None:
    """The others are judged without it when they are four steps, or long enough, ahead."""
    joiner = Joiner()
    joiner.add(0, [step(0)])
    joiner.add(1, [step(0)])
    joiner.ready(1.0)
    joiner.add(0, [step(k) for k in range(1, LAG + 2)])
    found = joiner.ready(LAG + 2.0)
    assert numbers(found) == [1]
    assert set(found[0].steps) == {0}
    assert numbers(joiner.ready(60.0)) == [2, 3, 4, 5]
    joiner.add(1, [step(1), step(2)])
    assert joiner.late == 2


def test_a_dead_rank_is_not_waited_for() -> None:
    """Its process is gone: what the others did is complete."""
    joiner = Joiner()
    joiner.add(0, [step(0)])
    joiner.add(1, [step(0)])
    joiner.ready(1.0)
    joiner.add(0, [step(1)])
    assert joiner.ready(2.0) == []
    assert numbers(joiner.ready(2.0, missing=frozenset({1}))) == [1]


def test_a_hook_that_began_later_counts_otherwise() -> None:
    """Its step 0 ends when that of the others' step 7 does."""
    joiner = Joiner()
    joiner.add(0, [step(k) for k in range(12)])
    joiner.add(1, [step(k, k + 8.1) for k in range(5)])
    found = joiner.ready(13.0, missing=frozenset())
    shared = [(one.number, one.steps[1].number) for one in found if 1 in one.steps]
    assert shared == [(7, 0), (8, 1), (9, 2), (10, 3), (11, 4)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 300), st.booleans()), min_size=1, max_size=12
    )
)
def test_whatever_comes_steps_are_in_order_once_and_bounded(
    turns: list[tuple[int, int, bool]],
) -> None:
    """Any ranks report any number of steps at any time; nothing is given twice or grows."""
    joiner = Joiner()
    done = dict.fromkeys(range(4), 0)
    given: list[int] = []
    for row, count, look in turns:
        joiner.add(row, [step(k) for k in range(done[row], done[row] + count)])
        done[row] += count
        if look:
            given += numbers(joiner.ready(float(max(done.values()))))
        assert len(joiner._open) <= MOST_HELD
    given += numbers(joiner.ready(1e9))
    assert given == sorted(set(given))
    assert not given or given[-1] == max(done.values()) - 1
