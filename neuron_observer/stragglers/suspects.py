"""What the detector says: who is slow, since when, by how much, of what kind, at what cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuron_observer.stragglers.channel import Tier
    from neuron_observer.stragglers.slowdown import Slowdown


class Scope(str, Enum):
    """The smallest thing that explains the slow ranks."""

    CORE = "core"
    DEVICE = "device"
    NODE = "node"
    LINK = "link"
    WORKLOAD = "workload"
    JOB = "job"


class Kind(str, Enum):
    """What sort of slowness it is."""

    COMPUTE = "compute"
    CHIP = "chip"  # HBM or another part of the chip
    THROTTLED = "throttled"
    HOST = "host"
    INPUT = "input"
    NETWORK = "network"
    IMBALANCE = "imbalance"
    ALWAYS = "always_slow"  # since before we watched
    UNKNOWN = "unknown"


class Agreement(str, Enum):
    """Whether the rank that computes longer also waits less, as a culprit must."""

    AGREES = "agrees"
    DIFFERS = "differs"  # off the critical path with idle peers, or a wrong measurement
    UNKNOWN = "unknown"


class Regime(str, Enum):
    """How the workload's own variation is removed."""

    LEARNING = "learning"  # no baseline yet
    FIXED = "fixed"  # own baseline and the job's median
    TWO_WAY = "two_way"  # role x replica as well
    NOISY = "noisy"  # it cannot be: windows only, notices only
    BLIND = "blind"  # no busy times


@dataclass(frozen=True, slots=True)
class Suspect:
    """One slow part of a job. `ratio` is its time over what it should be; steps are inclusive."""

    scope: Scope
    kind: Kind
    tier: Tier
    rows: tuple[int, ...]  # positions in the topology
    ranks: tuple[int, ...]
    first_step: int
    last_step: int
    slow_steps: int
    ratio: float
    since: float  # wall clock of the first slow step
    worst: float = float("nan")  # ratio of the slowest step
    cost: float | None = None  # share of the job's rank-seconds; None: not known
    lost: float | None = None  # rank-seconds a step
    agreement: Agreement = Agreement.UNKNOWN
    basis: tuple[str, ...] = ()  # what speaks for the kind
    excluded: tuple[str, ...] = ()  # what it is not, and why
    group: str = ""  # label of the link's group, or of the stage or replica
    hardware: bool = False  # a hardware counter says the same
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Assessment:
    """The state of one job after one update."""

    step: int
    at: float
    regime: Regime
    sigma: float  # of the residuals in use; NaN while learning
    suspects: tuple[Suspect, ...] = ()  # open now
    closed: tuple[Suspect, ...] = ()  # ended with this update
    limit: float = float("nan")  # smallest slowdown of a rank that would be seen (ratio - 1)
    slowdown: Slowdown | None = None  # stage A, while the job is slower than it was
    refusals: tuple[str, ...] = ()  # why nobody, or nobody more, is named
