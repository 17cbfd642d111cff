"""The host's figures from listings, from odd kernels and from this very machine."""

from __future__ import annotations

import errno
import os
from itertools import repeat
from pathlib import Path

from neuron_observer.catalogue.host import DISK_METRICS, HOST_METRICS
from neuron_observer.clock import ManualClock
from neuron_observer.collectors.host import READ_ONLY, HostCollector, find_disks, usage_of
from neuron_observer.model import NODE, Batch, Cell, Missing, Place, Why
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.hostfs import DirectoryFs, Space
from neuron_observer.sources.listing import ListingFs

LISTING = Path(__file__).parent.parent / "trees" / "machine" / "host.tsv"
BOTH = ("normal", "slow")


def host() -> ListingFs:
    """The listing of a host without Neuron devices."""
    return ListingFs.open(str(LISTING))


def cells(batches: list[Batch], place: Place = NODE) -> dict[str, Cell]:
    """Metric → cell of one place over all batches."""
    return {
        metric: batch.cells[row]
        for batch in batches
        for (metric, where), row in batch.layout.rows.items()
        if where == place
    }


def missing(cell: Cell) -> Missing:
    """The cell, which has to be a missing one."""
    assert isinstance(cell, Missing)
    return cell


def test_figures_of_a_listing_are_exact() -> None:
    """Ticks, bytes, microseconds and percent as the kernel prints them."""
    found = cells(HostCollector(host(), ManualClock()).poll(BOTH))
    expected = {
        "host.cpu.user": 5020,
        "host.cpu.steal": 6,
        "host.cpus": 2,
        "host.context_switches": 260176,
        "host.interrupts": 175371,
        "host.boot_time": 1788000000,
        "host.processes.blocked": 1,
        "host.load.15m": 12.09,
        "host.tasks.total": 86,
        "host.tasks.limit": 192729,
        "host.memory.total": 24683656 * 1024,
        "host.memory.used": 2000000 * 1024,
        "host.memory.swap_used": 48576 * 1024,
        "host.huge_pages.free": 15,
        "host.pressure.cpu.some": 3675248,
        "host.pressure.cpu.some_10s": 0.28,
        "host.descriptors.used": 277,
        "host.descriptors.limit": (1 << 63) - 1,
    }
    assert {metric: found[metric] for metric in expected} == expected


def test_every_row_has_a_cell_and_no_row_has_two() -> None:
    """What this host lacks is a missing cell, not a hole; metric and place are unique."""
    batches = HostCollector(host(), ManualClock()).poll(BOTH)
    rows = [key for batch in batches for key in batch.layout.rows]
    assert len(rows) == len(set(rows))
    expected = {spec.id for spec in (*HOST_METRICS, *DISK_METRICS)}
    assert {metric for metric, _ in rows} == expected


def test_what_a_kernel_lacks_is_unsupported() -> None:
    """No pressure file for disks, no full line for the processor: said so, not 0, not failed."""
    found = cells(HostCollector(host(), ManualClock()).poll(BOTH))
    for metric in ("host.pressure.io.some", "host.pressure.cpu.full"):
        assert missing(found[metric]).why is Why.UNSUPPORTED


def test_pressure_switched_off_at_boot_is_unsupported() -> None:
    """psi=0 leaves the files and lets their reads fail with EOPNOTSUPP."""
    faulty = FaultyFs(host(), {"proc/pressure": Fault(error=errno.EOPNOTSUPP)})
    found = cells(HostCollector(faulty, ManualClock()).poll(BOTH))
    assert "switched off" in missing(found["host.pressure.memory.full"]).detail


def test_a_denied_file_costs_only_itself() -> None:
    """EACCES on meminfo: its rows are denied, load and processor stay."""
    faulty = FaultyFs(host(), {"proc/meminfo": Fault(error=errno.EACCES)})
    found = cells(HostCollector(faulty, ManualClock()).poll(BOTH))
    assert missing(found["host.memory.total"]).why is Why.DENIED
    assert found["host.load.1m"] == 0.26


def test_garbage_is_failed_and_a_good_read_later_heals_it() -> None:
    """4 KiB of garbage is no reason to call a file unsupported for ever."""
    good = b"0.26 0.14 12.09 1/86 6980\n"
    garbage = b"\xff\0" * 2000
    fault = Fault(contents=iter([garbage, garbage, good]))  # one for the plan, two for the polls
    collector = HostCollector(FaultyFs(host(), {"proc/loadavg": fault}), ManualClock())
    assert missing(cells(collector.poll(("normal",)))["host.load.1m"]).why is Why.FAILED
    assert cells(collector.poll(("normal",)))["host.load.1m"] == 0.26


