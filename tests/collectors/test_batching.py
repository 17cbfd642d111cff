"""A batch: bytes are compared, the changed ones parsed, and one bad file costs only itself."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.health import COMPONENTS
from neuron_observer.clock import ManualClock
from neuron_observer.collectors import guards
from neuron_observer.collectors.batching import (
    Absent,
    BatchName,
    FileBatch,
    FileRead,
    Target,
    missing_for,
    source_prefix,
)
from neuron_observer.model import Batch, Cell, Layout, Missing, Place, Why
from neuron_observer.parsers.sysfs import FELL_OFF
from neuron_observer.readings import reading
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.filesets import MANY
from neuron_observer.sources.hostfs import DirectoryFs
from tests.hosts import host_of

if TYPE_CHECKING:
    from neuron_observer.collectors.batching import Guard
    from neuron_observer.sources.hostfs import HostFs

BASE = "sys/devices/virtual/neuron_device/neuron0"
NAME = BatchName("sysfs", "normal", 0)
DEVICE, CORE = Place(0), Place(0, 0)
COUNTERS = ("success", "failure", "timeout")


def target(metric: str, place: Place = CORE, limit: int | None = None) -> Target:
    """A cell of a metric, from its first source, with the catalogue's limit if none is given."""
    spec = METRICS[metric]
    return Target(spec, spec.sources[0], place, spec.limit if limit is None else limit)


def counters(
    host: HostFs,
    *,
    guard: Guard | None = None,
    absent: tuple[Absent, ...] = (),
    limit: int | None = None,
) -> FileBatch:
    """Three execution counters of one core."""
    files = [FileRead(name, (target(f"core.execution.{name}", limit=limit),)) for name in COUNTERS]
    return FileBatch(NAME, host, BASE, files, absent=absent, guard=guard)


def host(**contents: bytes) -> FaultyFs:
    """The device's folder with the three counters, 1 to 3 unless told otherwise."""
    files = {f"{BASE}/{name}": b"%d\n" % number for number, name in enumerate(COUNTERS, start=1)}
    files |= {f"{BASE}/{name}": content for name, content in contents.items()}
    return FaultyFs(host_of(files))


def cells(batch: Batch) -> list[Cell]:
    """The three counters' cells."""
    return [batch.cells[batch.layout.rows[f"core.execution.{name}", CORE]] for name in COUNTERS]


def changed(batch: Batch) -> set[str]:
    """The counters whose rows are told as changed."""
    rows = {batch.layout.rows[f"core.execution.{name}", CORE]: name for name in COUNTERS}
    return {rows[row] for row in batch.changed}


def power(host: HostFs, *, guard: Guard | None = None) -> FileBatch:
    """The power line of one device: five cells of one file."""
    parts = ("status", "epoch", "minimum", "maximum", "mean")
    targets = tuple(target(f"device.power.{part}", DEVICE) for part in parts)
    return FileBatch(NAME, host, BASE, [FileRead("utilization", targets)], guard=guard)


def test_a_batch_says_what_it_read(clock: ManualClock) -> None:
    """Who, which lane, which device, when, and each cell's source below /sys."""
    batch = counters(host()).poll(clock)
    assert (batch.collector, batch.lane, batch.device) == ("sysfs", "normal", 0)
    assert batch.read_at == clock.monotonic()
    assert cells(batch) == [1, 2, 3]
    below = BASE.removeprefix("sys/")
    assert set(batch.layout.sources) == {f"{below}/{name}" for name in COUNTERS}
    assert changed(batch) == set(COUNTERS)


def test_the_read_time_is_the_beginning_of_the_read(clock: ManualClock) -> None:
    """Rates are taken over it, so the duration is told apart."""
    slow = host()
    slow.faults[f"{BASE}/success"] = Fault(then=lambda: clock.advance(0.5))
    begin = clock.monotonic()
    batch = counters(slow).poll(clock)
    assert (batch.read_at, batch.seconds) == (begin, 0.5)


@pytest.mark.parametrize(
    ("number", "why", "detail"),
    [
        (errno.EACCES, Why.DENIED, "EACCES"),
        (errno.EPERM, Why.DENIED, "EPERM"),
        (errno.ENOENT, Why.FAILED, "gone"),
        (errno.ENODEV, Why.FAILED, "device is gone"),
        (errno.ELOOP, Why.FAILED, "link"),
        (errno.EISDIR, Why.FAILED, "directory"),
        (errno.EIO, Why.FAILED, "EIO"),
    ],
)
def test_one_bad_file_costs_only_itself(
    clock: ManualClock, number: int, why: Why, detail: str
) -> None:
    """E13: the others are published, and the missing one says why."""
    broken = host()
    broken.faults[f"{BASE}/failure"] = Fault(number)
    first, second, third = cells(counters(broken).poll(clock))
    assert (first, third) == (1, 3)
    assert isinstance(second, Missing)
    assert second.why is why
    assert detail in second.detail


