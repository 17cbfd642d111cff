"""A node on which a training job runs, byte by byte, on a clock that is moved by hand.

Synchronous training: a step ends on all ranks at once; who works longer waits less. The hook's
files are packed by `tests.heartbeats`; everything is read by the real reader, loop and judge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import inf, nan
from random import Random
from typing import TYPE_CHECKING

from neuron_observer.checks.judging import judge_by, load_rules
from neuron_observer.clock import ManualClock
from neuron_observer.loop import PERIODS, Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.listing import Listing, ListingFs, Node, Pass
from tests.heartbeats import Record, header

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Finding, Frame, Job, Rank
    from neuron_observer.rules.rule import Rule

FOLDER = "run/neuron-observer-ranks"
BOOT = "00010203-0405-0607-0809-0a0b0c0d0e0f"
TICKS = 90_000  # start of the first rank
LIVE = "2.30.2.0"


class LiveHost(ListingFs):
    """A host in memory whose files come, change and go."""

    def __init__(self) -> None:
        super().__init__(Listing({}, [Pass()]), "live")

    def put(self, path: str, content: bytes) -> None:
        """A file as it is now."""
        self._apply(Pass(nodes={path: Node("file", 0o644, content)}))

    def link(self, path: str, target: str) -> None:
        """A link as it is now."""
        self._apply(Pass(nodes={path: Node("link", 0o777, target=target)}))

    def drop(self, prefix: str) -> None:
        """Nothing is at or below this path any more."""
        for path in [p for p in self._nodes if p == prefix or p.startswith(f"{prefix}/")]:
            self._forget(path)


@cache
def rules() -> tuple[Rule, ...]:
    """The shipped rules, loaded once."""
    return load_rules()


@dataclass
class Work:
    """What one rank does in a step, in seconds; None of `busy` stops it there."""

    busy: float | None = 0.6
    input: float = 0.02
    inside: bool = True  # whether a rank that stops has entered the collective


@dataclass
class Training:
    """A job of torchrun; `work` gives what a rank does in a step, `phase` what it says it does."""

    ranks: int = 8
    world: int | None = None
    first: int = 0  # rank of the first one here
    restart: int = 0
    pid: int = 4000
    transfer: float = 0.1
    noise: float = 0.004
    devices: bool = False  # four ranks hold each device
    run: str = "llm"
    hooked: Callable[[int], bool] = lambda _rank: True
    work: Callable[[int, int], Work] = lambda _rank, _step: Work()
    phase: Callable[[float], str] = lambda _now: "training"
    flags: int = 3
    source: int = 1
    code: Callable[[int], int] = lambda _rank: 7
    role: Callable[[int], str] = lambda _rank: ""
    tokens: Callable[[int, int], float] = lambda _rank, _step: nan
    steps: int = 0
    end: float = 0.0  # of the last step, monotonic
    stopped: bool = False
    entered: dict[int, int] = field(default_factory=dict)
    asked: dict[int, float] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    rings: dict[int, bytearray] = field(default_factory=dict)
    random: Random = field(default_factory=lambda: Random(7))  # noqa: S311 - noise

    CALLS = 10  # collectives a step

    def pid_of(self, rank: int) -> int:
        """The process of a rank."""
        return self.pid + rank - self.first

    @property
    def here(self) -> range:
        """The ranks of this node."""
        return range(self.first, self.first + self.ranks)


class Bench:
    """The node, its job, the loop that watches it."""

    def __init__(self, job: Training | None = None, driver: str = "", seconds: float = 1.0) -> None:
        self.host, self.clock = LiveHost(), ManualClock()
        self.look_every = seconds
        self.job = job
        self.frames: list[Frame] = []
        self.told: list[str] = []
        self.host.put("proc/uptime", b"10000.00 20000.00\n")
        self.host.put("proc/sys/kernel/random/boot_id", f"{BOOT}\n".encode())
        self.host.put("proc/2/stat", _stat(2, "kthreadd", 0, 1))
        self.host.put("proc/2/comm", b"kthreadd\n")
        if driver:
            self._driver(driver)
        if job:
            self.start(job)
        options = Options(machine=False, wait_for_firmware=False)
        self.reader = HostReader(self.host, self.clock, options)
        self.judge = judge_by(rules())
        self.loop = Loop(self.reader, schedule=PERIODS, judge=self.judge)

    def _driver(self, version: str) -> None:
        self.host.put("sys/module/neuron/version", f"{version}\n".encode())
        self.host.put("sys/module/neuron/initstate", b"live\n")
        for index in range(4):
            for name, content in (
                ("info/architecture/device_name", b"Trainium2\n"),
                ("info/serial_number", b"a1b2c3d4e5f6071%d\n" % index),
                ("core_count", b"8"),
                ("stats/hardware/mem_ecc_corrected", b"0\n"),
                ("stats/hardware/health_status/unhealthy_components", b"\n"),
            ):
                self.host.put(f"{device(index)}/{name}", content)
            self.count(index, 0)

    def count(self, index: int, executions: int) -> None:
        """Executions on every core of a device."""
        for core in range(2):
            base = f"{device(index)}/neuron_core{core}/stats"
            self.host.put(f"{base}/status/success/total", b"%d\n" % executions)

    def start(self, job: Training) -> None:
        """The processes of a job are there, their first step not done."""
        self.job = job
        job.end = self.clock.monotonic()
        self.host.put(f"proc/{job.pid - 1}/stat", _stat(job.pid - 1, "torchrun", 1, TICKS - 500))
        self.host.put(f"proc/{job.pid - 1}/cmdline", b"torchrun\0train.py\0")
        for rank in job.here:
            job.rings[rank] = bytearray(256 * 64)
            job.entered[rank] = 0
            self._process(job, rank)
        self.write()

    def _process(self, job: Training, rank: int) -> None:
        pid, local = job.pid_of(rank), rank - job.first
        world = job.world or job.ranks
        variables = {
            "RANK": rank,
            "LOCAL_RANK": local,
            "WORLD_SIZE": world,
            "MASTER_ADDR": "node-0",
            "MASTER_PORT": 29500,
            "TORCHELASTIC_RUN_ID": job.run,
            "TORCHELASTIC_RESTART_COUNT": job.restart,
        }
        environ = "\0".join(f"{name}={value}" for name, value in variables.items())
        base = f"proc/{pid}"
        self.host.put(f"{base}/stat", _stat(pid, "python3", job.pid - 1, TICKS + pid))
        status = f"Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t{pid}\nVmRSS:\t4 kB\n"
        self.host.put(f"{base}/status", status.encode())
        self.host.put(f"{base}/cmdline", b"python3\0train.py\0")
        self.host.put(f"{base}/environ", environ.encode() + b"\0")
        self.host.put(f"{base}/cgroup", b"0::/user.slice\n")
        self.waits(rank, 0.0)
        if job.devices:
            self.host.link(f"{base}/fd/6", f"/dev/neuron{local // 4}")

    def waits(self, rank: int, seconds: float) -> None:
        """How long a process has waited for a processor since it began."""
        if self.job:
            text = f"1000000000 {int(seconds * 1e9) + 1} 5\n"
            self.host.put(f"proc/{self.job.pid_of(rank)}/schedstat", text.encode())

    def kill(self, rank: int, *, ended: bool = False) -> None:
        """The process of a rank is gone; one that ended takes its file along."""
        if self.job:
            pid = self.job.pid_of(rank)
            self.job.dead.add(rank)
            self.host.drop(f"proc/{pid}")
            if ended:
                self.host.drop(f"{FOLDER}/rank-{pid}-{TICKS + pid}.hb")

    def stop(self) -> None:
        """All processes of the job are gone, and so are their files."""
        if self.job:
            for rank in self.job.here:
                self.kill(rank, ended=True)
            self.host.drop(f"proc/{self.job.pid - 1}")
            self.job = None

    # -- time

    def run(self, seconds: float) -> list[Finding]:
        """Let time pass, a look at a time; what stands at the end about jobs."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until - 1e-9:
            self.clock.advance(self.look_every)
            if self.job:
                self._train(self.job, self.clock.monotonic())
                self.write()
            frame = self.loop.tick()
            if frame is not None:
                self.frames.append(frame)
                of_jobs = [one for one in frame.findings if one.entity.kind in ("job", "rank")]
                self.told += [f"{one.id} {one.state.value}" for one in of_jobs]
        return self.standing

    def _train(self, job: Training, now: float) -> None:
        """Do the steps that end until now."""
        if job.phase(now) != "training":
            job.end = now  # the step begins after it
            return
        while not job.stopped:
            works = {rank: job.work(rank, job.steps) for rank in job.here}
            if any(work.busy is None for work in works.values()):
                self._stall(job, works)
                return
            noisy = {
                rank: (work.busy or 0.0) * (1 + self.noise(job)) + work.input
                for rank, work in works.items()
            }
            length = max(noisy.values()) + job.transfer
            if job.end + length > now:
                return
            self._finish(job, works, noisy, length)

    @staticmethod
    def noise(job: Training) -> float:
        """A rank's own, the same for the whole run."""
        return job.random.gauss(0.0, job.noise)

    def _finish(
        self, job: Training, works: dict[int, Work], own: dict[int, float], length: float
    ) -> None:
        known = bool(job.source)
        for rank, work in works.items():
            inside = length - own[rank]
            record = Record(
                job.steps,
                job.end,
                job.end + length,
                inside if known else nan,
                (inside - job.transfer * 0.9) / 2 if known else nan,
                work.input if job.flags & 1 else nan,
                job.tokens(rank, job.steps),
                job.CALLS,
                0 if known else 4,
                job.source,
            )
            at = job.steps % 256 * 64
            job.rings[rank][at : at + 64] = record.packed()
            job.entered[rank] += job.CALLS
        job.steps += 1
        job.end += length

    @staticmethod
    def _stall(job: Training, works: dict[int, Work]) -> None:
        """Who stops never comes to the next collective; all others wait in it."""
        job.stopped = True
        inside = {rank for rank, work in works.items() if work.busy is not None or work.inside}
        for rank in inside:
            job.entered[rank] += 1
        for rank, work in works.items():
            if rank not in inside and work.input == inf:
                job.asked[rank] = job.end + 0.01

    def write(self) -> None:
        """The files of the hook as they are now."""
        job = self.job
        if job is None:
            return
        for rank in job.here:
            if rank not in job.dead and job.hooked(rank):
                pid = job.pid_of(rank)
                name = f"{FOLDER}/rank-{pid}-{TICKS + pid}.hb"
                self.host.put(name, self._head(job, rank) + bytes(job.rings[rank]))

    def _head(self, job: Training, rank: int) -> bytes:
        now = self.clock.monotonic()
        waits = job.stopped and job.entered[rank] % job.CALLS != 0
        generation = 2 * (job.steps * 40 + job.entered[rank] + int(job.phase(now) != "training"))
        return header(
            generation=generation + 2 * len(job.asked),
            pid=job.pid_of(rank),
            ticks=TICKS + job.pid_of(rank),
            rank=rank,
            local=rank - job.first,
            world=job.world or job.ranks,
            restarts=job.restart,
            phase="init" if not job.steps else job.phase(now),
            source=job.source,
            flags=job.flags,
            steps=job.steps,
            at=job.end,
            wall=self.clock.wall() - (now - job.end),
            entered=job.entered[rank],
            completed=job.entered[rank] - waits,
            inside_since=job.end + 0.5 if waits else 0.0,
            input_since=job.asked.get(rank, 0.0),
            code=job.code(rank),
            role=job.role(rank),
            run=job.run,
        )

    # -- what is seen

    @property
    def frame(self) -> Frame:
        """The last one."""
        return self.frames[-1]

    @property
    def standing(self) -> list[Finding]:
        """What stands about jobs now."""
        found = [one for one in self.frame.findings if one.entity.kind in ("job", "rank")]
        return [one for one in found if one.state.value != "resolved"]

    @property
    def watched(self) -> Job:
        """The job as the last frame has it."""
        (job,) = self.frame.snapshot.jobs
        return job

    def rank(self, number: int) -> Rank:
        """A rank as the last frame has it."""
        return next(one for one in self.watched.ranks if one.rank == number)


def device(index: int) -> str:
    """The folder of a device."""
    return f"sys/devices/virtual/neuron_device/neuron{index}"


def _stat(pid: int, name: str, parent: int, ticks: int, state: str = "S") -> bytes:
    fields = f"{pid} ({name}) {state} {parent} {pid} {pid} 0 -1 4194304 0 0 0 0 100 50 0 0 20 0 1 0"
    return f"{fields} {ticks} 0 1 0\n".encode()
