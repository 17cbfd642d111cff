"""The words that all parts share: devices, readings, snapshots, findings, health.

Everything here is immutable and without behaviour. Times are seconds. Most are named
tuples: to define as many frozen dataclasses takes 14 ms, a seventh of what `devices` may cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Scalar: TypeAlias = "int | float | str"

NO_FIELDS: Mapping[str, Scalar] = MappingProxyType({})


class Why(str, Enum):
    """Why a reading is missing."""

    UNSUPPORTED = "unsupported"  # this chip, driver or kernel does not offer it
    DENIED = "denied"  # it is there and this user may not read it
    FAILED = "failed"  # it was read and is no valid value, or reading failed
    STALE = "stale"  # it is too old, or its reader did not answer in time
    NOT_YET = "not_yet"  # it will come: driver loading, first of two reads


class Missing(NamedTuple):
    """The absence of a value; never a number."""

    why: Why
    detail: str = ""


class Value(NamedTuple):
    """A value and the monotonic time at which it was read."""

    value: Scalar
    read_time: float


Reading: TypeAlias = "Value | Missing"
Cell: TypeAlias = "Scalar | Missing"


class Place(NamedTuple):
    """Where a reading belongs: the node, a device, a core, a port or a PCI function.

    `label` tells the port (`rdmap16s25/1`), the PCI address or the host sensor; empty otherwise.
    """

    device: int | None = None
    core: int | None = None
    label: str = ""


NODE = Place()


class Column(NamedTuple):
    """The rows of one metric in a batch: `cells[start : start + len(places)]`."""

    metric: str
    start: int
    places: tuple[Place, ...]


class Layout(NamedTuple):
    """What the rows of a batch are; one object for as long as the files stay the same."""

    columns: dict[str, Column]
    sources: tuple[str, ...]  # by row: path below /sys or /proc, `PATH#part` for a part
    rows: dict[tuple[str, Place], int]  # (metric, place) → row


class Batch(NamedTuple):
    """What one lane read of one device (or of the node) at one instant."""

    collector: str
    lane: str
    device: int | None
    layout: Layout
    cells: list[Cell]  # by row; never changed once published
    read_at: float  # monotonic
    seconds: float = 0.0  # how long the read took
    changed: tuple[int, ...] = ()  # rows that differ from the batch before


@dataclass(frozen=True, slots=True)
class Device:
    """One Inferentia or Trainium chip."""

    index: int
    name: str | None  # device_name, e.g. Trainium2
    arch: str | None  # arch_type, e.g. NDv3; not unique to a chip
    serial: str | None
    key: str  # serial, or instance id and index; identifies the chip across restarts
    pci: str | None = None
    numa: int | None = None
    neighbours: tuple[int, ...] | None = None  # None: not readable; (): none
    cores: tuple[Core, ...] = ()


@dataclass(frozen=True, slots=True)
class Core:
    """One physical NeuronCore."""

    device: int
    index: int
    arch: str | None = None  # e.g. NCv3


class Driver(NamedTuple):
    """The kernel module as loaded."""

    version: str | None
    state: str  # absent, coming, live, going, unknown


class Run(NamedTuple):
    """One run of a collector."""

    collector: str
    ok: bool
    seconds: float
    error: str = ""


class Event(NamedTuple):
    """Something that happened at an instant: a driver reload, a counter reset, a kernel line."""

    kind: str
    place: Place
    at: float  # wall clock
    message: str
    fields: Mapping[str, Scalar] = NO_FIELDS


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


class Rank(NamedTuple):
    """One process of a job; `rank` is None where it has none."""

    process: Process
    rank: int | None = None
    local_rank: int | None = None
    cores: Cores = Cores()


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


class JobScan(NamedTuple):
    """What the job map rests on: without it an empty list of jobs would mean nothing."""

    processes: int  # of this /proc
    holders: int
    denied: int  # whose descriptors may not be listed: they may hold devices
    pending: int  # not looked at yet, because a poll looks at a bounded number
    notes: tuple[str, ...] = ()
    mapped: tuple[tuple[int, tuple[str, ...]], ...] = ()  # device → job ids by the mapping folder
    stray_hooks: tuple[int, ...] = ()  # pids for which the hook wrote and that hold no device


class Snapshot(NamedTuple):
    """All that was read of one host, in batches.

    Rates are taken over batch times, never over `at`, which only labels the snapshot.
    """

    at: float  # wall clock
    monotonic: float
    host_root: str
    instance_type: str | None
    driver: Driver
    devices: tuple[Device, ...]
    batches: tuple[Batch, ...]
    events: tuple[Event, ...] = ()
    runs: tuple[Run, ...] = ()
    jobs: tuple[Job, ...] = ()
    job_scan: JobScan | None = None  # None: nobody looked for jobs


class Severity(str, Enum):
    """How bad a finding is."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Confidence(str, Enum):
    """How sure a finding is (architecture, law 5)."""

    CONFIRMED = "confirmed"
    PROBABLE = "probable"
    CONTRADICTED = "contradicted"


