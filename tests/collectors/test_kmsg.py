"""The kernel log collector."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.clock import SystemClock
from neuron_observer.collectors.kmsg import (
    BURST,
    Classified,
    Cursor,
    KernelLogCollector,
    LookBack,
    OwnReads,
)
from neuron_observer.model import NODE, Place
from neuron_observer.sources.kernel import open_kernel_log
from neuron_observer.sources.lines import LineCounts

if TYPE_CHECKING:
    from neuron_observer.parsers.kmsg import KernelRecord

BOOT = "0c8e4a1e-7f3a-4c58-9f0b-5a3c9b1d2e4f"
BOOTED = 1_795_000_000.0  # wall clock
NOW = BOOTED + 1000.0


class Lines:
    """A source that gives what it is told to."""

    def __init__(self, *lines: bytes) -> None:
        self.name = "lines"
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self.waiting = list(lines)

    def poll(self, limit: int) -> list[bytes]:
        """The next lines."""
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken

    def fileno(self) -> int | None:
        """None."""
        return None

    def close(self) -> None:
        """Nothing to do."""


def look_back(cursor: Cursor | None = None, seconds: float | None = None) -> LookBack:
    """A known boot."""
    return LookBack(lambda: BOOT, lambda: BOOTED, cursor, seconds)


def record(sequence: int, text: str = "x", seconds: float = 900.0, priority: int = 6) -> bytes:
    """A record of /dev/kmsg."""
    return f"{priority},{sequence},{int(seconds * 1e6)},-;{text}".encode()


def hardware_lines(found: KernelRecord) -> Classified | None:
    """A matcher that knows one word."""
    if "NEURON_HW_ERR" not in found.message:
        return None
    return Classified("hw-error", Place(device=3), found.message, {"code": "DMA_ERROR"})


def test_known_lines_become_events_with_their_origin() -> None:
    """Kind, place and text by the matcher; time, printer, level and number by us."""
    source = Lines(
        record(1, "noise"),
        record(2, "NEURON_HW_ERR=DMA_ERROR", seconds=950.5, priority=3),
        record(3, "NEURON_HW_ERR=DMA_ERROR", seconds=960.0, priority=12),
    )
    batch = KernelLogCollector(source, look_back(), classify=hardware_lines).collect(NOW)
    assert [event.kind for event in batch.events] == ["hw-error", "hw-error"]
    first, second = batch.events
    assert (first.place, first.at, first.message) == (
        Place(device=3),
        BOOTED + 950.5,
        "NEURON_HW_ERR=DMA_ERROR",
    )
    assert first.fields == {
        "code": "DMA_ERROR",
        "printed_by": "kernel",
        "level": 3,
        "sequence": 2,
        "ours": 0,
    }
    assert second.fields["printed_by"] == "user"
    assert len(batch.records) == 3


def test_without_a_matcher_there_are_records_and_no_events() -> None:
    """What a line means is not known here."""
    batch = KernelLogCollector(Lines(record(1, "NEURON_HW_ERR")), look_back()).collect(NOW)
    assert (len(batch.records), batch.events) == (1, ())


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(1, 50))
def test_every_record_is_read_or_lost(numbers: set[int], limit: int) -> None:
    """Gaps in the sequence are what the kernel overwrote, however it is collected."""
    source = Lines(*(record(number) for number in sorted(numbers)))
    collector = KernelLogCollector(source, look_back(), limit=limit)
    batch = collector.collect(NOW)
    while source.waiting:
        batch = collector.collect(NOW)
    assert batch.counts.read == len(numbers)
    assert batch.counts.read + batch.counts.lost == max(numbers) - min(numbers) + 1


def test_what_we_dropped_ourselves_is_not_lost_by_the_kernel() -> None:
    """The two are told apart: one is our bound, the other the kernel's."""
    source = Lines(record(1), record(11))
    source.counts.dropped = 6
    counts = KernelLogCollector(source, look_back()).collect(NOW).counts
    assert (counts.dropped, counts.lost) == (6, 3)


