"""Steps of ranks put together: late, lost, counted otherwise, dead; nobody waits for ever."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.parsers.heartbeat import Step
from neuron_observer.stragglers.joining import FILLED_FOR, LAG, MOST_HELD, Joiner

if TYPE_CHECKING:
    from neuron_observer.model import TimeSource
    from neuron_observer.stragglers.joining import Joined


def step(number: int, end: float | None = None, source: TimeSource = "blocking") -> Step:
    """A step of one second."""
    at = number + 1.0 if end is None else end
    return Step(
        number, at - 1, at, 0.1, 0.01, nan, nan, 1, compiled=False, pause=False,
        async_handles=False, source=source,
    )  # fmt: skip


def told(*numbers: int) -> list[Step]:
    """Steps of which the device has told."""
    return [step(number, source="event") for number in numbers]


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


def filled(found: list[Joined]) -> list[tuple[int, dict[int, int]]]:
    """With which step others were handed on, and which these are, by row."""
    return [
        (one.number, {row: step.number for row, step in one.filled.items()})
        for one in found
        if one.filled
    ]


def test_times_that_the_device_tells_later_are_put_together_once_more() -> None:
    """One rank was read before, the other after its device had told: the same step, once."""
    joiner = Joiner()
    joiner.add(0, [step(k, source="none") for k in range(5)])
    joiner.add(1, [step(0, source="none"), *told(1), *(step(k, source="none") for k in (2, 3, 4))])
    found = joiner.ready(5.0)
    assert (numbers(found), filled(found)) == ([0, 1, 2, 3, 4], [])
    joiner.add(0, [step(5, source="none")], told(1))
    joiner.add(1, [step(5, source="none")])
    assert filled(joiner.ready(6.0)) == [(5, {0: 1, 1: 1})]
    joiner.add(0, [step(6)], told(1))
    joiner.add(1, [step(6)])
    assert filled(joiner.ready(7.0)) == []
    assert joiner.late == 0


def test_a_rank_whose_device_does_not_tell_holds_up_nobody_for_long() -> None:
    """The others' is handed on when the rank tells of a later step, or after some more steps."""
    joiner = Joiner()
    joiner.add(0, [step(0), *told(1), step(2), *told(3), step(4)])
    joiner.add(1, [step(0), step(1), step(2), *told(3), step(4)])
    assert filled(joiner.ready(5.0)) == [(1, {0: 1}), (3, {0: 3, 1: 3})]
    last = 6 + FILLED_FOR
    joiner.add(0, [*told(5), *(step(k) for k in range(6, last + 1))])
    joiner.add(1, [step(k) for k in range(5, last + 1)])
    assert filled(joiner.ready(last + 1.0)) == [(last, {0: 5})]


def test_what_the_device_tells_of_is_counted_as_the_rank_counts() -> None:
    """Its step 3 is the job's step 10."""
    joiner = Joiner()
    joiner.add(0, [step(k) for k in range(10)])
    joiner.add(1, [step(k, k + 8.1) for k in range(3)])
    joiner.ready(10.0)
    joiner.add(0, [*told(10), step(11)])
    joiner.add(1, [step(3, 11.1, "event"), step(4, 12.1)])
    assert filled(joiner.ready(12.0)) == [(10, {0: 10, 1: 3})]


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
