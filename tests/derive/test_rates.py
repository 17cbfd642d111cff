"""Rates, utilisation and sums from two reads: never more than the truth, never a guess."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.derive import Deriver, derive, make_batch
from neuron_observer.model import Cell, Missing, Place, Reading, Value, Why
from neuron_observer.readings import reading
from tests.derive.snapshots import CORES, DENIED, SPACE, WALL, Cells, pe, snapshot

GIB = 1 << 30


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
    return reading(derive(first, second), metric, place)


def value(of: Reading) -> float | str:
    """The value of a reading that must have one."""
    assert isinstance(of, Value), of
    return of.value


def why(of: Reading) -> Why:
    """The reason of a reading that must have none."""
    assert isinstance(of, Missing), of
    return of.why


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
    found = reading(derive(None, snapshot(1.0, {}, name=name)), "device.hbm.capacity", Place(0))
    assert value(found) == gib * GIB


@pytest.mark.parametrize("name", [None, "Trainium9"])
def test_the_capacity_of_an_unknown_chip_is_unknown(name: str | None) -> None:
    """Nothing is guessed from a name."""
    found = reading(derive(None, snapshot(1.0, {}, name=name)), "device.hbm.capacity", Place(0))
    assert why(found) is Why.UNSUPPORTED


@pytest.mark.parametrize("age", [0, 30, 119, 4000])
def test_the_age_of_the_power_figures(age: int) -> None:
    """Wall clock now less the minute that the figures are of."""
    now = {"device.power.epoch": int(WALL) + 100 - age}
    first = snapshot(100.0, now)
    found = reading(derive(None, first), "device.power.age", Place(0))
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
    for batch in (*derive(first, second), *derive(None, second)):
        for metric, column in batch.layout.columns.items():
            for cell in batch.cells[column.start : column.start + len(column.places)]:
                if isinstance(cell, Missing):
                    assert cell.detail
                elif metric != "device.power.age":
                    assert isinstance(cell, int | float)
                    assert cell >= 0


# made anew only when something was read


def test_rates_stay_until_the_counters_are_read_again() -> None:
    """Between two reads of its counters a device's batch is the same object."""
    deriver = Deriver()
    first, second = snapshot(100.0, RUNNING), snapshot(102.0, LATER)
    deriver.take(first.batches[0])
    assert why(reading(deriver.batches(first), "core.utilization", CORES[0])) is Why.NOT_YET
    deriver.take(second.batches[0])
    made = deriver.batches(second)
    deriver.take(second.batches[0])  # the same read, seen once more
    again = deriver.batches(second._replace(monotonic=102.25))
    assert again[0] is made[0]
    assert value(reading(again, "core.utilization", CORES[0])) == 0.75
    assert again[0].read_at == second.batches[0].read_at


def test_the_rows_that_changed_are_told() -> None:
    """The layout stays the same object, and exactly the rows that differ are named."""
    deriver = Deriver()
    made = []
    for number, cells in enumerate((RUNNING, LATER, LATER, LATER)):
        now = snapshot(100.0 + 2 * number, cells)
        deriver.take(now.batches[0])
        made.append(deriver.batches(now)[0])
    assert made[1].layout is made[2].layout is made[3].layout
    for before, after in pairwise(made[1:]):
        differing = [row for row, cell in enumerate(after.cells) if cell != before.cells[row]]
        assert list(after.changed) == differing
    assert made[2].changed
    assert not made[3].changed


def test_a_core_whose_file_is_read_elsewhere() -> None:
    """One core's counter in a batch of its own, as of one whose file is ambiguous."""
    place = CORES[1]
    batches = []
    for at, cells in ((100.0, RUNNING), (102.0, LATER)):
        whole = snapshot(at, cells).batches[0]
        rows = {
            metric: [(CORES[0], whole.cells[whole.layout.rows[metric, CORES[0]]])]
            for metric in RUNNING
        }
        other = make_batch("sysfs", {"core.time_in_use": [(place, DENIED)]}, at)
        one = make_batch("sysfs", rows, at)
        batches.append((one._replace(device=0, lane="normal"), other._replace(device=0)))
    before, now = (
        snapshot(at, {})._replace(batches=b) for at, b in zip((100.0, 102.0), batches, strict=True)
    )
    found = derive(before, now)
    assert value(reading(found, "core.utilization", CORES[0])) == 0.75
    assert reading(found, "core.utilization", place) == DENIED
    assert reading(found, "device.utilization", Place(0)) == DENIED


@given(st.lists(st.sampled_from([RUNNING, LATER, RUNNING | {"core.flops": 0}]), max_size=8))
def test_a_device_at_rest_is_derived_as_any_other(reads: list[Cells]) -> None:
    """What is taken over from the last time is what would be derived anew."""
    deriver = Deriver()
    before, last = None, None
    epoch: Cells = {"device.power.epoch": int(WALL)}
    for number, cells in enumerate(reads):
        now = snapshot(100.0 + 2 * number, {**cells, **epoch})
        batch = now.batches[0]
        if last and batch.cells == last.cells:  # as a collector gives what did not change
            batch = batch._replace(cells=last.cells)
        now, last = now._replace(batches=(batch,)), batch
        deriver.take(batch)
        (made,), (anew,) = deriver.batches(now), derive(before, now)
        assert (made.cells, made.read_at) == (anew.cells, anew.read_at)
        before = now
