"""Rates, utilisation and sums from two reads: never more than the truth, never a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.catalogue import METRICS
from neuron_observer.derive import (
    Change,
    Delta,
    Fall,
    changes,
    delta,
    derive,
    falls,
    make_batch,
    only_rose,
)
from neuron_observer.model import (
    Cell,
    Core,
    Device,
    Driver,
    Missing,
    Place,
    Reading,
    Snapshot,
    Value,
    Why,
)
from neuron_observer.readings import reading

if TYPE_CHECKING:
    from collections.abc import Mapping

GIB = 1 << 30
WALL = 1_788_000_030.0
CORES = (Place(0, 0), Place(0, 1))
FLOPS = METRICS["core.flops"]
PLAIN = METRICS["core.inferences"]
DENIED = Missing(Why.DENIED, "EACCES")
GONE = Missing(Why.FAILED, "the file is gone")
SPACE = 1 << 64

Cells: TypeAlias = "Mapping[str, Cell | tuple[Cell, ...]]"


def snapshot(
    at: float,
    cells: Cells,
    *,
    driver: str | None = "2.30.2.0",
    name: str | None = "Trainium2",
) -> Snapshot:
    """One device with two cores; a core's metric has a cell for both or a pair of them."""
    rows: dict[str, list[tuple[Place, Cell]]] = {}
    for metric, cell in cells.items():
        if metric.startswith("device."):
            assert not (isinstance(cell, tuple) and not isinstance(cell, Missing))
            rows[metric] = [(Place(0), cell)]
        else:
            plain = isinstance(cell, Missing) or not isinstance(cell, tuple)
            pair = (cell, cell) if plain else cell
            rows[metric] = list(zip(CORES, pair, strict=True))  # type: ignore[arg-type]
    batch = make_batch("sysfs", rows, at)._replace(device=0)
    device = Device(0, name, "NDv3", "s", "s", cores=(Core(0, 0), Core(0, 1)))
    return Snapshot(
        at=WALL + at,
        monotonic=at,
        host_root="/",
        instance_type=None,
        driver=Driver(driver, "live"),
        devices=(device,),
        batches=(batch,),
    )


def derived(
    before: Cells | None,
    now: Cells,
    metric: str,
    *,
    seconds: float = 2.0,
    place: Place = CORES[0],
    driver: str | None = "2.30.2.0",
) -> Reading:
    """One derived reading from two reads that are some seconds apart."""
    first = None if before is None else snapshot(100.0, before, driver=driver)
    second = snapshot(100.0 + seconds, now, driver=driver)
    return reading([derive(first, second)], metric, place)


def value(of: Reading) -> float | str:
    """The value of a reading that must have one."""
    assert isinstance(of, Value), of
    return of.value


def why(of: Reading) -> Why:
    """The reason of a reading that must have none."""
    assert isinstance(of, Missing), of
    return of.why


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


# changes over batch times


def test_a_change_is_over_the_batches_own_times() -> None:
    """`at` labels the snapshot; a wall clock that jumps makes no rate."""
    first, second = snapshot(10.0, {"core.inferences": 5}), snapshot(12.5, {"core.inferences": 55})
    second = second._replace(at=first.at - 3600, monotonic=99.0)
    found = changes(first.batches, second.batches, "core.inferences").get(CORES[0], NOT_READ)
    assert found == Change(Delta(50), 2.5, 55)


NOT_READ = Missing(Why.UNSUPPORTED, "not read")


@pytest.mark.parametrize("gap", [0.0, -1.0])
def test_no_time_no_rate(gap: float) -> None:
    """A batch that was not read again gives no rate, and nothing is divided by 0."""
    first, second = (
        snapshot(10.0, {"core.inferences": 5}),
        snapshot(10.0 + gap, {"core.inferences": 9}),
    )
    found = changes(first.batches, second.batches, "core.inferences").get(CORES[0], NOT_READ)
    assert isinstance(found, Missing)
    assert found.why is Why.NOT_YET


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        ({"core.inferences": 5}, {"core.inferences": DENIED}, Why.DENIED),
        ({"core.inferences": DENIED}, {"core.inferences": 5}, Why.NOT_YET),
        ({"core.flops": 5}, {"core.inferences": 5}, Why.NOT_YET),
        ({"core.inferences": 5}, {"core.flops": 5}, Why.UNSUPPORTED),
        ({"core.inferences": 5}, {"core.inferences": "x"}, Why.NOT_YET),
    ],
)
def test_a_missing_read_gives_no_change(
    before: dict[str, Cell], now: dict[str, Cell], reason: Why
) -> None:
    """The present reason counts; a value for the first time needs a second one."""
    first, second = snapshot(10.0, before), snapshot(12.0, now)
    found = changes(first.batches, second.batches, "core.inferences").get(CORES[0], NOT_READ)
    assert isinstance(found, Missing)
    assert found.why is reason


