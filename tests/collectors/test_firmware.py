"""Firmware registers: deadlines, back-off, unreadable values, one device at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from neuron_observer.collectors.firmware import LONGEST_BACK_OFF, PERIOD, FirmwareCollector
from neuron_observer.collectors.plan import Plan
from neuron_observer.collectors.sysfs import plan_devices
from neuron_observer.collectors.topology import read_topology
from neuron_observer.model import Missing, Place, Value, Why
from neuron_observer.readings import reading
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.workers import Answer, DirectWorkers, Request, read_files
from tests.hosts import DEVICE, changed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from neuron_observer.clock import ManualClock
    from neuron_observer.model import Batch, Reading
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.listing import ListingFs
    from neuron_observer.sources.workers import Workers


class StuckWorkers:
    """Workers of which some devices never answer; waiting for them moves the clock."""

    def __init__(self, host: HostFs, clock: ManualClock, stuck: set[int]) -> None:
        self.host, self.clock, self.stuck = host, clock, stuck
        self.owed: set[int] = set()
        self.answers: dict[int, Answer] = {}

    def submit(self, device: int, request: Request) -> bool:
        """A stuck device takes one request and no second."""
        if device in self.owed:
            return False
        if device in self.stuck:
            self.owed.add(device)
        else:
            self.answers[device] = read_files(self.host, self.clock, request)
        return True

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """What is there; the whole deadline passes if somebody is stuck."""
        if self.owed & set(devices):
            self.clock.advance(seconds)
        return {d: self.answers.pop(d) for d in devices if d in self.answers}

    def close(self) -> None:
        """Nothing to do."""


def _collector(host: HostFs, clock: ManualClock, workers: Workers) -> FirmwareCollector:
    plans = plan_devices(host, read_topology(host), {})
    firmware = {n: (device, lanes.get("firmware", Plan())) for n, (device, lanes) in plans.items()}
    return FirmwareCollector(host, clock, workers, firmware)


def _get(batches: list[Batch], metric: str, device: int = 0) -> Reading:
    return reading(batches, metric, Place(device))


def _value(batches: list[Batch], metric: str, device: int = 0) -> object:
    found = _get(batches, metric, device)
    assert isinstance(found, Value), found
    return found.value


def test_one_stuck_device_delays_only_itself(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """The stuck device is stale and not answering; the other fifteen have their values."""
    host = tree("trn2.48xlarge-2.30.2-busy")
    workers = StuckWorkers(host, clock, {5})
    batches = _collector(host, clock, workers).poll()
    stuck = _get(batches, "device.sram.ecc_uncorrected", 5)
    assert stuck == Missing(Why.STALE, "no answer for 10.0 s")
    assert _value(batches, "device.firmware.answering", 5) == 0
    assert _value(batches, "device.firmware.read_seconds", 5) == 10.0
    for other in set(range(16)) - {5}:
        assert _value(batches, "device.sram.ecc_uncorrected", other) == 0
        assert _value(batches, "device.firmware.answering", other) == 1


def test_a_one_shot_waits_once_for_a_stuck_device(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """The second of its two reads does not wait another deadline for what hangs already."""
    host = tree("trn2.48xlarge-2.30.2-busy")
    collector = _collector(host, clock, StuckWorkers(host, clock, {5}))
    begin = clock.monotonic()
    collector.poll()
    clock.advance(0.3)
    collector.poll()
    assert round(clock.monotonic() - begin, 6) == 10.3


def test_a_stuck_device_is_asked_less_and_less(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Told after 1 s and at the deadline; back-off doubles to five minutes, a good read ends it."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    workers = StuckWorkers(host, clock, {0})
    collector = _collector(host, clock, workers)
    asked = []
    for _ in range(1_300):
        if collector.poll(wait=0.0):
            asked.append(clock.monotonic())
        clock.advance(1.0)
    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert pauses == [9, 20, 40, 80, 160, LONGEST_BACK_OFF, LONGEST_BACK_OFF, LONGEST_BACK_OFF]
    workers.stuck.clear()
    workers.owed.clear()
    clock.advance(LONGEST_BACK_OFF)
    assert _value(collector.poll(), "device.firmware.answering") == 1
    clock.advance(PERIOD)
    assert len(collector.poll()) == 1


@pytest.mark.parametrize(
    ("contents", "detail"),
    [
        ({"serial_number": b"\n"}, "unreadable: empty: the register cannot be read"),
        ({"fw_api_version": b"busy\n"}, "unreadable: busy: 0xdeadbeef"),
        ({"serial_number": b"f" * 16 + b"\n"}, "all ones: the device fell off the bus"),
    ],
)
def test_zero_beside_an_unreadable_register_is_no_zero(
    contents: dict[str, bytes],
    detail: str,
    tree: Callable[[str], ListingFs],
    clock: ManualClock,
) -> None:
    """An ECC count of 0 is believed only if the serial number and firmware version read back."""
    host = changed(tree("trn2.3xlarge-2.30.2-busy"), **contents)
    batches = _collector(host, clock, DirectWorkers(host, clock)).poll()
    for metric in ("device.sram.ecc_uncorrected", "device.hbm.ecc_uncorrected"):
        found = _get(batches, metric)
        assert isinstance(found, Missing)
        assert found.why is Why.FAILED
        assert found.detail.startswith(detail)


def test_fallen_off_the_bus_gives_no_counts(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """The numbers that all ones print as (65535, 60, 16380, 4294967295) are not counted."""
    host = changed(
        tree("trn2.3xlarge-2.30.2-busy"),
        serial_number=b"ffffffffffffffff\n",
        sram_ecc_uncorrected=b"65535\n",
        mem_ecc_uncorrected=b"60\n",
        mem_ecc_repairable_uncorrected=b"16380\n",
        sram_ecc_corrected=b"65535\n",
        mem_ecc_corrected=b"65535\n",
        fw_api_version=b"4294967295\n",
    )
    batches = _collector(host, clock, DirectWorkers(host, clock)).poll()
    gone = Missing(Why.FAILED, "all ones: the device fell off the bus")
    metrics = [m for m in batches[0].layout.columns if ".ecc_" in m or m == "device.serial"]
    assert len(metrics) == 6
    assert [_get(batches, metric) for metric in metrics] == [gone] * 6
    assert _value(batches, "device.firmware.answering") == 0


def test_a_slow_zero_is_no_zero(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """On a blocking driver the unreadable register takes 15 s and prints 0."""
    host = tree("trn2.48xlarge-2.24.7-idle")
    path = f"{DEVICE}/stats/hardware/sram_ecc_uncorrected"
    slow = FaultyFs(host, {path: Fault(then=lambda: clock.advance(15.0))})
    batches = _collector(slow, clock, DirectWorkers(slow, clock)).poll()
    found = _get(batches, "device.sram.ecc_uncorrected")
    assert found == Missing(Why.FAILED, "unreadable: the read took long and gave 0")
    assert _value(batches, "device.hbm.ecc_uncorrected") == 0
    assert _value(batches, "device.firmware.answering") == 0
    assert _value(batches, "device.firmware.read_seconds") == 15.0
    assert _value(batches, "device.sram.ecc_uncorrected", 1) == 0


def test_errno_becomes_a_reason(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """EIO on one register costs that register only."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    path = f"{DEVICE}/stats/hardware/mem_ecc_uncorrected"
    broken = FaultyFs(host, {path: Fault(error=5)})
    batches = _collector(broken, clock, DirectWorkers(broken, clock)).poll()
    assert _get(batches, "device.hbm.ecc_uncorrected") == Missing(Why.FAILED, "EIO")
    assert _value(batches, "device.sram.ecc_uncorrected") == 0