def test_a_restart_in_the_same_boot_goes_on_where_it_was() -> None:
    """Known records are skipped; those that were overwritten meanwhile are lost."""
    first = KernelLogCollector(Lines(record(1), record(2)), look_back())
    first.collect(NOW)
    assert first.cursor == Cursor(BOOT, 2, 900.0)
    source = Lines(record(1), record(2), record(3, "new"))
    again = KernelLogCollector(source, look_back(first.cursor)).collect(NOW)
    assert [found.message for found in again.records] == ["new"]
    assert (again.counts.skipped, again.counts.lost) == (2, 0)
    late = KernelLogCollector(Lines(record(40)), look_back(first.cursor)).collect(NOW)
    assert (late.counts.read, late.counts.lost) == (1, 37)


def test_after_a_reboot_the_old_cursor_says_nothing() -> None:
    """Sequence numbers start again: nothing is skipped, nothing lost."""
    cursor = Cursor("another boot", 4711, 86_400.0)
    batch = KernelLogCollector(Lines(record(0), record(1)), look_back(cursor)).collect(NOW)
    assert (batch.counts.read, batch.counts.skipped, batch.counts.lost) == (2, 0, 0)


def test_without_a_boot_id_there_is_no_cursor() -> None:
    """A place in a log of an unknown boot must not be stored."""
    unknown = LookBack(lambda: None, lambda: None, Cursor(BOOT, 5, 1.0))
    collector = KernelLogCollector(Lines(record(3)), unknown)
    assert collector.collect(NOW).counts.read == 1
    assert collector.cursor is None


def test_lines_without_numbers_are_resumed_by_time() -> None:
    """syslog(2) and `dmesg` have only the time since boot."""
    lines = (b"<6>[  899.000000] old", b"<6>[  900.000000] known", b"<6>[  900.000001] new")
    batch = KernelLogCollector(Lines(*lines), look_back(Cursor(BOOT, None, 900.0))).collect(NOW)
    assert [found.message for found in batch.records] == ["new"]


def test_the_look_back_is_bounded_in_seconds() -> None:
    """Records older than that, at the start, are skipped and counted; later ones never."""
    source = Lines(record(1, seconds=100.0), record(2, seconds=950.0))
    collector = KernelLogCollector(source, look_back(seconds=300.0))
    batch = collector.collect(NOW)
    assert [found.sequence for found in batch.records] == [2]
    assert (batch.counts.skipped, batch.counts.lost) == (1, 0)
    source.waiting = [record(3, seconds=951.0)]
    assert collector.collect(NOW + 100_000).counts.read == 2


def test_lines_that_our_reads_caused_are_ours() -> None:
    """Such a text, in the time of such a read; a fault in that time is not ours."""
    own = OwnReads(slack=2.0)
    own.add(900.0, 915.0)
    source = Lines(
        record(1, "sysfs failed to read ECC SRAM error from FWIO", 905.0),
        record(2, "neuron:fw_io_execute_request: seq: 3, cmd: 1 timed out", 916.5),
        record(3, "NEURON_HW_ERR=DMA_ERROR", 905.0, 3),
        record(4, "sysfs failed to read ECC SRAM error from FWIO", 930.0),
        record(5, "neuron:fw_io_ecc_read: failed to get ecc error count from the device", 890.0),
    )
    collector = KernelLogCollector(source, look_back(), own_read=own, classify=hardware_lines)
    batch = collector.collect(NOW)
    ours = [found.sequence for at, found in enumerate(batch.records) if at in batch.ours]
    assert ours == [1, 2]
    assert batch.counts.ours == 2
    assert batch.events[0].fields["ours"] == 0


def test_the_memory_of_our_reads_is_bounded() -> None:
    """Old windows go."""
    own = OwnReads(slack=0.0, most=10)
    for second in range(1000):
        own.add(second, second + 0.5)
    assert own(999.2)
    assert not own(999.7)
    assert not own(5.2)


def test_a_flood_of_events_is_limited_by_kind_and_place() -> None:
    """A thousand equal lines give a few events, the latest and a count; others stay."""

    def classify(found: KernelRecord) -> Classified:
        return Classified(found.message, NODE, found.message, {})

    lines = [record(number, "flood", seconds=number / 2) for number in range(1000)]
    source = Lines(*lines, record(1000, "fault"))
    batch = KernelLogCollector(source, look_back(), classify=classify).collect(NOW)
    kinds = [event.kind for event in batch.events]
    assert (kinds.count("flood"), kinds.count("fault")) == (BURST + 1, 1)
    assert batch.counts.suppressed == 1000 - BURST - 1
    times = [event.at - BOOTED for event in batch.events]
    assert times == [*(number / 2 for number in range(BURST)), 499.5, 900.0]