def test_an_error_without_a_number_is_a_failure() -> None:
    """An OSError that the kernel did not number still has a reason."""
    assert missing_for(OSError("odd")) == Missing(Why.FAILED, "error")


def test_a_file_that_comes_back_is_read(clock: ManualClock) -> None:
    """E43: gone in one poll, there in the next, with the value of then; no old value meanwhile."""
    flaky = host()
    batch = counters(flaky)
    assert cells(batch.poll(clock))[1] == 2
    flaky.faults[f"{BASE}/failure"] = Fault(errno.ENODEV)
    gone = batch.poll(clock)
    assert isinstance(cells(gone)[1], Missing)
    assert changed(gone) == {"failure"}
    flaky.faults.clear()
    back = batch.poll(clock)
    assert cells(back) == [1, 2, 3]
    assert changed(back) == {"failure"}


def test_an_error_that_lasts_is_no_change(clock: ManualClock) -> None:
    """The same errno again is the same reason."""
    broken = host()
    broken.faults[f"{BASE}/failure"] = Fault(errno.EIO)
    batch = counters(broken)
    first = batch.poll(clock)
    second = batch.poll(clock)
    assert cells(first) == cells(second)
    assert second.changed == ()


def test_another_error_is_another_reason(clock: ManualClock) -> None:
    """EIO and then EACCES: the reason of now."""
    broken = host()
    batch = counters(broken)
    whys = []
    for number in (errno.EIO, errno.EACCES):
        broken.faults[f"{BASE}/failure"] = Fault(number)
        cell = cells(batch.poll(clock))[1]
        assert isinstance(cell, Missing)
        whys.append(cell.why)
    assert whys == [Why.FAILED, Why.DENIED]


def test_a_published_batch_never_changes(clock: ManualClock) -> None:
    """Who holds a snapshot sees the same cells after the next poll."""
    moving = host()
    moving.faults[f"{BASE}/success"] = Fault(contents=iter([b"1\n", b"10\n"]))
    batch = counters(moving)
    first = batch.poll(clock)
    kept = list(first.cells)
    second = batch.poll(clock)
    assert first.cells == kept
    assert cells(second) == [10, 2, 3]
    assert changed(second) == {"success"}
    assert first.layout is second.layout


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([b"1\n", b"1", b"2\n", b"", b"x", b"busy\n", b"9" * 64])] * 3),
        min_size=1,
        max_size=6,
    )
)
def test_changed_rows_are_those_that_differ(polls: list[tuple[bytes, bytes, bytes]]) -> None:
    """`changed` holds the rows whose cell is another one than in the batch before, no others."""
    batch, clock = counters(host()), ManualClock()
    before: list[Cell] | None = None
    for contents in polls:
        now = batch.take(list(contents), clock.monotonic(), 0.0, clock.wall())
        if before is not None:
            rows = range(len(before))
            assert set(now.changed) == {row for row in rows if before[row] != now.cells[row]}
        before = now.cells


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(
            st.sampled_from([b"1\n", b"2\n", b"3\n", b"10\n", b"x\n", b""]), min_size=MANY
        ).map(lambda some: some[:MANY])
    )
)
def test_kept_files_are_the_same_batches(
    tmp_path_factory: pytest.TempPathFactory, reads: list[list[bytes]]
) -> None:
    """As files that are opened anew, whichever change together, and whatever they hold then."""
    folder = tmp_path_factory.mktemp("kept")
    for number in range(MANY):
        (folder / str(number)).write_bytes(b"0\n")
    made = [FileRead(str(n), (target("core.execution.success", Place(0, n)),)) for n in range(MANY)]
    fs, clock = DirectoryFs(str(folder)), ManualClock()
    kept, fresh = (FileBatch(NAME, fs, "", made, keep=keep) for keep in (True, False))
    for contents in reads:
        for number, content in enumerate(contents):
            (folder / str(number)).write_bytes(content)
        one, other = kept.poll(clock), fresh.poll(clock)
        assert (one.cells, one.changed) == (other.cells, other.changed)
    kept.close()


