"""Who uses the devices: processes, the jobs that they make up, and what that rests on."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias


class Pod(NamedTuple):
    """A Kubernetes pod; its name is known where the kubelet's log folders can be listed."""

    uid: str
    name: str | None = None
    namespace: str | None = None


class Process(NamedTuple):
    """A process that holds Neuron devices. None is unknown, never zero or nobody."""

    pid: int  # as the host root's /proc numbers it
    start: float  # seconds after boot; with the pid its identity, for pids are used again
    name: str
    command: str  # without control characters, bounded
    devices: tuple[int, ...]  # host indexes of the devices that it has open
    state: str | None = None  # one letter: R running, S asleep, D uninterruptible, Z zombie …
    threads: int | None = None
    uid: int | None = None
    user: str | None = None
    age: float | None = None
    cpu: float | None = None  # seconds of processor time since it began
    processors: float | None = None  # busy since the read before; None at the first
    waited: float | None = None  # share of that time its main thread wanted to run and could not
    rss: int | None = None  # bytes
    cgroup: str | None = None
    container: str | None = None
    pod: Pod | None = None
    own_pid: int | None = None  # in its own pid namespace, where that is another
    hook: bool | None = None  # whether the step hook writes for it; None: no hook folder
    unknown: tuple[str, ...] = ()  # what could not be read, and why


CoreSource: TypeAlias = Literal["monitor", "visible_cores", "local_rank", "none"]
CoreConfidence: TypeAlias = Literal["reported", "stated", "derived", "unknown"]


class Cores(NamedTuple):
    """The *logical* cores of a process, numbered over the node; physical ones are never told."""

    numbers: tuple[int, ...] = ()
    size: int | None = None  # physical cores in a logical one
    how_many: int | None = None  # where only that is known; 0: all that are free
    source: CoreSource = "none"
    confidence: CoreConfidence = "unknown"
    detail: str = ""


RankPhase: TypeAlias = Literal["init", "compile", "training", "checkpoint", "evaluation", "ended"]
TimeSource: TypeAlias = Literal["none", "blocking", "event"]
StragglerTier: TypeAlias = Literal["notice", "warning", "critical"]


class RankPace(NamedTuple):
    """What a rank does as its own hook tells it, and what that is compared with its peers.

    Times are seconds, medians of the last 12 steps. None is unknown.
    """

    phase: RankPhase
    step: int  # steps that it has finished since it began
    age: float  # since the hook wrote last
    period: float | None = None  # from the end of a step to the end of the next
    busy: float | None = None  # its own work: neither in collectives nor waiting for data
    wait: float | None = None  # in collectives, waiting for peers included
    input: float | None = None  # waiting for data
    tokens: float | None = None  # of a step
    source: TimeSource = "none"  # of `wait`; "none": `busy` is not known
    entered: int = 0  # collectives since it began
    completed: int = 0
    inside: str | None = None  # the collective that it is in
    inside_for: float | None = None  # seconds
    behind: int | None = None  # steps behind the foremost rank of its job on this node
    straggler: StragglerTier | None = None
    kind: str = ""  # of the slowness: compute, chip, host, input, network …
    ratio: float | None = None  # its busy time over what it should be, where it is a straggler
    role: str | None = None  # what it computes, as its program says: pipeline stage …
    replica: str | None = None  # which copy of the model it belongs to


class Rank(NamedTuple):
    """One process of a job; `rank` is None where it has none."""

    process: Process
    rank: int | None = None
    local_rank: int | None = None
    cores: Cores = Cores()
    pace: RankPace | None = None  # None: no hook writes for it


JobPhase: TypeAlias = Literal["init", "compile", "training", "pause", "stalled", "unknown"]
PaceSource: TypeAlias = Literal["hook", "driver", "monitor", "none"]


class JobPace(NamedTuple):
    """How a job gets on, seen from this node: by its hook, else by its devices' executions."""

    phase: JobPhase
    since: float | None = None  # wall clock of the phase's begin
    source: PaceSource = "none"
    period: float | None = None  # s a step (of the last dozen), or an execution, as it is now
    ratio: float | None = None  # that over the usual one, while the job is slower
    heard: int = 0  # ranks whose hook is heard
    slowest: int | None = None  # the rank that holds it up, where one can be named
    limit: float | None = None  # the smallest slowdown of a rank that would be seen (ratio - 1)
    detail: str = ""  # what cannot be said, and why
    learned: bool = False  # its usual times are known; before that nobody is named
    quiet: float | None = None  # s since an execution ended, where that is long


JobKind: TypeAlias = Literal[
    "training", "xla", "server", "notebook", "profiler", "test", "monitor", "leftover", "unknown"
]


class Job(NamedTuple):
    """Processes that work together on Neuron devices."""

    id: str  # the same on all nodes of a job, where its launcher tells enough
    name: str
    kind: JobKind
    why: str  # by which sign the kind was told
    launcher: str | None  # torchrun, slurm, kubernetes, …
    ranks: tuple[Rank, ...]
    devices: tuple[int, ...]
    world_size: int | None = None
    run_id: str | None = None
    master: str | None = None  # host:port
    restarts: int | None = None
    slurm_job: str | None = None
    slurm_step: str | None = None
    node_rank: int | None = None
    tag: str | None = None  # NEURON_PROCESS_TAG
    started: float | None = None  # wall clock, of its oldest process
    mapped: tuple[str, ...] = ()  # job ids that a scheduler's mapping folder names for its devices
    pace: JobPace | None = None  # None: not watched yet, or nothing of it moves


class JobScan(NamedTuple):
    """What the job map rests on: without it an empty list of jobs would mean nothing."""

    processes: int  # of this /proc
    holders: int
    denied: int  # whose descriptors may not be listed: they may hold devices
    pending: int  # not looked at yet, because a poll looks at a bounded number
    notes: tuple[str, ...] = ()
    mapped: tuple[tuple[int, tuple[str, ...]], ...] = ()  # device → job ids by the mapping folder
    stray_hooks: tuple[int, ...] = ()  # pids for which the hook wrote and that hold no device
