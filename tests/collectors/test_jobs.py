"""The job map of whole hosts: torchrun, Slurm, pods, vLLM, notebooks, and what goes wrong."""

from __future__ import annotations

import errno
from threading import Event
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.collectors.job_reader import LATE, JobReader
from neuron_observer.collectors.jobs import ENDED_AFTER, JobCollector
from neuron_observer.collectors.monitor import MonitorCounts, MonitorSample, MonitorState
from neuron_observer.jobs.beats import Mark
from neuron_observer.model import Core, Device, Pod
from neuron_observer.parsers.monitor import parse_report
from neuron_observer.parsers.monitor_report import MonitorReport
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.listing import Listing, ListingFs, Node, Pass
from tests.hosts import changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Event as Happening
    from neuron_observer.model import Job, Rank
    from neuron_observer.sources.hostfs import HostFs

TREES = ("proc/torchrun", "proc/slurm", "proc/pods", "proc/vllm", "proc/notebook")


def devices(name: str, number: int, cores: int) -> tuple[Device, ...]:
    """A node of equal devices."""
    return tuple(
        Device(i, name, None, None, f"k{i}", cores=tuple(Core(i, n) for n in range(cores)))
        for i in range(number)
    )


TRN2 = devices("Trainium2", 16, 8)
TRN1 = devices("Trainium1", 16, 2)


def jobs_of(
    host: HostFs, found: tuple[Device, ...] = TRN2, mapping: str | None = None
) -> dict[str, Job]:
    """The jobs of a host, by the first word of their names."""
    collector = JobCollector(host, ManualClock(), mapping)
    collector.poll(found)
    return {job.name.split()[0]: job for job in collector.jobs}


def cores_by_rank(job: Job) -> dict[int | None, tuple[int, ...]]:
    """Rank → logical cores."""
    return {rank.rank: rank.cores.numbers for rank in job.ranks}


def test_torchrun(tree: Callable[[str], ListingFs]) -> None:
    """Four ranks on one Trainium2, the rank that an earlier run left, and neuron-monitor."""
    collector = JobCollector(tree("proc/torchrun"), ManualClock())
    collector.poll(devices("Trainium2", 1, 8))
    kinds = {job.kind: job for job in collector.jobs}
    assert set(kinds) == {"training", "leftover", "monitor"}
    job = kinds["training"]
    assert cores_by_rank(job) == {0: (0,), 1: (1,), 2: (2,), 3: (3,)}
    assert (job.world_size, job.restarts, job.run_id) == (4, 1, "llama-7b")
    assert (job.master, job.launcher, job.devices) == ("localhost:29400", "torchrun", (0,))
    assert job.tag == "job=llama-7b"
    assert kinds["leftover"].run_id == "llama-old"
    assert kinds["leftover"].ranks[0].process.state == "D"
    assert kinds["monitor"].ranks[0].process.name == "neuron-monitor"


def test_a_process_of_torchrun(tree: Callable[[str], ListingFs]) -> None:
    """What is told of one process, in seconds and bytes; secrets are not."""
    jobs = JobCollector(tree("proc/torchrun"), ManualClock())
    jobs.poll(TRN2)
    process = _first_rank(jobs).process
    assert (process.pid, process.state, process.threads) == (4110, "R", 97)
    assert (process.uid, process.user) == (1000, "ubuntu")
    assert process.age == pytest.approx(5000 - 3800.25)
    assert (process.cpu, process.rss) == (1050.0, 2621440 * 4096)
    assert process.cgroup == "/user.slice/user-1000.slice/session-3.scope"
    assert process.command.endswith("train.py --epochs 3 --hf-token *** --lr=3e-4")
    assert (process.container, process.pod, process.own_pid, process.hook) == (None,) * 4