def test_changes_of_one_part_are_of_that_part(clock: ManualClock) -> None:
    """A new minute changes the epoch; figures that stayed are not told as changed."""
    moving = FaultyFs(host_of({f"{BASE}/utilization": b""}))
    lines = [
        b"POWER_STATUS_VALID,1788000000,0.00,2.82,1.57\n",
        b"POWER_STATUS_VALID,1788000060,0.00,2.82,1.60\n",
    ]
    moving.faults[f"{BASE}/utilization"] = Fault(contents=iter(lines))
    batch = power(moving)
    batch.poll(clock)
    second = batch.poll(clock)
    rows = {second.layout.rows[metric, DEVICE] for metric in ("device.power.epoch",)}
    rows |= {second.layout.rows["device.power.mean", DEVICE]}
    assert set(second.changed) == rows


def test_what_was_missing_for_a_round_is_a_change_when_it_is_back(clock: ManualClock) -> None:
    """A batch of which nothing was read, and the same bytes afterwards: all rows changed."""
    batch = counters(host())
    first = batch.poll(clock)
    late = batch.missing(Missing(Why.STALE, "no answer"), clock.monotonic())
    assert cells(late) == [Missing(Why.STALE, "no answer")] * 3
    back = batch.poll(clock)
    assert back.cells == first.cells
    assert changed(back) == set(COUNTERS)
    assert batch.poll(clock).changed == ()


@pytest.mark.parametrize("size", [64, 65, 4096, 100_000])
def test_a_count_that_is_too_long_is_no_count(clock: ManualClock, size: int) -> None:
    """Not even its first 64 digits."""
    batch = counters(host(failure=b"1" * size)).poll(clock)
    first, second, third = cells(batch)
    assert (first, third) == (1, 3)
    assert isinstance(second, Missing)
    assert second.why is Why.FAILED


def test_a_page_of_text_is_not_too_long(clock: ManualClock) -> None:
    """A sysfs file is at most one page; one byte more is another kind of file."""
    name = FileRead("device_name", (target("device.name", DEVICE),))
    for size, ok in ((512, True), (4097, False)):
        files = {f"{BASE}/device_name": b"x" * size}
        batch = FileBatch(NAME, host_of(files), BASE, [name]).poll(clock)
        assert (batch.cells == ["x" * size]) is ok


@pytest.mark.parametrize(("size", "ok"), [(4096, True), (4097, False), (9000, False)])
def test_a_table_longer_than_a_page_is_no_table(clock: ManualClock, size: int, ok: bool) -> None:
    """What was not read may contradict what was; a whole page is the longest sysfs file."""
    files = [FileRead("pe", (target("core.pe_array.row_group0.idle_cycles"),))]
    text = b"xrow_grp,mm_active,wl_active,idle\n0,1,2,3\n".ljust(size, b"\n")
    batch = FileBatch(NAME, host_of({f"{BASE}/pe": text}), BASE, files).poll(clock)
    assert (batch.cells == [3]) is ok


@pytest.mark.parametrize(("raw", "ok"), [(b"100\n", True), (b"101\n", False)])
def test_a_value_above_the_possible_is_missing(clock: ManualClock, raw: bytes, ok: bool) -> None:
    """The limit itself is possible."""
    cell = cells(counters(host(success=raw), limit=100).poll(clock))[0]
    assert (cell == 100) is ok
    assert isinstance(cell, Missing) is not ok


@pytest.mark.parametrize(
    ("metric", "raw", "cell"),
    [
        ("device.sram.ecc_uncorrected", b"65534\n", 65534),
        ("device.sram.ecc_uncorrected", b"65535\n", FELL_OFF),
        ("device.sram.ecc_corrected", b"65535\n", FELL_OFF),
        ("device.hbm.ecc_corrected", b"65535\n", FELL_OFF),
        ("device.hbm.ecc_uncorrected", b"131070\n", 131070),
    ],
)
def test_sixteen_bits_of_ones(clock: ManualClock, metric: str, raw: bytes, cell: Cell) -> None:
    """One 16-bit field of ones is a device off the bus; sums of fields need the serial number."""
    files = [FileRead("ecc", (target(metric, DEVICE),))]
    batch = FileBatch(NAME, host_of({f"{BASE}/ecc": raw}), BASE, files).poll(clock)
    assert batch.cells == [cell]


def test_parts_of_one_file_are_cells_of_their_own(clock: ManualClock) -> None:
    """Five cells, sources with `#part`, one file read."""
    line = b"POWER_STATUS_VALID,1788000000,0.00,2.82,1.57\n"
    batch = power(host_of({f"{BASE}/utilization": line})).poll(clock)
    below = f"{BASE.removeprefix('sys/')}/utilization"
    found = dict(zip(batch.layout.sources, batch.cells, strict=True))
    assert found == {
        f"{below}#status": "POWER_STATUS_VALID",
        f"{below}#epoch": 1_788_000_000,
        f"{below}#minimum": 0.0,
        f"{below}#maximum": 2.82,
        f"{below}#mean": 1.57,
    }