class State(str, Enum):
    """Where a finding stands in its life."""

    PENDING = "pending"
    FIRING = "firing"
    ACKNOWLEDGED = "acknowledged"
    RECOVERING = "recovering"
    RESOLVED = "resolved"


class Action(str, Enum):
    """What to do about a finding."""

    NONE = "none"
    WATCH = "watch"
    FIX_PROGRAM = "fix_program"
    UPDATE_SOFTWARE = "update_software"
    RESTART_JOB = "restart_job"
    LOOK_AT_OTHER_WORKERS = "look_at_other_workers"
    RESET_DEVICE = "reset_device"
    RELOAD_DRIVER = "reload_driver"
    REBOOT = "reboot"
    REPLACE_INSTANCE = "replace_instance"


class Verdict(str, Enum):
    """The folded health of an entity."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"


EntityKind: TypeAlias = Literal["node", "device", "core", "link", "port", "job", "rank"]
EvidenceKind: TypeAlias = Literal[
    "register", "counter", "kernel_line", "runtime_line", "monitor", "pci", "heartbeat", "statistic"
]
Trust: TypeAlias = Literal["hardware", "hearsay"]


class Entity(NamedTuple):
    """Who a finding is about."""

    kind: EntityKind
    node: str | None = None
    device: int | None = None
    core: int | None = None
    serial: str | None = None
    port: str | None = None
    job: str | None = None
    rank: int | None = None


class Evidence(NamedTuple):
    """One observation that a finding rests on."""

    kind: EvidenceKind
    trust: Trust
    source: str  # path, file name or series
    value: Scalar | None = None
    previous: Scalar | None = None
    at: float | None = None  # wall clock
    line: int | None = None  # line number in `source`
    fields: Mapping[str, Scalar] = NO_FIELDS  # first_step, last_step, ratio, …


class Finding(NamedTuple):
    """A rule's outcome on one entity."""

    id: str
    entity: Entity
    severity: Severity
    confidence: Confidence
    action: Action
    message: str
    state: State = State.FIRING
    if_confirmed: Action | None = None
    confirm_by: tuple[str, ...] = ()
    blames_hardware: bool = False
    evidence: tuple[Evidence, ...] = ()
    first_seen: float | None = None  # wall clock
    last_seen: float | None = None  # wall clock
    runbook: str = ""
    shadow: bool = False  # rests on an inferred fact: shown, never counted
    program: bool = False  # about a program or a job: no part of the node's health
    impact: str = ""  # which jobs and ranks it hits; empty where that is not known


class Gap(NamedTuple):
    """A signal that takes no part in the verdict, and why."""

    id: str
    why: str
    entity: Entity | None = None


class Coverage(NamedTuple):
    """What a verdict rests on."""

    decided: int = 0
    required: int = 0
    missing: tuple[Gap, ...] = ()
    not_covered: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """The verdict on one device."""

    index: int
    verdict: Verdict
    reason: str


class PartHealth(NamedTuple):
    """The verdict on a core, a link or a port that is not healthy."""

    entity: Entity
    verdict: Verdict
    reason: str


class Health(NamedTuple):
    """The folded verdict on the node, its devices, and the parts of them that are not healthy."""

    verdict: Verdict
    reason: str
    coverage: Coverage = Coverage()
    devices: tuple[DeviceHealth, ...] = ()
    parts: tuple[PartHealth, ...] = ()


class Frame(NamedTuple):
    """What everybody downstream reads: one snapshot, its findings and the health they give."""

    snapshot: Snapshot
    findings: tuple[Finding, ...]
    health: Health
