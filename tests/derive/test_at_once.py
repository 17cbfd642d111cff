"""What is derived at once is what is derived counter by counter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.derive import Deriver, derive, make_batch
from neuron_observer.derive.at_once import METRICS, AtOnce
from neuron_observer.derive.rates import CoreRates
from neuron_observer.model import Cell, Missing, Why
from tests.derive.snapshots import CORES, DENIED, snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import Batch

COUNTERS = ("core.flops", "core.time_in_use", "core.execution.success", "core.inferences")
pairs = st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 40))
usual = st.tuples(*[st.integers(1, 900_000)] * 2)  # two seconds hold more microseconds
other = st.sampled_from([0, -1, 1.5, "x", DENIED, 3_000_000, 1e15, True])


def _batch(cells: Mapping[str, tuple[Cell, ...]], at: float) -> Batch:
    rows = {metric: list(zip(CORES, some, strict=True)) for metric, some in cells.items()}
    return make_batch("sysfs", rows, at)


@given(
    st.fixed_dictionaries(dict.fromkeys(COUNTERS, pairs)),
    st.fixed_dictionaries(dict.fromkeys(COUNTERS, usual)),
    st.none() | st.tuples(st.sampled_from(COUNTERS), other),
    st.sampled_from([2.0, 0.5, 0.0, -1.0]),
)
def test_gives_what_is_given_one_by_one(
    first: dict[str, tuple[int, int]],
    grown: dict[str, tuple[int, int]],
    odd: tuple[str, Cell] | None,
    seconds: float,
) -> None:
    """Or nothing; where all is as usual it gives something."""
    later: dict[str, tuple[Cell, ...]] = {
        metric: tuple(was + more for was, more in zip(first[metric], grown[metric], strict=True))
        for metric in COUNTERS
    }
    if odd:
        later[odd[0]] = later[odd[0]][0], odd[1]
    before = _batch({metric: first[metric] for metric in COUNTERS}, 100.0)
    now = _batch(later, 100.0 + seconds)
    now = now._replace(layout=before.layout)
    found = AtOnce(before.layout, CORES).rates(before, now)
    if odd is None and seconds == 2:
        assert found is not None
    if found is not None:
        rates = CoreRates([(before, now)], CORES, None)
        expected = [cell for metric in METRICS for cell in rates.cells(metric)]
        assert list(map(repr, found)) == list(map(repr, expected))


@pytest.mark.parametrize("metric", ["core.flops", "core.time_in_use", "core.inferences"])
@pytest.mark.parametrize("odd", [0, 5, 1.5e15, "x", DENIED])
def test_what_is_out_of_the_ordinary_takes_a_closer_look(metric: str, odd: Cell) -> None:
    """A fall, rest, no whole number, no number."""
    before = _batch(dict.fromkeys(COUNTERS, (5, 5)), 100.0)
    usual: dict[str, tuple[Cell, ...]] = dict.fromkeys(COUNTERS, (10, 10))
    one = AtOnce(before.layout, CORES)
    assert one.rates(before, _batch(usual, 102.0)) == pytest.approx(
        [2.5e-6] * 2 + [2.5] * 4 + [1e6] * 2
    )
    assert one.rates(before, _batch(usual | {metric: (10, odd)}, 102.0)) is None


def test_fits_where_all_counters_of_these_cores_are() -> None:
    """And of no other ones."""
    layout = _batch(dict.fromkeys(COUNTERS, (1, 2)), 1.0).layout
    assert AtOnce.fits(layout, CORES)
    assert not AtOnce.fits(layout, CORES[:1])
    assert not AtOnce.fits(layout, ())
    assert not AtOnce.fits(_batch({"core.flops": (1, 2)}, 1.0).layout, CORES)


steps = st.lists(
    st.one_of(
        st.integers(1, 900_000),
        st.sampled_from([0, -5, DENIED, Missing(Why.FAILED, "EIO"), 10**7]),
    ),
    min_size=2,
    max_size=8,
)


@given(steps, steps, st.sampled_from(["2.30.2.0", "2.24.7.0"]))
def test_a_device_is_derived_as_from_two_reads_alone(
    flops: list[Cell], busy: list[Cell], driver: str
) -> None:
    """Read after read, whichever way it goes; memory and power among them."""
    deriver = Deriver()
    before = layout = None
    counts = dict.fromkeys(COUNTERS, 1000)
    for number, (one, other_one) in enumerate(zip(flops, busy, strict=False)):
        cells: dict[str, Cell] = {}
        for metric in COUNTERS:
            step = one if metric == "core.flops" else other_one
            if isinstance(step, int):
                counts[metric] = max(counts[metric] + step, 0)
            cells[metric] = step if isinstance(step, Missing) else counts[metric]
        cells |= {"core.hbm.used": 5 + number, "device.power.epoch": 1_788_000_000 + number}
        now = snapshot(100.0 + number, cells, driver=driver)
        batch = now.batches[0]
        layout = layout or batch.layout
        now = now._replace(batches=(batch._replace(layout=layout),))
        deriver.take(now.batches[0])
        (made,), (anew,) = deriver.batches(now), derive(before, now)
        assert list(map(repr, made.cells)) == list(map(repr, anew.cells))
        assert (made.read_at, made.layout.columns) == (anew.read_at, anew.layout.columns)
        before = now


def test_another_number_of_cores_is_not_taken_for_the_one_before() -> None:
    """A device that is described anew has the rows of its cores of now."""
    deriver = Deriver()
    made = make_batch("derive", {}, 0.0)
    for number in range(4):
        now = snapshot(100.0 + number, dict.fromkeys(COUNTERS, 10 * (number + 1)))
        if number == 3:
            [device] = now.devices
            now = now._replace(devices=(device._replace(cores=device.cores[:1]),))
        deriver.take(now.batches[0])
        [made] = deriver.batches(now)
    assert made.layout.columns["core.flop_rate"].places == CORES[:1]
    assert made.cells[made.layout.rows["core.flop_rate", CORES[0]]] == 10.0