@pytest.mark.parametrize("raw", [b"", b"x", b"\xff" * 300, b"0" * 4097])
def test_parts_of_a_bad_file_are_all_missing(clock: ManualClock, raw: bytes) -> None:
    """No part of another form is a value."""
    batch = power(host_of({f"{BASE}/utilization": raw})).poll(clock)
    assert len(batch.cells) == 5
    assert all(isinstance(cell, Missing) for cell in batch.cells)


def test_a_part_that_is_not_in_the_file_is_missing(clock: ManualClock) -> None:
    """A table that was cut gives what it has."""
    metrics = ("core.pe_array.row_group0.idle_cycles", "core.pe_array.row_group3.idle_cycles")
    files = [FileRead("pe", tuple(target(metric) for metric in metrics))]
    text = b"xrow_grp,mm_active,wl_active,idle\n0,1,2,3\n"
    batch = FileBatch(NAME, host_of({f"{BASE}/pe": text}), BASE, files).poll(clock)
    first, second = (reading([batch], metric, CORE) for metric in metrics)
    assert not isinstance(first, Missing)
    assert first.value == 3
    assert isinstance(second, Missing)
    assert second.why is Why.FAILED


def test_absent_cells_keep_their_reason(clock: ManualClock) -> None:
    """What no file gives stands in the batch with its reason and without a source."""
    reason = Missing(Why.UNSUPPORTED, "needs driver 2.30.2 or later, this is 2.24.7")
    gone = Absent(METRICS["core.inferences"], CORE, reason)
    batch = counters(host(), absent=(gone,))
    for _ in range(2):
        now = batch.poll(clock)
        assert reading([now], "core.inferences", CORE) == reason
        assert now.layout.sources[now.layout.rows["core.inferences", CORE]] == ""
        assert cells(now) == [1, 2, 3]


def test_a_guard_has_the_last_word(clock: ManualClock) -> None:
    """It sees the cells and the wall clock; only what it publishes counts, also for changes."""
    seen: list[float] = []

    def guard(_layout: Layout, found: list[Cell], wall: float) -> list[Cell]:
        seen.append(wall)
        distrusted: list[Cell] = [Missing(Why.STALE, "old")] * len(found)
        return found if len(seen) == 1 else distrusted

    batch = counters(host(), guard=guard)
    assert cells(batch.poll(clock)) == [1, 2, 3]
    second = batch.poll(clock)
    assert changed(second) == set(COUNTERS)
    assert cells(second) == [Missing(Why.STALE, "old")] * 3
    assert batch.poll(clock).changed == ()
    assert seen == [clock.wall()] * 3


def test_a_guard_that_knows_no_time_is_asked_once_of_the_same(clock: ManualClock) -> None:
    """And anew as soon as a byte is another, or after nothing was read."""
    names = {"device.health.unhealthy_components": "named", "device.health.heartbeat": "beat"}
    files = [FileRead(name, (target(metric, DEVICE),)) for metric, name in names.items()]
    every = ",".join(COMPONENTS).encode() + b"\n"
    fs = host(named=every, beat=b"255\n")
    batch = FileBatch(NAME, fs, BASE, files, guard=guards.health_cache)
    first = batch.poll(clock)
    assert first.cells == [FELL_OFF, FELL_OFF]
    assert batch.poll(clock).cells is first.cells
    away = Missing(Why.STALE, "late")
    assert batch.missing(away, 1.0).cells == [away, away]
    back = batch.poll(clock)
    assert (back.cells, back.changed) == ([FELL_OFF, FELL_OFF], (0, 1))
    fs.host = host(named=every, beat=b"7\n")
    later = batch.poll(clock)
    assert (later.cells[1], later.changed) == (7, (0, 1))


@pytest.mark.parametrize(
    ("base", "prefix"),
    [("sys", ""), ("sys/class/neuron_device", "class/neuron_device/"), ("proc", "/proc/")],
)
def test_sources_are_named_below_sys(base: str, prefix: str) -> None:
    """What stands elsewhere is named in full."""
    assert source_prefix(base) == prefix


@pytest.mark.parametrize("epoch", [2**64 - 1, 2**63, 253_402_300_800])
def test_an_impossible_date_costs_only_itself(clock: ManualClock, epoch: int) -> None:
    """No date can be written for it: the cell is missing, and the other batches are read."""
    line = f"POWER_STATUS_VALID,{epoch},0.00,2.82,1.57\n".encode()
    batch = power(host_of({f"{BASE}/utilization": line}), guard=guards.power_age).poll(clock)
    assert isinstance(reading([batch], "device.power.epoch", DEVICE), Missing)