@pytest.mark.parametrize("name", TREES)
def test_no_other_variable_is_kept(name: str, tree: Callable[[str], ListingFs]) -> None:
    """The environments hold secrets; nothing that the collector remembers does."""
    collector = JobCollector(tree(name), ManualClock())
    collector.poll(TRN2)
    assert collector.jobs
    remembered = repr((collector.jobs, collector._reader._fixed, collector._last, collector.scan))
    for secret in ("not-to-be", "hf_not", "AWS_SECRET", "HF_TOKEN", "SLURM_JWT", "KUBERNETES_"):
        assert secret not in remembered


def test_rates_need_two_reads(tree: Callable[[str], ListingFs]) -> None:
    """Processors busy and share of waiting between two polls; unknown at the first."""
    host, clock = tree("proc/torchrun"), ManualClock()
    collector = JobCollector(host, clock)
    collector.poll(TRN2)
    assert _first_rank(collector).process.processors is None
    host.advance()
    clock.advance(2.0)
    collector.poll(TRN2)
    process = _first_rank(collector).process
    assert process.processors == pytest.approx(1.5)
    assert process.waited == pytest.approx(0.25)


def _first_rank(collector: JobCollector) -> Rank:
    return next(job for job in collector.jobs if job.kind == "training").ranks[0]


def test_slurm(tree: Callable[[str], ListingFs]) -> None:
    """Two steps by cgroup v1 and v2; torchrun below a batch step takes its Slurm job along."""
    jobs = jobs_of(tree("proc/slurm"), TRN1, "/var/run/jobmap")
    step = jobs["bert_xla.py"]
    assert (step.slurm_job, step.slurm_step, step.launcher) == ("4242", "0", "slurm")
    assert (step.kind, step.world_size) == ("xla", 2)
    assert cores_by_rank(step) == {0: tuple(range(8)), 1: tuple(range(8, 16))}
    batch = jobs["pretrain.py"]
    assert (batch.slurm_job, batch.slurm_step, batch.launcher) == ("4243", "batch", "torchrun")
    assert (batch.world_size, batch.node_rank) == (4, 1)
    assert cores_by_rank(batch) == {2: tuple(range(16, 24)), 3: tuple(range(24, 32))}
    assert batch.ranks[0].cores.source == "local_rank"
    assert step.ranks[0].cores.source == "visible_cores"
    assert jobs["neuron-top"].kind == "monitor"


def test_the_mapping_folder_of_a_scheduler(tree: Callable[[str], ListingFs]) -> None:
    """A file a device, a job id a line; other names are none, an empty file holds no job."""
    collector = JobCollector(tree("proc/slurm"), ManualClock(), "/var/run/jobmap")
    collector.poll(TRN1)
    assert collector.scan is not None
    assert collector.scan.mapped == ((0, ("4242",)), (8, ("4243", "4299")), (15, ()))
    mapped = {job.name.split()[0]: job.mapped for job in collector.jobs}
    assert mapped["bert_xla.py"] == ("4242",)
    assert mapped["pretrain.py"] == ("4243", "4299")
    assert mapped["neuron-top"] == ()


def test_a_mapping_folder_that_is_not_there_is_told(tree: Callable[[str], ListingFs]) -> None:
    """A wrong path would look like a node without jobs."""
    collector = JobCollector(tree("proc/slurm"), ManualClock(), "/nowhere")
    collector.poll(TRN1)
    assert collector.scan is not None
    assert "/nowhere: no file of a device in the job mapping folder" in collector.scan.notes


def test_pods(tree: Callable[[str], ListingFs]) -> None:
    """Devices by their minor numbers, pods by cgroup v2 and v1, cores of a container not taken."""
    jobs = jobs_of(tree("proc/pods"))
    training = jobs["train.py"].ranks[0]
    assert training.process.devices == (5,)
    assert training.process.pod == Pod(
        "0aa5bd3c-6e4b-4a52-9d0c-7f2f3e9b1c11", "llama-worker-0", "ml-team"
    )
    assert training.process.own_pid == 17
    assert training.cores.numbers == ()
    assert "neuron0, which it does not hold; they are its container's" in training.cores.detail
    serving = jobs["serve.py"].ranks[0]
    assert serving.process.devices == (6,)
    assert serving.process.pod == Pod("b7c1f2d0-1111-4222-8333-944455566677")
    assert serving.cores.how_many == 2
    docker = jobs["infer.py"].ranks[0]
    assert (docker.process.devices, docker.process.container) == ((10, 11), "77" * 32)


