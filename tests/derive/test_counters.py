"""Deltas and falls of counters: never more than the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.catalogue import METRICS
from neuron_observer.derive.counters import FIRST, Delta, Fall, delta, falls, growth, only_rose
from neuron_observer.model import Cell, Missing, Why
from tests.derive.snapshots import CORES, DENIED, SPACE, Cells, pe, snapshot

if TYPE_CHECKING:
    from neuron_observer.derive.counters import Growth

FLOPS = METRICS["core.flops"]
PLAIN = METRICS["core.inferences"]
GONE = Missing(Why.FAILED, "the file is gone")


# deltas

STEPS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 10**12)),  # reset before it?, increase after it
    min_size=1,
    max_size=8,
)


@given(st.integers(0, 2**63), st.lists(STEPS, max_size=6))
def test_an_increase_never_exceeds_the_truth(
    start: int, intervals: list[list[tuple[bool, int]]]
) -> None:
    """However often a counter is reset between two reads, what is counted truly happened."""
    counter = start
    for steps in intervals:
        before, truth, was_reset = counter, 0, False
        for reset, increase in steps:
            counter = (0 if reset else counter) + increase
            truth += increase
            was_reset = was_reset or reset
        found = delta(PLAIN, before, counter, 1.0)
        assert 0 <= found.increase <= truth
        if not was_reset:
            assert found == Delta(truth)


@given(
    st.integers(0, SPACE - 1),
    st.lists(st.integers(0, 10**16), min_size=1, max_size=5),
)
def test_a_wrap_is_counted_exactly(start: int, increases: list[int]) -> None:
    """A counter of operations passes 2⁶⁴ within a busy week; that is no reset."""
    counter = start
    for increase in increases:
        before, counter = counter, (counter + increase) % SPACE
        assert delta(FLOPS, before, counter, 1.0) == Delta(increase)


@given(st.integers(1, SPACE - 10**16 - 1), st.integers(0, 10**15))
def test_a_reset_far_from_the_wrap_is_a_reset(before: int, now: int) -> None:
    """To wrap from there it would have had to count faster than any core can."""
    if now < before and now + SPACE - before > 10**16:
        assert delta(FLOPS, before, now, 1.0) == Delta(now, was_reset=True)


def test_what_was_counted_since_a_reset_counts() -> None:
    """E43: on a fall the new value is the increase since the reset, not a negative rate."""
    assert delta(PLAIN, 1000, 7, 1.0) == Delta(7, was_reset=True)
    assert delta(PLAIN, 1000, 0, 1.0) == Delta(0, was_reset=True)
    assert delta(PLAIN, 1000, 1000, 1.0) == Delta(0)


# growth between two reads

INFERENCES = "core.inferences"


def grown(
    before: Cells | None, now: Cells, *, seconds: float = 2.0, same_layout: bool = False
) -> Growth:
    """How the inferences of both cores moved between two batches."""
    first = None if before is None else snapshot(10.0, before).batches[0]
    second = snapshot(10.0 + seconds, now).batches[0]
    if first and same_layout:
        second = second._replace(layout=first.layout)
    return growth([(first, second)], INFERENCES, CORES)


def test_growth_is_over_the_batches_own_times() -> None:
    """Increase, seconds and what the counter shows, of each core."""
    found = grown({INFERENCES: (5, 7)}, {INFERENCES: (55, 7)}, seconds=2.5)
    assert found == ([50, 0], [2.5, 2.5], [55, 7], frozenset(), True)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_no_growth(seconds: float) -> None:
    """A batch that was not read again gives no rate, and nothing is divided by 0."""
    assert grown({INFERENCES: 5}, {INFERENCES: 9}, seconds=seconds).increases == [FIRST] * 2


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        ({INFERENCES: 5}, {INFERENCES: DENIED}, Why.DENIED),
        ({INFERENCES: DENIED}, {INFERENCES: 5}, Why.NOT_YET),
        ({"core.flops": 5}, {INFERENCES: 5}, Why.NOT_YET),
        (None, {INFERENCES: 5}, Why.NOT_YET),
        ({INFERENCES: 5}, {"core.flops": 5}, Why.UNSUPPORTED),
        ({INFERENCES: 5}, {INFERENCES: "x"}, Why.NOT_YET),
    ],
)
def test_a_missing_read_gives_no_growth(
    before: dict[str, Cell] | None, now: dict[str, Cell], reason: Why
) -> None:
    """The present reason counts; a value for the first time needs a second one."""
    for found in grown(before, now).increases:
        assert isinstance(found, Missing)
        assert found.why is reason


def test_a_reset_is_told_with_its_place() -> None:
    """Only of the core that was reset."""
    assert grown({INFERENCES: (5, 9)}, {INFERENCES: (7, 3)}).resets == {1}


COUNTS: st.SearchStrategy[Cell] = st.integers(0, SPACE) | st.sampled_from([DENIED, "x"])


@given(st.tuples(COUNTS, COUNTS), st.tuples(COUNTS, COUNTS))
def test_growth_is_the_delta_of_each_place(
    before: tuple[Cell, Cell], now: tuple[Cell, Cell]
) -> None:
    """However rows are found and however many are computed at once."""
    at_once = grown({INFERENCES: before}, {INFERENCES: now}, same_layout=True)
    assert at_once == grown({INFERENCES: before}, {INFERENCES: now})
    for was, cell, increase in zip(before, now, at_once.increases, strict=True):
        if isinstance(was, int) and isinstance(cell, int):
            assert increase == delta(PLAIN, was, cell, 2.0).increase
        else:
            assert isinstance(increase, Missing)


# falls


def fallen(before: Cells, now: Cells, *, seconds: float = 1.0) -> list[Fall]:
    """Which counters fell between two reads of one batch, every row of it changed."""
    first = snapshot(1.0, before).batches[0]
    second = snapshot(1.0 + seconds, now).batches[0]
    second = second._replace(layout=first.layout, changed=tuple(range(len(second.cells))))
    return list(falls(first, second))


def test_a_counter_that_fell_is_told() -> None:
    """With where, before and now; counters that rose, stood still or are missing are not."""
    before: Cells = {"core.inferences": (5, 5), "core.flops": 7, "core.model_loads": 3}
    now: Cells = {"core.inferences": (4, 9), "core.flops": 7, "core.model_loads": DENIED}
    assert fallen(before, now) == [Fall("core.inferences", CORES[0], 5, 4)]


def test_a_wrap_and_a_carry_are_no_falls() -> None:
    """A counter of operations beyond 2⁶⁴, and cycles read at a carry, were cleared by nobody."""
    before = {"core.flops": SPACE - 5, **pe(2**40, 2**40, 2**40)}
    now = {"core.flops": 10**9, **pe(2**40 + 5, 2**40 - 2**32 + 5, 2**40 + 5)}
    assert fallen(before, now) == []


def test_a_clear_of_operations_or_cycles_is_a_fall() -> None:
    """Far from the wrap, by more than a carry."""
    name = "core.pe_array.row_group0.idle_cycles"
    before, now = {"core.flops": 10**18, name: 2**40}, {"core.flops": 0, name: 5}
    assert {fall.metric for fall in fallen(before, now)} == {"core.flops", name}


def test_a_fall_of_used_memory_is_no_fall() -> None:
    """Gauges go up and down; a heartbeat wraps; idle time of the processor may go back."""
    before = {"core.hbm.used": 5, "device.health.heartbeat": 255, "host.cpu.idle": 9}
    now = {"core.hbm.used": 4, "device.health.heartbeat": 0, "host.cpu.idle": 8}
    assert fallen(before, now) == []


def test_another_layout_or_nothing_changed_is_no_fall() -> None:
    """Rows of another layout are other counters; what did not change did not fall."""
    first = snapshot(1.0, {"core.inferences": 5}).batches[0]
    second = snapshot(2.0, {"core.inferences": 4}).batches[0]
    assert list(falls(first, second._replace(changed=(0, 1)))) == []
    assert list(falls(first, second._replace(layout=first.layout))) == []


CHANGING: st.SearchStrategy[Cell] = st.integers(0, 3) | st.sampled_from(["ok", 2.5, DENIED, GONE])


@given(st.lists(st.tuples(CHANGING, CHANGING), min_size=3, max_size=3))
def test_where_all_rose_there_is_no_fall_and_no_loss(pairs: list[tuple[Cell, Cell]]) -> None:
    """`only_rose` lets nothing pass that a closer look would find."""
    names = ("core.inferences", "core.flops", "core.hbm.used")
    first = snapshot(1.0, {name: old for name, (old, _) in zip(names, pairs, strict=True)})
    second = snapshot(2.0, {name: new for name, (_, new) in zip(names, pairs, strict=True)})
    before = first.batches[0]
    now = second.batches[0]._replace(layout=before.layout, changed=tuple(range(6)))
    if only_rose(before, now):
        assert list(falls(before, now)) == []
        assert not any(isinstance(new, Missing) > isinstance(old, Missing) for old, new in pairs)
    assert not only_rose(before, second.batches[0])  # another layout