# rates of a core

RUNNING = {
    "core.time_in_use": 1_000_000,
    "core.inferences": 10,
    "core.execution.success": 10,
    "core.flops": 10**12,
}
LATER = {
    "core.time_in_use": 2_500_000,
    "core.inferences": 40,
    "core.execution.success": 40,
    "core.flops": 4 * 10**12,
}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("core.utilization", 0.75),  # 1.5 s in 2 s
        ("core.inference_rate", 15.0),
        ("core.flop_rate", 1.5e12),
        ("core.flops_per_busy_second", 2e12),
        ("device.utilization", 0.75),
    ],
)
def test_rates(metric: str, expected: float) -> None:
    """Microseconds, executions and operations over two seconds."""
    place = Place(0) if metric.startswith("device.") else CORES[1]
    assert value(derived(RUNNING, LATER, metric, place=place)) == pytest.approx(expected)


@pytest.mark.parametrize("metric", ["core.utilization", "core.inference_rate", "core.flop_rate"])
@pytest.mark.parametrize("driver", ["2.24.7.0", "2.26.5.0", "2.29.0.0", "2.30.1.0", None, "2.x"])
def test_counters_that_move_at_exit_give_no_rate(metric: str, driver: str | None) -> None:
    """Before 2.30.2 they stand still while a job runs: flat is not idle, and a step is no rate."""
    found = derived(RUNNING, LATER, metric, driver=driver)
    assert why(found) is Why.UNSUPPORTED
    assert why(derived(None, LATER, metric, driver=driver)) is Why.UNSUPPORTED


@pytest.mark.parametrize("driver", ["2.30.2.0", "2.30.2", "2.31.7.0", "3.0.0.0"])
def test_live_counters_give_rates(driver: str) -> None:
    """From 2.30.2 on they are the sum over the running processes."""
    assert value(derived(RUNNING, LATER, "core.utilization", driver=driver)) == 0.75


def test_the_first_read_gives_no_rate() -> None:
    """It needs two."""
    for metric in ("core.utilization", "core.flop_rate", "core.flops_per_busy_second"):
        assert why(derived(None, LATER, metric)) is Why.NOT_YET


def test_an_idle_core_is_idle() -> None:
    """Counters that stood still while nothing was executed: 0, not missing."""
    assert value(derived(RUNNING, RUNNING, "core.utilization")) == 0
    assert value(derived(RUNNING, RUNNING, "core.flop_rate")) == 0
    assert why(derived(RUNNING, RUNNING, "core.flops_per_busy_second")) is Why.NOT_YET


@pytest.mark.parametrize("moving", ["core.inferences", "core.execution.success"])
@pytest.mark.parametrize(
    ("stuck", "metric"),
    [
        ("core.flops", "core.flop_rate"),
        ("core.flops", "core.flops_per_busy_second"),
        ("core.time_in_use", "core.utilization"),
        ("core.time_in_use", "core.flops_per_busy_second"),
    ],
)
def test_a_counter_stuck_at_zero_is_unsupported(moving: str, stuck: str, metric: str) -> None:
    """F04: it stays 0 while executions rise, so it does not count here. Never 0 operations."""
    still = {name: 0 for name in RUNNING if name not in {moving, stuck}}
    before = RUNNING | still | {stuck: 0, moving: 10}
    now = LATER | still | {stuck: 0, moving: 40}
    if metric == "core.flops_per_busy_second":
        other = "core.time_in_use" if stuck == "core.flops" else "core.flops"
        before[other], now[other] = RUNNING[other], LATER[other]
    assert why(derived(before, now, metric)) is Why.UNSUPPORTED


