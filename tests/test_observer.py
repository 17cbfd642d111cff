"""Reading a host as a whole: reloads, fences, one-shots, kept descriptors."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from neuron_observer.model import Missing, Place, Value, Why
from neuron_observer.observer import HostReader, Options
from neuron_observer.oneshot import read_once
from neuron_observer.readings import reading
from neuron_observer.sources.choice import choose_workers
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.listing import Listing, ListingFs, Node, Pass
from neuron_observer.sources.workers import DirectWorkers, ThreadWorkers
from tests.hosts import DEVICE, host_of, overlay, without

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from neuron_observer.clock import ManualClock
    from neuron_observer.model import Batch

VIRTUAL = "sys/devices/virtual/neuron_device"
CORE = f"{DEVICE}/neuron_core0/stats"


def _two_passes(host: ListingFs, later: dict[str, bytes]) -> ListingFs:
    nodes = {path: Node("file", 0o644, content) for path, content in later.items()}
    return ListingFs(Listing({}, [host.listing.passes[0], Pass(1.0, nodes)]), "two passes")


def test_utilization_of_a_live_driver(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """150 ms of execution in 300 ms is one half, on that core alone."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    busy = f"{CORE}/other_info/nc_time_in_use/total"
    before = int(host.read(busy))
    two = _two_passes(host, {busy: b"%d\n" % (before + 150_000)})
    reader = HostReader(two, clock)
    reader.poll(derived=False)
    two.advance()
    clock.advance(0.3)
    batches = reader.poll(("normal",)).batches
    half = reading(batches, "core.utilization", Place(0, 0))
    assert isinstance(half, Value)
    assert abs(float(half.value) - 0.5) < 1e-9
    idle = reading(batches, "core.utilization", Place(0, 1))
    assert isinstance(idle, Value)
    assert idle.value == 0.0