def test_nobody_waits_for_a_read_that_is_owed(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Without waiting, a read stays owed over polls: slow after 1 s, late after its deadline."""
    host = tree("trn2.48xlarge-2.30.2-busy")
    workers = StuckWorkers(host, clock, {5})
    collector = _collector(host, clock, workers)
    begin = clock.monotonic()
    first = collector.poll(wait=0.0)
    assert {batch.device for batch in first} == set(range(16)) - {5}
    clock.advance(0.9)
    assert collector.poll(wait=0.0) == []
    clock.advance(0.1)
    (slow,) = collector.poll(wait=0.0)
    assert _value([slow], "device.firmware.answering", 5) == 0
    assert _value([slow], "device.firmware.read_seconds", 5) == 1.0
    slowly = Missing(Why.STALE, "the read takes long: 1.0 s so far")
    assert _get([slow], "device.serial", 5) == slowly
    clock.advance(8.9)
    assert collector.poll(wait=0.0) == []
    clock.advance(0.1)
    late = [batch for batch in collector.poll(wait=0.0) if batch.device == 5]
    assert _get(late, "device.serial", 5) == Missing(Why.STALE, "no answer for 10.0 s")
    assert clock.monotonic() == begin + 10.0
    workers.owed.clear()
    workers.answers[5] = read_files(host, clock, collector._requests[5])
    back = [batch for batch in collector.poll(wait=0.0) if batch.device == 5]
    assert _value(back, "device.firmware.answering", 5) == 1


def test_what_was_read_stays_while_the_next_read_takes_long(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Up to the deadline: its value and its time are those of the read before."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    workers = StuckWorkers(host, clock, set())
    collector = _collector(host, clock, workers)
    (first,) = collector.poll(wait=0.0)
    workers.stuck.add(0)
    clock.advance(PERIOD)
    assert collector.poll(wait=0.0) == []
    clock.advance(1.0)
    (slow,) = collector.poll(wait=0.0)
    assert _get([slow], "device.serial") == _get([first], "device.serial")
    assert slow.read_at == first.read_at
    assert _value([slow], "device.firmware.answering") == 0
    assert {slow.cells[row] for row in slow.changed} == {1.0, 0}
    clock.advance(9.0)
    (late,) = collector.poll(wait=0.0)
    assert _get([late], "device.serial") == Missing(Why.STALE, "no answer for 10.0 s")


def test_an_answer_that_came_while_we_were_stopped_is_in_time(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Its worker was stopped with us: it gets a moment before its device is said to hang."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    workers = LateWorkers(host, clock, {0})
    collector = _collector(host, clock, workers)
    collector.poll(wait=0.0)
    workers.late = read_files(host, clock, collector._requests[0])
    clock.advance(60.0)
    batches = collector.poll(wait=0.0)
    assert [_value([batch], "device.firmware.answering") for batch in batches] == [1]


class LateWorkers(StuckWorkers):
    """Workers that answer a moment after they were woken."""

    late: Answer | None = None

    def gather(self, devices: Collection[int], seconds: float) -> dict[int, Answer]:
        """Nothing at once; a moment later the answer."""
        if self.late and seconds:
            self.owed.clear()
            return dict.fromkeys(devices, self.late)
        return super().gather(devices, seconds)


def test_a_device_in_reset_is_not_asked(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """While `reset` reads 0 the registers read 0xdeadbeef; nothing is read and nothing is 0."""
    host = changed(tree("trn2.3xlarge-2.30.2-busy"), reset=b"0\n")
    batches = _collector(host, clock, StuckWorkers(host, clock, {0})).poll()
    found = _get(batches, "device.sram.ecc_uncorrected")
    assert found == Missing(Why.NOT_YET, "the device is being reset")
