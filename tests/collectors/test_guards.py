"""What one file says of another: old power figures, a register of ones, zeros nobody read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.catalogue.health import COMPONENTS
from neuron_observer.collectors import guards
from neuron_observer.derive import make_batch
from neuron_observer.model import Batch, Cell, Missing, Place, Why
from neuron_observer.parsers.sysfs import FELL_OFF, NOT_ANSWERING

if TYPE_CHECKING:
    from neuron_observer.collectors.batching import Guard

DEVICE = Place(0)
NOW = 1_788_000_030.0
FIGURES = ("device.power.minimum", "device.power.maximum", "device.power.mean")
DENIED = Missing(Why.DENIED, "EACCES")
UNREADABLE = Missing(Why.FAILED, "empty: the register cannot be read")
BUSY = Missing(Why.FAILED, "busy: 0xdeadbeef")
ECC = (
    "device.sram.ecc_uncorrected",
    "device.hbm.ecc_uncorrected",
    "device.hbm.ecc_repairable_uncorrected",
    "device.sram.ecc_corrected",
    "device.hbm.ecc_corrected",
)


def batch_of(cells: dict[str, Cell]) -> Batch:
    """A batch of one device."""
    return make_batch("sysfs", {metric: [(DEVICE, cell)] for metric, cell in cells.items()}, 0.0)


def guarded(guard: Guard, cells: dict[str, Cell], wall: float = NOW) -> dict[str, Cell]:
    """What a guard makes of these cells; it must leave the list that it was given alone."""
    batch = batch_of(cells)
    given_cells = list(batch.cells)
    trusted = guard(batch.layout, batch.cells, wall)
    assert batch.cells == given_cells
    return {metric: trusted[batch.layout.rows[metric, DEVICE]] for metric in cells}


def power(epoch: Cell) -> dict[str, Cell]:
    """A valid power line of this minute."""
    return {
        "device.power.status": "POWER_STATUS_VALID",
        "device.power.epoch": epoch,
        **dict(zip(FIGURES, (0.0, 2.82, 1.57), strict=True)),
    }


@pytest.mark.parametrize("age", [-120, -1, 0, 59, 119, 120])
def test_figures_of_the_last_two_minutes_are_trusted(age: int) -> None:
    """The driver publishes once a minute: two minutes old is not stale (F03)."""
    cells = power(int(NOW) - age)
    assert guarded(guards.power_age, cells, float(int(NOW))) == cells


@pytest.mark.parametrize("age", [121, 3600, 10**9, -121, -(10**9)])
def test_older_figures_are_stale(age: int) -> None:
    """Sampling stops while a device is not ready, and the line stays; its date is still told."""
    found = guarded(guards.power_age, power(int(NOW) - age), float(int(NOW)))
    for metric in FIGURES:
        cell = found[metric]
        assert isinstance(cell, Missing)
        assert cell.why is Why.STALE
    assert found["device.power.epoch"] == int(NOW) - age
    assert found["device.power.status"] == "POWER_STATUS_VALID"


def test_a_reason_is_not_replaced_by_age() -> None:
    """What was missing for another reason keeps it."""
    invalid = Missing(Why.FAILED, "POWER_STATUS_INVALID")
    cells = power(0) | dict.fromkeys(FIGURES, invalid)
    assert guarded(guards.power_age, cells) == cells


@pytest.mark.parametrize("epoch", [Missing(Why.FAILED, "no number"), "x"])
def test_figures_without_a_date_are_left_alone(epoch: Cell) -> None:
    """Their parser has judged them; there is no age to judge."""
    cells = power(epoch)
    assert guarded(guards.power_age, cells) == cells


@given(st.integers(0, 253_402_300_799), st.floats(0, 4e9))
def test_any_epoch_can_be_judged(epoch: int, wall: float) -> None:
    """No date that the parser lets through, and no clock, makes the guard fail."""
    found = guarded(guards.power_age, power(epoch), wall)
    assert isinstance(found["device.power.mean"], Missing) is (abs(wall - epoch) > 120)


def health(components: Cell, heartbeat: Cell) -> dict[str, Cell]:
    """The firmware's health as read."""
    return {
        "device.health.unhealthy_components": components,
        "device.health.heartbeat": heartbeat,
        "device.health.error_events": 7,
    }


def test_all_components_and_heartbeat_255_are_a_register_of_ones() -> None:
    """Ten faults at once are none: the device fell off the bus. The driver's own count stays."""
    found = guarded(guards.health_cache, health(",".join(COMPONENTS), 255))
    assert found == health(FELL_OFF, FELL_OFF)


@pytest.mark.parametrize(
    ("components", "heartbeat"),
    [
        (",".join(COMPONENTS), 254),
        (",".join(COMPONENTS[1:]), 255),
        ("", 255),
        ("hbm", 255),
        ("", 0),
        (",".join(COMPONENTS), Missing(Why.FAILED, "no number")),
        (Missing(Why.FAILED, "device_unreachable"), 255),
    ],
)
def test_other_health_is_left_alone(components: Cell, heartbeat: Cell) -> None:
    """255 is a beat like any other, and nine components are nine faults."""
    cells = health(components, heartbeat)
    assert guarded(guards.health_cache, cells) == cells


CACHED = (
    "device.health.sram_errors",
    "device.health.hbm_errors",
    "device.health.hbm_repairable_errors",
)


