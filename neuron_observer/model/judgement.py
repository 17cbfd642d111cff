"""What is judged of a host: findings with their evidence, health with its coverage, the frame."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from neuron_observer.model.host import NO_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model.host import Scalar, Snapshot


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
    SUPPRESSED = "suppressed"  # it is there; somebody said that it shall not count for a while


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
    note: str = ""  # what somebody said of it: acknowledged or suppressed by whom, and why


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


class DeviceHealth(NamedTuple):
    """The verdict on one device."""

    index: int  # type: ignore[assignment]  # it hides tuple.index
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
