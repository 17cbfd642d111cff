"""Processes of jobs below /proc: who holds which device, and what they use."""

from __future__ import annotations

from neuron_observer.sim.job import Job
from tests.sim.worlds import Bench, world_of

LAUNCHER, FIRST, SECOND = 40_100, 40_107, 40_114
PAIR = Job(name="pretrain", at=1.0, until=60.0, devices=(0, 2), processors=2.0, host_memory=3.0)


def pids(host: Bench) -> list[int]:
    """Processes that are there."""
    return sorted(int(one.name) for one in host.host.entries("proc") if one.name.isdecimal())


def fields(host: Bench, pid: int) -> list[str]:
    """`/proc/PID/stat`."""
    return host.host.read(f"proc/{pid}/stat").decode().split()


def test_job_is_a_launcher_and_a_rank_a_device() -> None:
    """They are there while it runs, each with the node of its device open."""
    host = Bench(world_of(jobs=(PAIR,), instance="trn1.32xlarge"))
    assert pids(host) == [1, 2]
    host.go(10.0)
    assert pids(host) == [1, 2, LAUNCHER, FIRST, SECOND]
    held = {
        pid: [
            host.host.readlink(f"proc/{pid}/fd/{one.name}")
            for one in host.host.entries(f"proc/{pid}/fd")
        ]
        for pid in (LAUNCHER, FIRST, SECOND)
    }
    assert held == {
        LAUNCHER: ["/dev/null"],
        FIRST: ["/dev/null", "/dev/neuron0"],
        SECOND: ["/dev/null", "/dev/neuron2"],
    }
    assert host.host.read("sys/module/neuron/refcnt") == b"2\n"
    host.go(60.0)
    assert pids(host) == [1, 2]


def test_rank_knows_its_place() -> None:
    """Environment as launchers set it; cores are logical, half of those of a Trainium2."""
    host = Bench(world_of(jobs=(PAIR,), instance="trn2en.24xlarge"))
    host.go(10.0)
    pairs = host.host.read(f"proc/{SECOND}/environ").decode().rstrip("\0").split("\0")
    found = dict(pair.split("=", 1) for pair in pairs)
    assert (found["RANK"], found["WORLD_SIZE"]) == ("1", "2")
    assert found["NEURON_RT_VISIBLE_CORES"] == "8-11"
    words = host.host.read(f"proc/{LAUNCHER}/cmdline").split(b"\0")
    assert words[-2:] == [b"pretrain.py", b""]


def test_stat_line_has_the_kernels_fields() -> None:
    """52 of them: parent, times in ticks, threads, start after boot, pages."""
    host = Bench(world_of(jobs=(PAIR,), instance="trn1.32xlarge"))
    host.go(11.0)
    before = fields(host, FIRST)
    assert len(before) == 52
    assert before[:4] == [str(FIRST), "(python)", "S", str(LAUNCHER)]
    assert fields(host, LAUNCHER)[3] == "1"
    assert int(before[13]) + int(before[14]) == 2_000  # 2 processors for 10 s
    assert before[19] == "48"
    assert int(before[21]) == 100_100  # it began a second after the clock's 1000
    assert int(before[23]) * 4096 == 3 << 30
    host.go(5.0)
    after = fields(host, FIRST)
    assert int(after[13]) + int(after[14]) == 3_000
    running, waiting, slices = map(int, host.host.read(f"proc/{FIRST}/schedstat").split())
    assert running == 30_000_000_000
    assert 0 < waiting < running
    assert slices > 0


def test_status_agrees_with_stat() -> None:
    """Resident memory in KiB, pid and parent."""
    host = Bench(world_of(jobs=(PAIR,), instance="trn1.32xlarge"))
    host.go(11.0)
    rows = host.host.read(f"proc/{FIRST}/status").decode().splitlines()
    found = dict(row.split(":\t") for row in rows)
    assert found["PPid"] == str(LAUNCHER)
    assert found["VmRSS"].split() == [str(3 << 20), "kB"]


def test_host_is_used_by_the_ranks() -> None:
    """Two processors each; given back at the end."""
    host = Bench(world_of(jobs=(PAIR,), instance="trn1.32xlarge"))

    def user() -> int:
        return int(host.host.read("proc/stat").split()[1])

    host.go(10.0)
    before = user()
    host.go(10.0)
    assert user() - before == 4_000
    host.go(60.0)
    before = user()
    host.go(10.0)
    assert user() == before