def test_cached_counts_that_are_all_at_their_largest_are_no_errors() -> None:
    """2.28 and 2.29 keep what the registers read: all ones of a device that fell off the bus."""
    ones: dict[str, Cell] = dict(zip(CACHED, (65_535, 60, 16_380), strict=True))
    assert guarded(guards.health_cache, ones) == dict.fromkeys(CACHED, FELL_OFF)


@pytest.mark.parametrize(
    "counts", [(65_535, 0, 0), (0, 60, 16_380), (65_535, 60, 16_379), (1, 2, 3)]
)
def test_cached_counts_of_errors_are_left_alone(counts: tuple[int, ...]) -> None:
    """One that is at its largest is one that is full."""
    cells: dict[str, Cell] = dict(zip(CACHED, counts, strict=True))
    assert guarded(guards.health_cache, cells) == cells


def registers(serial: Cell, version: Cell, *ecc: Cell) -> dict[str, Cell]:
    """The registers of one device, read in one round."""
    return {
        "device.serial": serial,
        "device.firmware.api_version": version,
        **dict(zip(ECC, ecc, strict=True)),
    }


SERIAL = "1af488531d73e1a4"


@pytest.mark.parametrize("ecc", [(0,) * 5, (1, 2, 3, 4, 5)])
def test_counts_beside_a_serial_number_are_trusted(ecc: tuple[int, ...]) -> None:
    """Zero errors are zero errors where the registers are readable."""
    cells = registers(SERIAL, 6, *ecc)
    assert guarded(guards.registers, cells) == cells


@pytest.mark.parametrize("witness", ["serial", "version"])
@pytest.mark.parametrize("reason", [UNREADABLE, BUSY, NOT_ANSWERING])
def test_a_zero_beside_an_unreadable_register_is_no_zero(witness: str, reason: Missing) -> None:
    """From 2.25.4 on an unreadable ECC register prints 0 without a word."""
    serial, version = (reason, 6) if witness == "serial" else (SERIAL, reason)
    found = guarded(guards.registers, registers(serial, version, 0, 0, 3, 0, 0))
    for metric in ECC:
        cell = found[metric]
        if metric == "device.hbm.ecc_repairable_uncorrected":
            assert cell == 3
            continue
        assert isinstance(cell, Missing)
        assert cell.why is Why.FAILED
        assert reason.detail in cell.detail


@pytest.mark.parametrize(("serial", "version"), [(FELL_OFF, 6), (SERIAL, FELL_OFF)])
def test_no_count_of_a_device_off_the_bus_is_trusted(serial: Cell, version: Cell) -> None:
    """131,070 or 60 are sums of ones there, not errors."""
    found = guarded(guards.registers, registers(serial, version, FELL_OFF, 60, 16380, 0, 1))
    assert [found[metric] for metric in ECC] == [FELL_OFF] * 5


@pytest.mark.parametrize("serial", [FELL_OFF, UNREADABLE])
def test_another_reason_of_a_count_is_kept(serial: Missing) -> None:
    """A count that this user may not read, or that this driver lacks, says so also then."""
    unsupported = Missing(Why.UNSUPPORTED, "needs driver 2.30.2")
    found = guarded(guards.registers, registers(serial, 6, 0, 0, 0, unsupported, DENIED))
    assert found["device.sram.ecc_corrected"] == unsupported
    assert found["device.hbm.ecc_corrected"] == DENIED


@pytest.mark.parametrize(
    "witness",
    [DENIED, Missing(Why.UNSUPPORTED, "Inferentia does not have it"), Missing(Why.NOT_YET, "soon")],
)
def test_a_witness_that_nobody_asked_says_nothing(witness: Missing) -> None:
    """Denied, unsupported and not yet read are no sign of a sick device."""
    cells = registers(witness, witness, 0, 0, 0, 0, 0)
    assert guarded(guards.registers, cells) == cells


def test_slow_zeros_are_no_zeros() -> None:
    """Drivers up to 2.24.7 wait for seconds and then print 0 for a register they cannot read."""
    batch = batch_of(registers(SERIAL, DENIED, 0, 2, 0, DENIED, DENIED))
    rows = batch.layout.rows
    slow = [rows[metric, DEVICE] for metric in (*ECC[:2], "device.serial")]
    before = list(batch.cells)
    trusted = guards.slow_zeros(batch.layout, batch.cells, slow)
    assert batch.cells == before
    changed = {row for row in range(len(before)) if trusted[row] != before[row]}
    assert changed == {rows["device.sram.ecc_uncorrected", DEVICE]}
    cell = trusted[rows["device.sram.ecc_uncorrected", DEVICE]]
    assert isinstance(cell, Missing)
    assert cell.why is Why.FAILED


def test_quick_zeros_are_zeros() -> None:
    """Nothing slow, nothing changed."""
    batch = batch_of(registers(SERIAL, DENIED, 0, 0, 0, DENIED, DENIED))
    assert guards.slow_zeros(batch.layout, batch.cells, []) == batch.cells


@pytest.mark.parametrize("guard", [guards.power_age, guards.health_cache, guards.registers])
def test_a_guard_without_its_rows_does_nothing(guard: Guard) -> None:
    """A batch of other metrics passes."""
    cells: dict[str, Cell] = {"device.name": "Trainium2"}
    assert guarded(guard, cells) == cells