def test_an_environment_that_may_not_be_read_is_unknown(tree: Callable[[str], ListingFs]) -> None:
    """EACCES is not a process without variables."""
    rank = jobs_of(tree("proc/pods"))["infer.py"].ranks[0]
    assert rank.process.unknown == ("environ: Permission denied",)
    assert rank.cores.detail == "its environment could not be read"


def test_hook_and_process_find_each_other(tree: Callable[[str], ListingFs]) -> None:
    """By the pid in the process's own namespace and its start; who holds no device is told."""
    collector = JobCollector(tree("proc/pods"), ManualClock())
    collector.hooked = {
        Mark(17, 60001200): None,
        Mark(1, 5): None,
        Mark(8200, 60000100): 0,
        Mark(4711, 9): None,
        Mark(8000, 60000000): 12345,  # of another user than the file
        Mark(8010, 60001000): 0,  # which calls itself 1
    }
    collector.poll(TRN2)
    hooks = {job.ranks[0].process.pid: job.ranks[0].process.hook for job in collector.jobs}
    assert hooks == {
        8011: True,
        8210: False,
        8410: False,
        8200: True,
    }
    assert collector.scan is not None
    assert (collector.scan.stray_hooks, collector.scan.holders) == ((8200,), 3)


def test_vllm(tree: Callable[[str], ListingFs]) -> None:
    """The tensor-parallel group of a server is one job; one worker's main thread has ended."""
    jobs = jobs_of(tree("proc/vllm"))
    assert list(jobs) == ["vllm"]
    job = jobs["vllm"]
    assert (job.kind, job.name) == ("server", "vllm meta-llama/Llama-3.1-70B")
    assert [rank.rank for rank in job.ranks] == [0, 1, 2, 3]
    assert [rank.process.devices for rank in job.ranks] == [(0,), (1,), (2,), (3,)]
    last = job.ranks[3].process
    assert (last.state, last.rss, last.command) == ("Z", None, "VLLM::Worker_TP3")
    assert job.ranks[3].cores.numbers == (12, 13, 14, 15)


def test_titles_over_environments_are_unknown(tree: Callable[[str], ListingFs]) -> None:
    """Setproctitle may write over the environment: then nothing is known of it."""
    rank = jobs_of(tree("proc/vllm"))["vllm"].ranks[0]
    assert rank.process.unknown == ("environ: empty, written over or too long",)


def test_notebooks(tree: Callable[[str], ListingFs]) -> None:
    """Each kernel is a job of its own; a file named as a device is none."""
    collector = JobCollector(tree("proc/notebook"), ManualClock())
    collector.poll(TRN1)
    found = [(job.kind, job.devices, job.ranks[0].process.pid) for job in collector.jobs]
    assert sorted(found) == [
        ("notebook", (0,), 6010),
        ("notebook", (1,), 6011),
        ("profiler", (3,), 6200),
        ("test", (3,), 6300),
        ("unknown", (2,), 6100),
    ]


def test_a_user_without_a_name_stays_a_number(tree: Callable[[str], ListingFs]) -> None:
    """Only the host's passwd is asked."""
    process = jobs_of(tree("proc/notebook"), TRN1)["x.py"].ranks[0].process
    assert (process.uid, process.user) == (1002, None)


@pytest.mark.parametrize("name", TREES)
def test_the_scan_says_what_it_rests_on(name: str, tree: Callable[[str], ListingFs]) -> None:
    """Processes, holders and those that may not be looked into."""
    collector = JobCollector(tree(name), ManualClock())
    collector.poll(TRN2)
    scan = collector.scan
    assert scan is not None
    assert scan.holders == sum(len(job.ranks) for job in collector.jobs)
    assert scan.processes >= scan.holders + 3
    assert scan.denied == (1 if name == "proc/torchrun" else 0)
    assert bool(scan.notes) == (name == "proc/torchrun")