def test_a_machine_with_many_processors_is_read_whole() -> None:
    """192 processors and thousands of interrupts: what stands after them is still found."""
    rows = ["cpu  1 2 3 4 5 6 7 8 0 0"]
    rows += [f"cpu{n} {10**9} {10**9} {10**9} {10**9} 5 6 7 8 0 0" for n in range(192)]
    rows += ["intr 99 " + "0 " * 12_000, "ctxt 77", "btime 5", ""]
    fault = Fault(contents=repeat("\n".join(rows).encode()))
    found = cells(
        HostCollector(FaultyFs(host(), {"proc/stat": fault}), ManualClock()).poll(("normal",))
    )
    assert (found["host.cpus"], found["host.context_switches"]) == (192, 77)


def test_a_root_without_proc_has_reasons_and_no_numbers(tmp_path: Path) -> None:
    """A listing of /sys alone: all rows are there and say why they are empty."""
    (tmp_path / "sys").mkdir()
    found = cells(HostCollector(DirectoryFs(str(tmp_path)), ManualClock()).poll(BOTH))
    assert len(found) == len(HOST_METRICS)
    assert {missing(cell).why for cell in found.values()} == {Why.UNSUPPORTED}


def test_only_disks_with_a_device_are_counted() -> None:
    """A loop device would count the disk below it twice; sectors are the kernel's 512 bytes."""
    assert [name for name, _ in find_disks(host())] == ["nvme0n1"]
    found = cells(HostCollector(host(), ManualClock()).poll(BOTH), Place(label="nvme0n1"))
    assert found == {
        "disk.reads": 35039,
        "disk.read": 5467906,
        "disk.read_time": 14071,
        "disk.writes": 4807,
        "disk.written": 3029536,
        "disk.write_time": 6720,
        "disk.in_flight": 0,
        "disk.busy_time": 6476,
    }


def test_a_disk_that_comes_later_is_seen_by_the_slow_lane() -> None:
    """A volume attached while we run gets its rows."""
    faulty = FaultyFs(host(), {"sys/block/nvme0n1": Fault(hidden=True)})
    collector = HostCollector(faulty, ManualClock())
    assert collector.disks == ()
    faulty.faults = {}
    collector.poll(("slow",))
    found = cells(collector.poll(("normal",)), Place(label="nvme0n1"))
    assert found["disk.reads"] == 35039


class Measured(ListingFs):
    """A host in memory that knows one of its file systems."""

    def space(self, mount: str) -> Space | None:
        """Of the root alone."""
        return Space(100, 4) if mount == "/" else None


def test_a_host_in_memory_tells_its_space() -> None:
    """What it knows is read; of the rest no number is made up, nor taken from this machine."""
    found = cells(HostCollector(Measured(host().listing, "made"), ManualClock()).poll(("slow",)))
    assert found["host.filesystem.root.size"] == 100
    assert found["host.filesystem.root.available"] == 4
    assert missing(found["host.filesystem.tmp.size"]).why is Why.UNSUPPORTED


def test_an_image_that_is_only_read_is_not_full() -> None:
    """The root of some systems is an image without a free block; that is no full disk."""
    fields = [4096, 4096, 1000, 0, 0, 100, 0, 0, 0, 255]
    found = os.statvfs_result([*fields[:8], 0, 255])
    assert usage_of(found, image=False) == {"size": 4096000, "available": 0}
    assert usage_of(found, image=True) == {"size": 4096000, "available": READ_ONLY}


def test_this_machine_is_read() -> None:
    """The running kernel's own files: figures that agree with one another; space included."""
    collector = HostCollector(DirectoryFs("/"), ManualClock(), keep=True)
    found = cells(collector.poll(BOTH))
    collector.close()
    total, used = found["host.memory.total"], found["host.memory.used"]
    size, space = found["host.filesystem.root.size"], found["host.filesystem.root.available"]
    assert isinstance(total, int)
    assert isinstance(used, int)
    assert 0 < used < total
    assert isinstance(size, int)
    assert isinstance(space, int)
    assert 0 <= space < size
    assert collector.kept == 0
