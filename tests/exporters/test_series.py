"""From readings to series: labels, values in base units, what is missing, what stands twice."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf, nan
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.catalogue import METRICS
from neuron_observer.exporters.series import (
    DETAILS,
    Sample,
    blocks,
    labels_of,
    samples,
    scaled,
    shown,
)
from neuron_observer.model import NODE, Missing, Place, Why
from tests.exporters.feeds import batch

if TYPE_CHECKING:
    from neuron_observer.model import Batch, Cell

FULL = shown("full")
GONE = Missing(Why.FAILED, "gone")


def series(*batches: Batch) -> dict[str, list[Sample]]:
    """Samples by the name that they carry."""
    found: dict[str, list[Sample]] = {}
    for one, of in zip(batches, blocks(batches, FULL), strict=True):
        for block in of:
            cells = [one.cells[row] for row in block.rows]
            found.setdefault(block.family.sample_name, []).extend(samples(block, cells))
    return {name: of for name, of in found.items() if of}


@pytest.mark.parametrize(
    ("metric", "place", "labels"),
    [
        ("host.cpus", NODE, {}),
        ("device.utilization", Place(3), {"neuron_device": "3"}),
        ("core.inferences", Place(3, 7), {"neuron_device": "3", "neuron_core": "7"}),
        (
            "efa.port.tx_bytes",
            Place(label="rdmap16s25/1"),
            {"port": "rdmap16s25/1"},
        ),
        ("efa.failed_commands", Place(label="rdmap16s25"), {"efa": "rdmap16s25"}),
        ("disk.reads", Place(label="nvme0n1"), {"disk": "nvme0n1"}),
        ("pci.enabled", Place(label="0000:a0:1c.0"), {"pci": "0000:a0:1c.0"}),
        (
            "sensor.temperature",
            Place(2, None, "temp1"),
            {"neuron_device": "2", "sensor": "temp1"},
        ),
        ("runtime.memory.host", Place(label="pid17"), {"runtime": "pid17"}),
        (
            "logical_core.utilization",
            Place(1, None, "lnc2/core5"),
            {"neuron_device": "1", "logical_core": "lnc2/core5"},
        ),
        (
            "device.hbm.ecc_corrected",
            Place(0),
            {"neuron_device": "0", "memory": "hbm", "error": "corrected"},
        ),
    ],
)
def test_labels(metric: str, place: Place, labels: dict[str, str]) -> None:
    """A place is told by device and core, else by the label that its scope is called."""
    assert labels_of(METRICS[metric], place) == tuple(sorted(labels.items()))


def test_what_is_missing_is_no_series() -> None:
    """Neither 0 nor NaN; nor is a number that is none."""
    cells: list[tuple[Place, Cell]] = [
        (Place(0), GONE),
        (Place(1), nan),
        (Place(2), inf),
        (Place(3), "busy"),
        (Place(4), 0),
    ]
    found = series(batch({"device.hbm.used": cells}))
    assert found == {"neuron_device_hbm_used_bytes": [Sample((("neuron_device", "4"),), 0)]}


def test_of_two_batches_with_one_reading_the_last_counts() -> None:
    """Else a page would have one series twice; missing in the last is missing."""
    first = batch({"host.cpus": [(NODE, 4)], "host.tasks.total": [(NODE, 90)]})
    last = batch({"host.cpus": [(NODE, 8)], "host.tasks.total": [(NODE, GONE)]})
    assert series(first, last) == {"neuron_host_cpus": [Sample((), 8)]}


def test_info_joins_the_rows_of_a_place() -> None:
    """One series a place, a label a row that is there, numbers as text."""
    rows: dict[str, list[tuple[Place, Cell]]] = {
        "device.name": [(Place(0), "Trainium2"), (Place(1), GONE)],
        "device.core_count": [(Place(0), 8), (Place(1), 8)],
        "device.serial": [(Place(0), GONE), (Place(1), GONE)],
        "device.connected_devices": [(Place(0), ""), (Place(1), GONE)],
    }
    assert series(batch(rows)) == {
        "neuron_device_identity_info": [
            Sample(
                (
                    ("connected_devices", ""),
                    ("core_count", "8"),
                    ("name", "Trainium2"),
                    ("neuron_device", "0"),
                ),
                1,
            ),
            Sample((("core_count", "8"), ("neuron_device", "1")), 1),
        ]
    }


def test_a_limit_is_a_number_not_a_label() -> None:
    """The highest link speed is held against the speed now: both are values in the same unit."""
    rows: dict[str, list[tuple[Place, Cell]]] = {
        "pci.link_speed": [(Place(label="a"), 8.0)],
        "pci.link_speed_maximum": [(Place(label="a"), 16.0)],
    }
    found = series(batch(rows))
    assert found["neuron_pci_link_speed_transfers_per_second"][0].value == 8e9
    assert found["neuron_pci_link_speed_maximum_transfers_per_second"][0].value == 16e9


def test_states() -> None:
    """Every known word is a series; several may hold; an unknown one is shown, not lost."""
    name = "neuron_device_health_unhealthy_components"
    text = "sram,link_efa,warp_core"
    rows: dict[str, list[tuple[Place, Cell]]] = {
        "device.health.unhealthy_components": [(Place(0), text), (Place(1), ""), (Place(2), GONE)]
    }
    found = series(batch(rows))[name]
    holds = {
        (dict(labels)["neuron_device"], dict(labels)[name]) for labels, value in found if value
    }
    assert holds == {("0", "sram"), ("0", "link_efa"), ("0", "warp_core")}
    assert len(found) == 11 + 10
    assert {dict(labels)["neuron_device"] for labels, _ in found} == {"0", "1"}


def test_words_that_nobody_knows_are_not_exported() -> None:
    """A text without known words has no number."""
    assert series(batch({"device.thermal.throttle": [(Place(0), "on")]})) == {}


@settings(max_examples=60)
@given(st.integers(0, 2**64 - 1), st.sampled_from([512.0, 125e6, 1e9]))
def test_whole_numbers_stay_whole(value: int, scale: float) -> None:
    """No digit of a 64-bit counter is lost by a factor."""
    assert scaled(value, scale) == value * int(scale)
    assert isinstance(scaled(value, scale), int)
    assert scaled(value, 1.0) == value


@settings(max_examples=100)
@given(st.integers(0, 2**64 - 1), st.sampled_from([(1e-6, 10**6), (1e-3, 10**3), (0.01, 100)]))
def test_parts_are_the_nearest_double(value: int, scale: tuple[float, int]) -> None:
    """1234567 µs are 1.234567 s and not 1.2345669999999999."""
    assert scaled(value, scale[0]) == float(Fraction(value, scale[1]))


@settings(max_examples=100)
@given(st.integers(0, 10_000))
def test_percent_has_the_digits_that_the_driver_printed(hundredths: int) -> None:
    """72.53 % are 0.7253."""
    assert scaled(hundredths / 100, 0.01) == hundredths / 10_000


def test_details_only_add() -> None:
    """Each level has the families of the one below and more."""
    names = [{family.name for family in shown(detail)} for detail in DETAILS]
    for less, more in pairwise(names):
        assert less < more


def test_a_family_may_have_fewer_rows_below_full() -> None:
    """Of 24 ways that an execution ends, five stand at each core unless all is asked for."""
    rows = {
        detail: next(f for f in shown(detail) if f.name == "neuron_execution_status").rows
        for detail in DETAILS[2:]
    }
    assert [len(of) for of in rows.values()] == [5, 24]
