"""The simulated host behaves as a file system, and as what HostReader expects of one."""

from __future__ import annotations

import errno
import stat
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.model import Missing, Place
from neuron_observer.observer import HostReader, Options
from neuron_observer.readings import reading
from neuron_observer.sim.fs import SimulatedFs
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.choice import choose_workers
from neuron_observer.sources.hostfs import Entry
from neuron_observer.sources.workers import DirectWorkers, ThreadWorkers
from tests.sim.worlds import DEVICE, bench, fault, world_of

CORE = f"{DEVICE.format(0)}/neuron_core0"


def code_of(error: pytest.ExceptionInfo[OSError]) -> int | None:
    """The errno."""
    return error.value.errno


def test_errors_are_the_kernels() -> None:
    """What is not there, a folder, a link, a file taken for a folder."""
    host = bench().host
    for path, number in (
        ("sys/none", errno.ENOENT),
        ("sys", errno.EISDIR),
        ("sys/class/dmi/id", errno.ELOOP),
    ):
        with pytest.raises(OSError, match=path) as caught:
            host.read(path)
        assert code_of(caught) == number
    for path, number in (("sys/none", errno.ENOENT), ("proc/stat", errno.ENOTDIR)):
        with pytest.raises(OSError, match=path) as caught:
            host.entries(path)
        assert code_of(caught) == number
    with pytest.raises(OSError, match="proc/stat") as caught:
        host.readlink("proc/stat")
    assert code_of(caught) == errno.EINVAL


def test_entries_links_and_modes() -> None:
    """Kinds of entries, targets of links, modes of files, numbers of device nodes."""
    host = bench().host
    assert Entry("neuron0", "link") in host.entries("sys/class/neuron_device")
    assert Entry("neuron_core7", "dir") in host.entries(DEVICE.format(0))
    assert Entry("reset", "file") in host.entries(DEVICE.format(0))
    link = "sys/class/neuron_device/neuron0"
    assert host.readlink(link) == "../../devices/virtual/neuron_device/neuron0"
    assert stat.S_ISLNK(host.lstat(link).st_mode)
    assert stat.S_ISDIR(host.lstat(DEVICE.format(0)).st_mode)
    assert host.lstat(f"{DEVICE.format(0)}/reset").st_mode == stat.S_IFREG | 0o600
    node = host.lstat("dev/neuron0")
    assert node.st_mode == stat.S_IFCHR | 0o666
    assert node.st_rdev & 0xFF == 0


def test_every_file_can_be_read_and_every_folder_listed() -> None:
    """The tree is whole: what a folder lists is there, and reading it gives bytes."""
    host = bench(instance="trn1.32xlarge").host
    files, pending = 0, [""]
    while pending:
        folder = pending.pop()
        for entry in host.entries(folder):
            path = f"{folder}/{entry.name}".lstrip("/")
            if entry.kind == "dir":
                pending.append(path)
            elif entry.kind == "link":
                assert host.readlink(path)
            else:
                files += entry.kind == "file"
                assert isinstance(host.read(path), bytes)
    assert files > 3_888


def test_limit_cuts() -> None:
    """No more than is asked for, alone and in a set."""
    host = bench().host
    assert host.read("proc/stat", 3) == b"cpu"
    assert host.file_set("proc", ["stat", "none"], [3, 3], keep=True).read()[0] == b"cpu"


def test_set_finds_its_files_again() -> None:
    """Files of a set that go give ENOENT and come back, as kept descriptors do."""
    host = bench(fault("driver_absent", 10.0, 20.0))
    files = host.host.file_set(CORE, ["stats/status/success/total", "none"], [64, 64], keep=True)
    assert files.kept == 0
    first, never = files.read()
    assert first == b"0\n"
    assert isinstance(never, OSError)
    host.go(15.0)
    gone = files.read()[0]
    assert isinstance(gone, OSError)
    assert gone.errno == errno.ENOENT
    host.go(20.0)
    assert files.read()[0] == b"0\n"
    files.close()