def test_a_recorded_instant_has_no_rates(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """The same bytes read twice are no utilisation of 0; a second pass gives one, over its time."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    snapshot = read_once(HostReader(host, clock))
    found = reading(snapshot.batches, "core.utilization", Place(0, 0))
    assert isinstance(found, Missing)
    assert found.why is Why.NOT_YET
    busy = f"{CORE}/other_info/nc_time_in_use/total"
    two = _two_passes(host, {busy: b"%d\n" % (int(host.read(busy)) + 250_000)})
    snapshot = read_once(HostReader(two, clock))
    quarter = reading(snapshot.batches, "core.utilization", Place(0, 0))
    assert isinstance(quarter, Value)
    assert quarter.value == pytest.approx(0.25)


def test_a_glance_at_an_unknown_driver_looks_at_every_core(clock: ManualClock) -> None:
    """A leaf that stands twice in one core alone is not read there, and is in the others."""
    leaf = "stats/memory_usage/device_mem/total"
    files = {f"{DEVICE}/neuron_core{core}/{leaf}": b"4096\n" for core in range(3)}
    files |= {
        f"{DEVICE}/neuron_core2/later/device_mem/total": b"8192\n",
        "sys/module/neuron/version": b"2.31.7.0\n",
        "sys/module/neuron/initstate": b"live\n",
    }
    options = Options(thorough=False, only={"core.hbm.used"}, machine=False)
    batches = HostReader(host_of(files), clock, options).poll().batches
    one, other = (reading(batches, "core.hbm.used", Place(0, core)) for core in (1, 2))
    assert isinstance(one, Value)
    assert one.value == 4096
    assert isinstance(other, Missing)
    assert "ambiguous" in other.detail


def test_a_failed_first_read_is_told(
    tree: Callable[[str], ListingFs], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collector that breaks in the first of two reads is in the runs of a one-shot."""
    reader = HostReader(FaultyFs(tree("trn2.3xlarge-2.30.2-busy")), clock)
    polls = iter([ValueError("no such year")])

    def broken(lanes: object) -> list[Batch]:
        raise next(polls)

    monkeypatch.setattr(reader._node, "poll", broken)
    runs = read_once(reader).runs
    failed = [(run.collector, run.error) for run in runs if not run.ok]
    assert failed[0] == ("node", "ValueError: no such year")


def test_utilization_of_an_older_driver_is_unsupported(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Up to 2.29 the counter moves only when a process exits: no rate is made of it."""
    batches = read_once(HostReader(tree("trn1.32xlarge-2.24.7-busy"), clock)).batches
    found = reading(batches, "core.utilization", Place(0, 0))
    assert isinstance(found, Missing)
    assert found.why is Why.UNSUPPORTED
    assert "only when a process exits" in found.detail


def test_a_reload_with_another_layout_is_noticed(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """E43: the driver comes back as another version; the new files are read and it is told."""
    old, new = tree("trn2.48xlarge-2.24.7-idle"), tree("trn2.48xlarge-2.30.2-busy")
    host = FaultyFs(old)
    reader = HostReader(host, clock)
    first = reader.poll()
    assert isinstance(reading(first.batches, "device.health.heartbeat", Place(0)), Missing)
    host.host = new
    clock.advance(10.0)
    second = reader.poll()
    assert [event.kind for event in second.events] == ["driver_reloaded"]
    assert "2.24.7.0" in second.events[0].message
    assert isinstance(reading(second.batches, "device.health.heartbeat", Place(0)), Value)
    clock.advance(10.0)
    assert reader.poll().events == ()


def test_a_reload_of_the_same_driver_with_another_layout_is_noticed(
    tmp_path: Path, clock: ManualClock
) -> None:
    """Same version, same devices, new folders: what stands elsewhere now is found there."""

    def load(path: str, count: int) -> None:
        folder = tmp_path / DEVICE
        folder.mkdir(parents=True)
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"{count}\n")

    load("old/sram_ecc_uncorrected", 1)
    reader = HostReader(
        DirectoryFs(str(tmp_path)), clock, workers=lambda fs, now, _: DirectWorkers(fs, now)
    )
    metric, place = "device.sram.ecc_uncorrected", Place(0)
    first = reading(reader.poll().batches, metric, place)
    (tmp_path / DEVICE).rename(tmp_path / "gone")
    load("new/sram_ecc_uncorrected", 2)
    clock.advance(10.0)
    second = reader.poll()
    found = reading(second.batches, metric, place)
    reader.close()
    assert isinstance(first, Value)
    assert isinstance(found, Value)
    assert (first.value, found.value) == (1, 2)
    assert [event.kind for event in second.events] == ["files_moved"]


def test_directories_made_anew_are_read_anew(tmp_path: Path, clock: ManualClock) -> None:
    """Same names, same driver, other directories: no kept descriptor shows the past."""
    metric, place = "core.execution.hardware_error", Place(0, 0)

    def load(name: str, count: int) -> None:
        folder = tmp_path / name / f"{CORE}/status/hw_error"
        folder.mkdir(parents=True)
        (folder / "total").write_text(f"{count}\n")

    load("root", 7)
    reader = HostReader(DirectoryFs(str(tmp_path / "root")), clock, Options(keep=True), _direct)
    assert reading(reader.poll().batches, metric, place) == Value(7, clock.monotonic())
    load("next", 2)
    (tmp_path / "root").rename(tmp_path / "gone")
    (tmp_path / "next").rename(tmp_path / "root")
    clock.advance(10.0)
    snapshot = reader.poll()
    assert "driver_reloaded" in [event.kind for event in snapshot.events]
    assert reading(snapshot.batches, metric, place) == Value(2, clock.monotonic())
    clock.advance(10.0)
    assert reader.poll().events == ()
    reader.close()


def test_the_same_driver_with_its_files_elsewhere(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Version, state and devices are the same; the file that is gone is looked for and found."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    nodes = {
        path.replace("/stats/status/", "/outcomes/"): node
        for path, node in host.listing.passes[0].nodes.items()
    }
    faulty = FaultyFs(host)
    reader = HostReader(faulty, clock)
    before = reading(reader.poll().batches, "core.execution.success", Place(0, 0))
    faulty.host = ListingFs(Listing({}, [Pass(nodes=nodes)]), "elsewhere")
    gone = reading(reader.poll(("normal",)).batches, "core.execution.success", Place(0, 0))
    assert gone == Missing(Why.FAILED, "the file is gone")
    found = reader.poll(("normal",))
    assert [event.kind for event in found.events] == ["files_moved"]
    after = reading(found.batches, "core.execution.success", Place(0, 0))
    assert isinstance(before, Value)
    assert isinstance(after, Value)
    assert after.value == before.value
    assert reader.poll(("normal",)).events == ()


def test_a_device_that_vanishes_in_mid_poll(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Its cells say that the device is gone, the others are whole; then it leaves the list."""
    host = FaultyFs(tree("trn2.48xlarge-2.30.2-busy"))
    reader = HostReader(host, clock)
    reader.poll()
    host.faults[f"{VIRTUAL}/neuron7"] = Fault(error=19)
    gone = reader.poll(("fast", "normal")).batches
    assert reading(gone, "core.inferences", Place(7, 0)) == Missing(
        Why.FAILED, "the device is gone"
    )
    assert isinstance(reading(gone, "core.inferences", Place(6, 0)), Value)
    host.faults[f"{VIRTUAL}/neuron7"] = Fault(hidden=True)
    after = reader.poll()
    assert [device.index for device in after.devices] == [*range(7), *range(8, 16)]
    assert [event.kind for event in after.events] == ["devices_changed"]


def test_a_counter_cleared_by_hand_is_a_reset(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """A fall counts what came since, never a negative or a wrapped rate."""
    host = tree("trn2.3xlarge-2.30.2-busy")
    counter = f"{CORE}/other_info/inference_count/total"
    two = _two_passes(host, {counter: b"6\n"})
    reader = HostReader(two, clock)
    reader.poll(derived=False)
    two.advance()
    clock.advance(2.0)
    rate = reading(reader.poll(("normal",)).batches, "core.inference_rate", Place(0, 0))
    assert isinstance(rate, Value)
    assert rate.value == 3.0


def test_nothing_is_read_while_the_driver_loads(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Up to 2.24.7 a read in that moment can follow a null pointer in the kernel."""
    host = tree("trn2.48xlarge-2.24.7-idle")
    nodes = dict(host.listing.passes[0].nodes)
    nodes["sys/module/neuron/initstate"] = Node("file", 0o444, b"coming\n")
    loading = ListingFs(Listing({}, [Pass(nodes=nodes)]), "loading")
    read: list[str] = []

    class Watched(FaultyFs):
        def read(self, path: str, limit: int = 4097) -> bytes:
            read.append(path)
            return super().read(path, limit)

    snapshot = HostReader(Watched(loading), clock).poll()
    assert [path for path in read if "neuron_device/neuron" in path] == []
    found = reading(snapshot.batches, "device.serial", Place(3))
    assert isinstance(found, Missing)
    assert found.why is Why.NOT_YET


def test_a_broken_collector_costs_only_itself(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """An exception is a failed run with its words; the other collectors' batches are there."""
    reader = HostReader(tree("trn2.3xlarge-2.30.2-busy"), clock)

    def broken(lanes: object) -> list[object]:
        raise RuntimeError("no such luck")

    reader._node.poll = broken  # type: ignore[method-assign,assignment]
    snapshot = reader.poll()
    runs = {run.collector: run for run in snapshot.runs}
    assert (runs["node"].ok, runs["node"].error) == (False, "RuntimeError: no such luck")
    assert runs["sysfs"].ok
    assert isinstance(reading(snapshot.batches, "device.serial", Place(0)), Value)


def test_only_fast_and_normal_lanes_keep_descriptors(tmp_path: Path, clock: ManualClock) -> None:
    """The count is a reading; closing gives them back."""
    for name in ("stats/hardware/health_status/hw_error_event", "core_count", "stats/hardware/x"):
        path = tmp_path / DEVICE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"8\n")
    total = tmp_path / CORE / "status/success/total"
    total.parent.mkdir(parents=True)
    total.write_bytes(b"1\n")
    reader = HostReader(DirectoryFs(str(tmp_path)), clock, Options(keep=True), _direct)
    snapshot = reader.poll()
    kept = reading(snapshot.batches, "node.kept_descriptors", Place())
    assert isinstance(kept, Value)
    assert kept.value == reader.kept == 2
    reader.close()
    assert reader.kept == 0


def _direct(host: object, clock: object, blocking: bool) -> DirectWorkers:
    return DirectWorkers(host, clock)  # type: ignore[arg-type]


def test_workers_fit_the_host(tmp_path: Path, clock: ManualClock) -> None:
    """A listing cannot hang; a directory gets threads where reads do not block."""
    assert isinstance(choose_workers(host_of({}), clock, True), DirectWorkers)
    threads = choose_workers(DirectoryFs(str(tmp_path)), clock, False)
    assert isinstance(threads, ThreadWorkers)
    threads.close()


def test_a_host_without_anything(clock: ManualClock) -> None:
    """No sysfs at all gives a snapshot that says so, and no exception."""
    snapshot = read_once(HostReader(host_of({"proc/stat": b""}), clock))
    assert snapshot.devices == ()
    assert snapshot.driver.state == "absent"
    assert all(run.ok for run in snapshot.runs)


def test_devices_without_a_gap_but_one_less(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """E25: counts of what is there and what should be there are readings."""
    host = without(tree("trn1.32xlarge-2.24.7-busy"), f"{VIRTUAL}/neuron7")
    batches = HostReader(host, clock).poll().batches
    numbers = {}
    for metric in ("node.devices", "node.devices_expected", "node.pci_functions"):
        found = reading(batches, metric, Place())
        assert isinstance(found, Value)
        numbers[metric] = found.value
    assert list(numbers.values()) == [15, 16, 16]


def test_jobs_come_with_their_own_lane(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Read when due, kept in between, with the cores of the devices that were found."""
    host = overlay(tree("trn2.3xlarge-2.30.2-busy"), tree("proc/torchrun"))
    reader = HostReader(host, clock)
    assert reader.poll(("fast",)).job_scan is None
    snapshot = reader.poll(("slow", "firmware", "jobs"))
    assert {job.kind for job in snapshot.jobs} == {"training", "leftover", "monitor"}
    training = next(job for job in snapshot.jobs if job.kind == "training")
    assert [rank.cores.numbers for rank in training.ranks] == [(0,), (1,), (2,), (3,)]
    assert {event.kind for event in snapshot.events} == {"job_found"}
    assert reader.poll(("fast",)).jobs == snapshot.jobs
    assert reader.poll(("fast",)).events == ()


def test_jobs_that_cannot_be_read_cost_only_themselves(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """The run says why, the jobs are not known, and all else is read."""
    whole = overlay(tree("trn2.3xlarge-2.30.2-busy"), tree("proc/torchrun"))
    host = FaultyFs(whole)
    reader = HostReader(host, clock)
    reader.poll()
    host.faults["proc"] = Fault(error=errno.EIO)
    snapshot = reader.poll()
    runs = {run.collector: run for run in snapshot.runs}
    assert not runs["jobs"].ok
    assert "Input/output error" in runs["jobs"].error
    assert (snapshot.jobs, snapshot.job_scan) == ((), None)
    assert runs["sysfs"].ok


def test_jobs_can_be_left_out(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """A glance at the devices looks at no process."""
    reader = HostReader(tree("proc/torchrun"), clock, Options(jobs=False))
    snapshot = reader.poll()
    assert (snapshot.jobs, snapshot.job_scan) == ((), None)
    assert "jobs" not in {run.collector for run in snapshot.runs}
