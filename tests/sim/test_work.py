"""What sysfs shows of a job, by driver: live, or only when its process ends."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.sim.job import Job
from neuron_observer.sim.state import U64, Counter, Memory
from neuron_observer.sim.work import Load
from tests.sim.worlds import Bench, bench, fault, world_of

SUCCESS = "neuron_core0/stats/status/success/"
BUSY = "neuron_core0/stats/other_info/nc_time_in_use/total"
ENDING = Job(at=1.0, until=61.0, devices=(0,), utilization=0.5, executions=4.0)


def test_counters_are_live_with_the_newest_driver() -> None:
    """2.30.2: total moves while the process runs and goes on from there; present is the same."""
    host = Bench(world_of(jobs=(ENDING,)))
    host.go(31.0)
    running = host.number(SUCCESS + "total")
    assert 90 <= running <= 140
    assert host.number(SUCCESS + "present") == running
    host.go(60.0)
    ended = host.number(SUCCESS + "total")
    assert 210 <= ended <= 260
    host.go(60.0)
    assert host.number(SUCCESS + "total") == ended


def test_counters_wait_for_the_process_with_older_drivers() -> None:
    """Up to 2.29: 0 while it runs, its sum when it ends; present is what the last one added."""
    host = Bench(world_of(jobs=(ENDING, ENDING._replace(at=100.0, until=130.0)), driver="2.28"))
    host.go(60.0)
    assert host.number(SUCCESS + "total") == 0
    assert host.number(BUSY) == 0
    host.go(10.0)
    first = host.number(SUCCESS + "total")
    assert 210 <= first <= 260
    assert host.number(SUCCESS + "present") == first
    host.go(100.0)
    both = host.number(SUCCESS + "total")
    assert host.number(SUCCESS + "present") == both - first > 0


def test_idle_node_is_not_zero() -> None:
    """A reset a core at load, host memory of the driver, no HBM."""
    host = bench(jobs=())
    host.go(10.0)
    assert host.number("neuron_core3/stats/other_info/reset_req_count/total") == 1
    assert host.number("neuron_core0/stats/memory_usage/host_mem/total") == 4_759_552
    assert host.number("neuron_core1/stats/memory_usage/host_mem/total") == 266_240
    assert host.number("stats/memory_usage/host_mem/driver_memory/total") == 6_623_232
    assert host.number("neuron_core0/stats/memory_usage/device_mem/total") == 0


def test_job_takes_memory_and_gives_it_back() -> None:
    """HBM is held while it runs and 0 after it; the peak stays."""
    host = Bench(world_of(jobs=(ENDING,)))
    host.go(31.0)
    held = host.number("neuron_core0/stats/memory_usage/device_mem/total")
    assert 4 << 30 < held < 12 << 30
    host.go(60.0)
    assert host.number("neuron_core0/stats/memory_usage/device_mem/total") == 0
    assert host.number("neuron_core0/stats/memory_usage/device_mem/peak") >= held
    assert host.number("stats/memory_usage/host_mem/tensors/total") == 0


def test_job_that_starts_resets_its_cores() -> None:
    """nrt_init: a request a core, lines of the attach and of the reset, one process a device."""
    host = Bench(world_of(jobs=(ENDING._replace(cores=(0, 1)),)))
    host.go(10.0)
    counts = [host.number(f"neuron_core{n}/stats/other_info/reset_req_count/total") for n in (0, 2)]
    assert counts == [2, 1]
    assert host.host.read("sys/module/neuron/refcnt") == b"1\n"
    assert "neuron:npid_attach: pid=40107, slot=0" in host.log()
    assert "nd0: initiating TPB reset request 40107" in host.log()


def test_busy_time_follows_the_share() -> None:
    """Half the time busy: half a second of microseconds a second, give or take the ripple."""
    host = Bench(world_of(jobs=(ENDING._replace(until=None),)))
    host.go(11.0)
    before = host.number(BUSY)
    host.go(47.0)  # a whole turn of the ripple
    assert abs((host.number(BUSY) - before) / 47e6 - 0.5) < 0.02


def test_slow_core_holds_up_its_job() -> None:
    """The throttled core is as busy as before, its peers wait, all execute less."""
    host = bench(fault("throttled_core", 60.0, core=1, pace=0.5))

    def rates() -> list[float]:
        paths = [
            f"neuron_core{core}/stats/{name}/total"
            for core in (0, 1)
            for name in ("other_info/nc_time_in_use", "status/success")
        ]
        before = [host.number(path) for path in paths]
        host.go(47.0)
        return [host.number(path) - was for path, was in zip(paths, before, strict=True)]

    host.go(10.0)
    well = rates()
    host.go(10.0)
    slow = rates()
    change = [now / before for now, before in zip(slow, well, strict=True)]
    assert 0.45 < change[0] < 0.55  # peer: waits
    assert 0.95 < change[2] < 1.05  # throttled: busy
    assert 0.45 < change[1] < 0.55
    assert 0.45 < change[3] < 0.55


def test_cycles_add_up_to_the_clock() -> None:
    """Multiplying, loading and idle cycles of a row group rise together by its clock."""
    host = bench()
    host.go(10.0)

    def cycles() -> list[list[int]]:
        text = host.text("neuron_core0/stats/tensor_engine/pe_cntrs")
        return [[int(n) for n in row.split(",")] for row in text.split("\n")[1:5]]

    before = cycles()
    host.go(10.0)
    for one, other in zip(before, cycles(), strict=True):
        assert all(now >= was for was, now in zip(one, other, strict=True))
        assert abs(sum(other[1:]) - sum(one[1:]) - 14e9) < 10


@given(st.floats(0.0, 1.0), st.floats(0, 6.3), st.lists(st.floats(0, 1e6), min_size=2))
def test_progress_never_goes_back(share: float, phase: float, times: list[float]) -> None:
    """And is the mean rate in the long run, within one turn of the ripple."""
    load = Load(0.0, share, 1.0, 1.0, phase)
    done = [load.progress(time) for time in sorted(times)]
    assert all(later >= earlier - 1e-6 for earlier, later in pairwise(done))
    assert abs(load.progress(1e6) - 1e6) < load.period


@given(st.lists(st.integers(0, U64)), st.booleans())
def test_counter_is_the_sum_of_its_pages(numbers: list[int], live: bool) -> None:
    """Modulo 2^64, live or after the process has ended."""
    counter = Counter(live)
    for number in numbers:
        counter.count(number)
    assert live or counter.total == 0
    counter.flush()
    assert counter.total == sum(numbers) & U64


def test_release_after_a_clear_wraps() -> None:
    """The driver subtracts without a check: about 1.8e19."""
    memory = Memory()
    memory.add(4096)
    memory.total = 0
    memory.add(-4096)
    assert (memory.total, memory.present, memory.peak) == (U64 - 4095, 4096, U64 - 4095)