def test_inferences_stuck_at_zero_are_unsupported() -> None:
    """The status counter rises and the other does not: it is not idle."""
    before, now = RUNNING | {"core.inferences": 0}, LATER | {"core.inferences": 0}
    assert why(derived(before, now, "core.inference_rate")) is Why.UNSUPPORTED


def test_a_counter_that_stands_above_zero_is_not_stuck() -> None:
    """A model without multiplications between two that have them: 0 in this interval."""
    assert value(derived(RUNNING, LATER | {"core.flops": 10**12}, "core.flop_rate")) == 0


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.floats(1e-3, 1e6, allow_nan=False))
def test_utilization_is_between_0_and_1(before: int, now: int, seconds: float) -> None:
    """Whatever the counter does: a share of the time, or a reason."""
    found = derived(
        {"core.time_in_use": before}, {"core.time_in_use": now}, "core.utilization", seconds=seconds
    )
    if isinstance(found, Value):
        assert isinstance(found.value, float | int)
        assert 0 <= found.value <= 1
        assert found.value * seconds * 1e6 <= max(now - before, now) + 1e-3 * seconds


@pytest.mark.parametrize(
    ("busy", "expected"), [(2_000_000, 1.0), (2_100_000, 1.0), (1_000, 0.0005)]
)
def test_utilization_allows_for_read_times(busy: int, expected: float) -> None:
    """A little more than the time is all of it."""
    now = {"core.time_in_use": busy}
    assert value(derived({"core.time_in_use": 0}, now, "core.utilization")) == expected


def test_more_busy_time_than_time_is_no_utilization() -> None:
    """Half as much again is a counter of something else."""
    now = {"core.time_in_use": 3_000_000}
    assert why(derived({"core.time_in_use": 0}, now, "core.utilization")) is Why.FAILED


# PE array


def pe(matmul: int, weights: int, idle: int) -> dict[str, Cell]:
    """Four row groups with the same cycles."""
    names = {"matmul": matmul, "weight_load": weights, "idle": idle}
    return {
        f"core.pe_array.row_group{group}.{name}_cycles": cycles
        for group in range(4)
        for name, cycles in names.items()
    }


@pytest.mark.parametrize("driver", ["2.30.2.0", "2.24.7.0", None])
def test_the_share_of_multiplying_cycles(driver: str | None) -> None:
    """Hardware counters: live on every driver."""
    found = derived(pe(0, 0, 0), pe(10, 20, 70), "core.matmul_share", driver=driver)
    assert value(found) == pytest.approx(0.1)


@given(*[st.integers(0, 2**63)] * 3, *[st.integers(0, 2**34)] * 3, st.integers(0, 11))
def test_a_carry_gives_no_share(
    a: int, b: int, c: int, da: int, db: int, dc: int, odd: int
) -> None:
    """A value off by 2³² in either read: never a share outside 0 to 1, mostly none at all."""
    before, now = pe(a, b, c), pe(a + da, b + db, c + dc)
    name = sorted(now)[odd]
    cell = now[name]
    assert isinstance(cell, int)
    now[name] = cell - 2**32 if cell >= 2**32 else cell + 2**32 + 1
    found = derived(before, now, "core.matmul_share")
    if isinstance(found, Value):
        assert isinstance(found.value, float)
        assert 0 <= found.value <= 1
        assert max(da, db, dc) >= 2**32 or min(da, db, dc) == 0


@pytest.mark.parametrize("off", [-(2**32), 2**32 + 1])
def test_a_delta_that_is_negative_or_above_a_carry_is_dropped(off: int) -> None:
    """64 bits are read as two halves, not atomically."""
    before, now = pe(2**40, 2**40, 2**40), pe(2**40 + 10, 2**40 + 20, 2**40 + 70)
    now["core.pe_array.row_group2.idle_cycles"] = 2**40 + 70 + off
    assert why(derived(before, now, "core.matmul_share")) is Why.NOT_YET


def test_no_cycles_no_share() -> None:
    """Counters that did not move divide nothing by nothing."""
    assert why(derived(pe(1, 2, 3), pe(1, 2, 3), "core.matmul_share")) is Why.NOT_YET