def test_hanging_file_of_a_set_takes_its_time() -> None:
    """A read of a firmware register waits in a set, too."""
    host = bench(fault("hanging_read", 0.0, seconds=2.0))
    host.go(1.0)
    files = host.host.file_set(
        DEVICE.format(0), ["info/serial_number", "reset"], [64] * 2, keep=False
    )
    before = host.clock.monotonic()
    assert files.read()[1] == b"1\n"
    assert host.clock.monotonic() - before == 2.0


@given(st.lists(st.floats(0.0, 20.0), max_size=20))
@settings(max_examples=20)
def test_what_is_read_depends_on_the_instant_alone(steps: list[float]) -> None:
    """Two hosts of one scenario at one time show the same, looked at often or once."""
    often, once = bench(instance="inf2.xlarge"), bench(instance="inf2.xlarge")
    for step in steps:
        often.go(step)
    once.go(often.clock.monotonic() - once.clock.monotonic())
    paths = [
        f"{CORE}/stats/other_info/nc_time_in_use/total",
        f"{CORE}/stats/tensor_engine/pe_cntrs",
    ]
    assert [often.host.read(p) for p in paths] == [once.host.read(p) for p in paths]


def test_reader_reads_all_of_it() -> None:
    """Every collector succeeds; utilisation is that of the job; nothing fails to be parsed."""
    clock = ManualClock()
    host = simulate(load("healthy", instance="trn2.3xlarge"), clock)
    reader = HostReader(host, clock, Options(kernel_log=True))
    reader.poll()
    clock.advance(10.0)
    snapshot = reader.poll()
    reader.close()
    assert [run for run in snapshot.runs if not run.ok] == []
    assert snapshot.instance_type == "trn2.3xlarge"
    busy = reading(snapshot.batches, "core.utilization", Place(0, 0))
    assert not isinstance(busy, Missing)
    assert 0.6 < float(busy.value) < 1.0
    failed = [
        source
        for batch in snapshot.batches
        for source, cell in zip(batch.layout.sources, batch.cells, strict=True)
        if isinstance(cell, Missing) and cell.why.value == "failed"
    ]
    assert failed == []


@pytest.mark.parametrize("name", ["bad-day", "driver-reload"])
def test_reader_goes_through_a_bad_day(name: str) -> None:
    """No collector breaks while devices, adapters and the driver come and go."""
    clock = ManualClock()
    instance = "trn2.3xlarge" if name == "driver-reload" else None
    host = simulate(load(name, instance=instance), clock)
    reader = HostReader(host, clock, Options(kernel_log=True, thorough=False))
    kinds: set[str] = set()
    for round_ in range(10 if name == "bad-day" else 30):
        clock.advance(85.0 if name == "bad-day" else 1.0)
        snapshot = reader.poll(("fast", "normal", "slow", "firmware")[: 4 if round_ % 2 else 2])
        assert [run for run in snapshot.runs if not run.ok] == []
        kinds |= {event.kind for event in snapshot.events}
    reader.close()
    assert kinds & (
        {"driver_reloaded", "counter_reset"} if name == "bad-day" else {"driver_reloaded"}
    )


def test_workers_fit_the_clock() -> None:
    """With the machine's clock a read may hang, so each device has a thread; else it is direct."""
    world = world_of()
    real = choose_workers(SimulatedFs(world, SystemClock()), SystemClock(), False)
    manual = choose_workers(bench().host, ManualClock(), True)
    assert isinstance(real, ThreadWorkers)
    assert isinstance(manual, DirectWorkers)
    real.close()
    manual.close()


def test_threads_may_share_it() -> None:
    """Readers in four threads over a moving world: no error, and counters that only rise."""
    clock = ManualClock()
    host = SimulatedFs(world_of(fault("corrected_ecc_storm", 0.0, rate=50.0)), clock)
    path = f"{DEVICE.format(0)}/stats/hardware/mem_ecc_corrected"
    broken: list[str] = []

    def look() -> None:
        last = 0
        for _ in range(300):
            now = int(host.read(path))
            if now < last:
                broken.append(f"{last} → {now}")
            last = now
            host.records(0)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        clock.advance(0.1)
    for thread in threads:
        thread.join(30.0)
    assert not any(thread.is_alive() for thread in threads)
    assert broken == []
    assert 990 <= int(host.read(path)) <= 1_001