def test_a_container_s_proc_is_told(tree: Callable[[str], ListingFs]) -> None:
    """Without kthreadd this is no whole host: an empty map would mean little."""
    collector = JobCollector(changed(tree("proc/vllm"), comm=b"sh\n"), ManualClock())
    collector.poll(TRN2)
    assert collector.scan is not None
    assert any("not the whole host's" in note for note in collector.scan.notes)


def test_without_processes_nothing_is_known() -> None:
    """A capture holds none: no scan, which is not an empty one."""
    collector = JobCollector(
        ListingFs(Listing({}, [Pass(nodes={"proc/stat": Node("file")})]), "x"), ManualClock()
    )
    assert collector.poll(TRN2) == []
    assert (collector.jobs, collector.scan) == ((), None)


def test_a_proc_that_cannot_be_listed_is_an_error_and_leaves_nothing_old(
    tree: Callable[[str], ListingFs],
) -> None:
    """What was known is not shown as if it were true now."""
    host = FaultyFs(tree("proc/vllm"))
    collector = JobCollector(host, ManualClock())
    collector.poll(TRN2)
    assert collector.jobs
    host.faults["proc"] = Fault(error=errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        collector.poll(TRN2)
    assert (collector.jobs, collector.scan) == ((), None)


def test_events_of_a_job(tree: Callable[[str], ListingFs]) -> None:
    """Found at first, since it began before us; ended when it was gone for ten seconds."""
    host, clock = tree("proc/torchrun"), ManualClock()
    collector = JobCollector(host, clock)
    first = collector.poll(TRN2)
    assert {event.kind for event in first} == {"job_found"}
    assert len(first) == len(collector.jobs) - 1 == 2  # a monitor is no event
    assert _passes(collector, host, clock, 2.0) == []
    seen = clock.wall()
    assert _passes(collector, host, clock, 3.0) == []
    assert [job.kind for job in collector.jobs] == ["leftover", "monitor"]
    clock.advance(ENDED_AFTER)
    (ended,) = collector.poll(TRN2)
    assert (ended.kind, ended.at) == ("job_ended", seen)
    assert ended.fields["exit"] == "unknown"
    assert ended.fields["ranks"] == 4


def _passes(
    collector: JobCollector, host: ListingFs, clock: ManualClock, seconds: float
) -> list[Happening]:
    host.advance()
    clock.advance(seconds)
    return collector.poll(TRN2)


def with_rank(tree: ListingFs, pid: int, start: float, run: str) -> ListingFs:
    """The host with one more process of torchrun."""
    nodes = dict(tree.listing.passes[0].nodes)
    source = "proc/4110/"
    for path, node in list(nodes.items()):
        if path.startswith(source):
            new = node.content.replace(b"4110 (", f"{pid} (".encode())
            new = new.replace(b" 380025 ", f" {round(start * 100)} ".encode())
            new = new.replace(b"llama-7b", run.encode())
            nodes[f"proc/{pid}/{path.removeprefix(source)}"] = Node(
                node.kind, node.mode, new, node.error, node.target
            )
    return ListingFs(Listing({}, [Pass(nodes=nodes)]), "x")


def test_a_job_that_begins_while_we_watch_has_started(tree: Callable[[str], ListingFs]) -> None:
    """Its event carries the time at which its first process began."""
    clock = ManualClock()
    host = FaultyFs(tree("proc/torchrun"))
    collector = JobCollector(host, clock)
    collector.poll(TRN2)
    host.host = with_rank(tree("proc/torchrun"), 9000, 5001.0, "new-run")
    clock.advance(2.0)
    (event,) = collector.poll(TRN2)
    assert event.kind == "job_started"
    assert event.message == "train.py new-run started"
    assert event.fields["devices"] == "0"


def test_a_recycled_pid_is_another_process(tree: Callable[[str], ListingFs]) -> None:
    """The same pid with another start time: the old job ends there, nothing is mixed."""
    clock = ManualClock()
    host = FaultyFs(with_rank(tree("proc/torchrun"), 9000, 4000.0, "first"))
    collector = JobCollector(host, clock)
    collector.poll(TRN2)
    assert any(job.run_id == "first" for job in collector.jobs)
    host.host = with_rank(tree("proc/torchrun"), 9000, 4999.0, "second")
    clock.advance(2.0)
    collector.poll(TRN2)
    runs = {job.run_id: job for job in collector.jobs}
    assert "first" not in runs
    assert runs["second"].ranks[0].process.start == 4999.0
    assert runs["second"].ranks[0].process.processors is None


def test_a_recycled_pid_without_a_device_is_no_holder(tree: Callable[[str], ListingFs]) -> None:
    """The descriptor's number may even hold something else that looks the same for a moment."""
    clock = ManualClock()
    host = FaultyFs(tree("proc/torchrun"))
    collector = JobCollector(host, clock)
    collector.poll(TRN2)
    host.faults["proc/4110/fd"] = Fault(hidden=True)
    clock.advance(2.0)
    collector.poll(TRN2)
    ranks = next(job for job in collector.jobs if job.kind == "training").ranks
    assert [rank.rank for rank in ranks] == [1, 2, 3]


def test_what_an_ending_process_no_longer_shows_stays_known(
    tree: Callable[[str], ListingFs],
) -> None:
    """A zombie has no environment and no command line left, but it was rank 0."""
    clock = ManualClock()
    host = FaultyFs(tree("proc/torchrun"))
    collector = JobCollector(host, clock)
    collector.poll(TRN2)
    stat = host.read("proc/4110/stat").replace(b" R 4100 ", b" D 1 ")
    for name, content in (("stat", stat), ("environ", b""), ("cmdline", b"")):
        host.faults[f"proc/4110/{name}"] = Fault(contents=iter([content]))
    clock.advance(2.0)
    collector.poll(TRN2)
    left = [job for job in collector.jobs if job.run_id == "llama-7b" and job.kind == "leftover"]
    assert [rank.process.pid for rank in left[0].ranks] == [4110]
    assert left[0].ranks[0].rank == 0


@pytest.mark.parametrize("leaf", ["stat", "status", "cmdline", "environ", "cgroup", "schedstat"])
@pytest.mark.parametrize("error", [errno.ENOENT, errno.ESRCH, errno.EACCES])
def test_one_file_that_fails_costs_no_other_process(
    leaf: str, error: int, tree: Callable[[str], ListingFs]
) -> None:
    """A process that vanishes in mid-read is not there, or has something unknown."""
    host = FaultyFs(tree("proc/torchrun"), {f"proc/4111/{leaf}": Fault(error=error)})
    collector = JobCollector(host, ManualClock())
    collector.poll(TRN2)
    pids = {rank.process.pid for job in collector.jobs for rank in job.ranks}
    assert pids >= {4110, 4112, 4113}
    assert (4111 in pids) == (leaf != "stat")


def test_cores_by_the_report_of_neuron_monitor(tree: Callable[[str], ListingFs]) -> None:
    """The runtime's own list of cores, by pid, wins over the environment."""
    report = parse_report(
        '{"neuron_runtime_data":[{"pid":4112,"address":"","neuron_runtime_tag":"t","error":"",'
        '"report":{"neuroncore_counters":{"period":1.0,"neuroncores_in_use":{'
        '"3":{"neuroncore_utilization":50,"flops":1}},"error":""}}}],'
        '"neuron_hardware_info":{"neuron_device_count":1,"neuroncore_per_device_count":4,'
        '"logical_neuroncore_config":2,"error":""}}'
    )
    assert isinstance(report, MonitorReport)
    sample = MonitorSample(MonitorState.BUSY, 0.0, report, (), {}, MonitorCounts(), "")
    collector = JobCollector(tree("proc/torchrun"), ManualClock())
    collector.poll(devices("Trainium2", 1, 8), sample)
    job = next(job for job in collector.jobs if job.kind == "training")
    assert cores_by_rank(job) == {0: (0,), 1: (1,), 2: (3,), 3: (3,)}
    assert [rank.cores.source for rank in job.ranks].count("monitor") == 1


def test_short_jobs_leave_nothing(tree: Callable[[str], ListingFs]) -> None:
    """What is remembered is of the processes that are there (case E26)."""
    clock = ManualClock()
    host = FaultyFs(tree("proc/torchrun"))
    collector = JobCollector(host, clock)
    base = tree("proc/torchrun")
    for number in range(200):
        host.host = with_rank(base, 10_000 + number, 4000.0 + number, f"run-{number}")
        clock.advance(60.0)
        collector.poll(TRN2)
    assert len(collector._known) <= len(collector.jobs) + 1
    assert len(collector._reader._fixed) == len(collector._reader._moved) == 7
    assert len(collector._scanner._queue) <= 2 * collector._scanner.processes


def test_a_process_that_cannot_be_read_holds_nobody_up(tree: Callable[[str], ListingFs]) -> None:
    """Its memory's lock is held in the kernel: the map is shown as it was, then not at all."""
    clock, stuck = ManualClock(), Event()
    host = FaultyFs(tree("proc/torchrun"))
    reader = JobReader(host, clock, fenced=True)
    assert reader.poll(TRN2, None, 5.0)
    before = reader.jobs
    host.host = with_rank(tree("proc/torchrun"), 9000, 4999.0, "new")
    host.faults["proc/9000/environ"] = Fault(block=stuck)
    clock.advance(2.0)
    assert reader.poll(TRN2, None, 0.01) == []
    assert reader.jobs == before
    clock.advance(LATE)
    with pytest.raises(TimeoutError, match="did not let itself be read for 6 s"):
        reader.poll(TRN2, None, 0.01)
    assert (reader.jobs, reader.scan) == ((), None)
    stuck.set()
    assert reader._background is not None
    assert reader._background._done.wait(5.0)
    reader.poll(TRN2, None, 5.0)
    assert reader.scan is not None
    assert any(job.run_id == "new" for job in reader.jobs)


def test_a_fenced_error_is_told(tree: Callable[[str], ListingFs]) -> None:
    """An error behind the fence is one before it."""
    host = FaultyFs(tree("proc/torchrun"), {"proc": Fault(error=errno.EIO)})
    reader = JobReader(host, ManualClock(), fenced=True)
    with pytest.raises(OSError, match="Input/output"):
        reader.poll(TRN2, None, 5.0)
    assert reader.scan is None


def test_a_hostile_process_harms_nothing(tree: Callable[[str], ListingFs]) -> None:
    """A megabyte of control characters as command line, name and environment of one rank."""
    noise = b"\x1b[2J\r\n\x07\xff" * 130_000
    stat = tree("proc/torchrun").read("proc/4110/stat").replace(b"(python3)", b"(\x1b[2J) R 1 ()")
    faults = {"cmdline": noise, "environ": noise, "cgroup": noise, "stat": stat}
    host = FaultyFs(
        tree("proc/torchrun"),
        {f"proc/4110/{leaf}": Fault(contents=iter([raw])) for leaf, raw in faults.items()},
    )
    collector = JobCollector(host, ManualClock())
    collector.poll(TRN2)
    process = next(
        rank.process for job in collector.jobs for rank in job.ranks if rank.process.pid == 4110
    )
    assert process.state == "R"
    assert all(text.isprintable() for text in (process.name, process.command, process.cgroup or ""))
    assert len(process.command) <= 200
    assert process.unknown == ("environ: empty, written over or too long",)