# the device


def test_a_device_holds_what_its_cores_hold() -> None:
    """HBM in use is the sum; the capacity is the chip's."""
    now: Cells = {"core.hbm.used": (3 * GIB, 4 * GIB)}
    assert value(derived(None, now, "device.hbm.used", place=Place(0))) == 7 * GIB
    assert value(derived(None, now, "device.hbm.capacity", place=Place(0))) == 96 * GIB


def test_a_sum_with_a_missing_part_is_missing() -> None:
    """Half of it would be a wrong number; the reason is the part's."""
    now: Cells = {"core.hbm.used": (3 * GIB, DENIED)}
    assert derived(None, now, "device.hbm.used", place=Place(0)) == DENIED


def test_a_mean_with_a_missing_part_is_missing() -> None:
    """One core without a rate, no rate of the device."""
    before, now = RUNNING | {"core.time_in_use": (0, 0)}, LATER | {"core.time_in_use": (5, DENIED)}
    assert derived(before, now, "device.utilization", place=Place(0)) == DENIED


def test_the_mean_of_the_cores() -> None:
    """A quarter and three quarters are a half."""
    before = {"core.time_in_use": (0, 0)}
    now = {"core.time_in_use": (500_000, 1_500_000)}
    assert value(derived(before, now, "device.utilization", place=Place(0))) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("Inferentia", 8),
        ("Trainium1", 32),
        ("Inferentia2", 32),
        ("Trainium2", 96),
        ("Trainium3", 144),
    ],
)
def test_capacities(name: str, gib: int) -> None:
    """2 x 16, 4 x 24, 4 x 36 GiB; inf1 has 8."""
    found = reading([derive(None, snapshot(1.0, {}, name=name))], "device.hbm.capacity", Place(0))
    assert value(found) == gib * GIB


@pytest.mark.parametrize("name", [None, "Trainium9"])
def test_the_capacity_of_an_unknown_chip_is_unknown(name: str | None) -> None:
    """Nothing is guessed from a name."""
    found = reading([derive(None, snapshot(1.0, {}, name=name))], "device.hbm.capacity", Place(0))
    assert why(found) is Why.UNSUPPORTED


@pytest.mark.parametrize("age", [0, 30, 119, 4000])
def test_the_age_of_the_power_figures(age: int) -> None:
    """Wall clock now less the minute that the figures are of."""
    now = {"device.power.epoch": int(WALL) + 100 - age}
    first = snapshot(100.0, now)
    found = reading([derive(None, first)], "device.power.age", Place(0))
    assert value(found) == pytest.approx(age, abs=1e-3)


@pytest.mark.parametrize("epoch", [0, DENIED])
def test_figures_without_a_date_have_no_age(epoch: Cell) -> None:
    """Epoch 0 is no minute, so its age is not 56 years."""
    found = derived(None, {"device.power.epoch": epoch}, "device.power.age", place=Place(0))
    assert isinstance(found, Missing)


@given(
    st.dictionaries(
        st.sampled_from([*RUNNING, "core.hbm.used", "device.power.epoch", *pe(0, 0, 0)]),
        st.one_of(st.integers(0, SPACE - 1), st.just(DENIED), st.text(max_size=3)),
    ),
    st.dictionaries(
        st.sampled_from([*RUNNING, "core.hbm.used", "device.power.epoch", *pe(0, 0, 0)]),
        st.one_of(st.integers(0, SPACE - 1), st.just(DENIED), st.text(max_size=3)),
    ),
    st.sampled_from([None, "2.24.7.0", "2.30.2.0", "x"]),
)
def test_any_cells_derive(
    before: dict[str, Cell], now: dict[str, Cell], driver: str | None
) -> None:
    """Nothing that files can hold makes deriving fail or gives a negative rate."""
    first, second = snapshot(1.0, before, driver=driver), snapshot(2.0, now, driver=driver)
    for batch in (derive(first, second), derive(None, second)):
        for metric, column in batch.layout.columns.items():
            for cell in batch.cells[column.start : column.start + len(column.places)]:
                if isinstance(cell, Missing):
                    assert cell.detail
                elif metric != "device.power.age":
                    assert isinstance(cell, int | float)
                    assert cell >= 0


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