def test_one_collection_is_bounded() -> None:
    """What is above the limit waits; nothing is lost by it."""
    source = Lines(*(record(number) for number in range(100)))
    collector = KernelLogCollector(source, look_back(), limit=60)
    assert len(collector.collect(NOW).records) == 60
    assert len(collector.collect(NOW).records) == 40


def test_times_never_lie_in_the_future_and_are_ours_where_unknown() -> None:
    """The kernel's clock may be ahead; a plain line has the time at which it was read."""
    source = Lines(
        record(1, "NEURON_HW_ERR", seconds=1002.0),
        b"NEURON_HW_ERR",
        b'{"MESSAGE": "NEURON_HW_ERR", "__REALTIME_TIMESTAMP": "1795000500000000"}',
    )
    batch = KernelLogCollector(source, look_back(), classify=hardware_lines).collect(NOW)
    assert [event.at for event in batch.events] == [1_795_000_500.0, NOW, NOW]
    assert batch.events[0].fields["printed_by"] == "unknown"


def test_an_unreadable_log_is_told() -> None:
    """The reason stands in the batch, beside the empty records."""
    source = Lines()
    source.error = "Operation not permitted"
    assert KernelLogCollector(source, look_back()).collect(NOW).error == source.error


def test_nothing_new_is_the_same_batch() -> None:
    """As long as nothing else is to be said: a drop, an error."""
    source = Lines(record(1))
    collector = KernelLogCollector(source, look_back())
    first = collector.collect(NOW)
    quiet = collector.collect(NOW)
    assert quiet is not first
    assert (quiet.records, quiet.counts.read) == ((), 1)
    assert collector.collect(NOW) is quiet
    source.counts.dropped = 3
    dropped = collector.collect(NOW)
    assert (dropped.counts.dropped, quiet.counts.dropped) == (3, 0)
    assert collector.collect(NOW) is dropped
    source.error = "Input/output error"
    assert collector.collect(NOW).error == source.error
    source.waiting = [record(2)]
    assert collector.collect(NOW).counts.read == 2


def test_counts_that_were_handed_out_do_not_change() -> None:
    """A batch may be kept in the history."""
    source = Lines(record(1))
    collector = KernelLogCollector(source, look_back())
    before = collector.collect(NOW)
    source.waiting = [record(2)]
    collector.collect(NOW)
    assert before.counts.read == 1


@pytest.mark.parametrize("copies", [1, 3])
def test_the_kernel_log_of_this_machine_or_a_file_like_it(tmp_path: Path, copies: int) -> None:
    """From the device (where it may be written) to an event, and once only."""
    mark = f"neuron-observer test {uuid.uuid4()}"  # harmless where an agent reads the log too
    real = os.access("/dev/kmsg", os.R_OK | os.W_OK)
    root = Path("/") if real else tmp_path
    if not real:
        (tmp_path / "dev").mkdir()

    def classify(found: KernelRecord) -> Classified | None:
        return Classified("ours", NODE, found.message, {}) if mark in found.message else None

    clock = SystemClock()
    with (root / "dev/kmsg").open("w") as log:
        for number in range(copies):
            log.write(f"<11>{mark}\n" if real else f"11,{number},2,-;{mark}\n")
            log.flush()
    source = open_kernel_log(str(root))
    here = LookBack(
        lambda: BOOT, lambda: clock.wall() - clock.monotonic(), seconds=60.0 if real else None
    )
    collector = KernelLogCollector(source, here, classify=classify)
    batch = collector.collect(clock.wall())
    mine = [event for event in batch.events if mark in event.message]
    assert len(mine) == copies
    assert {event.fields["printed_by"] for event in mine} == {"user"}
    assert collector.cursor is not None
    again = KernelLogCollector(
        open_kernel_log(str(root)),
        LookBack(here.boot_id, here.boot_time, collector.cursor),
        classify=classify,
    )
    assert not [e for e in again.collect(clock.wall()).events if mark in e.message]
    source.close()
    again._source.close()
