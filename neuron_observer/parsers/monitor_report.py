"""What a report of neuron-monitor holds (neuron-monitor-user-guide.rst, field captures).

Every value is a `Cell`: a number or text, or the reason why there is none. Utilisation and CPU
shares are ratios (the tool prints percent), memory is in bytes, latency and periods in seconds.
Counts of executions and errors are *tallies of the period*, not totals.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeAlias

from neuron_observer.model import Cell, Missing, Why

ERRORS = ("generic", "numerical", "transient", "model", "runtime", "hardware")
OUTCOMES = (
    "completed",
    "completed_with_err",
    "completed_with_num_err",
    "timed_out",
    "incorrect_input",
    "failed_to_queue",
)
PERCENTILES = ("p0", "p1", "p25", "p50", "p75", "p99", "p100")
SHORTEST_PERIOD = 0.5  # seconds; the first report after a start covers half a millisecond
LONGEST_PERIOD = 86_400.0

Named: TypeAlias = "dict[str, Cell]"  # by the tool's own names


class Activity(str, Enum):
    """Whether anybody uses the devices, as far as the report tells."""

    BUSY = "busy"  # at least one runtime
    IDLE = "idle"  # no runtime, and the hardware is described without an error
    UNKNOWN = "unknown"


class GroupError(NamedTuple):
    """A group that says it failed; its values are `Missing`."""

    group: str
    pid: int | None  # of the runtime, None for a group of the node
    text: str


@dataclass(frozen=True, slots=True)
class CoreUse:
    """One logical core as one runtime sees it."""

    utilization: Cell
    flops: Cell  # floating-point operations per second
    subcores: Named  # utilisation of its physical cores, `nc_v3.N`; empty at LNC 1


@dataclass(frozen=True, slots=True)
class Executions:
    """What a runtime executed in the period."""

    period: Cell
    errors: Named  # ERRORS; `generic` is large in healthy training (SDK issue 673)
    outcomes: Named  # OUTCOMES
    latency: Named  # PERCENTILES, as the caller waited
    device_latency: Named  # PERCENTILES, on the device


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The part of a loaded model that stands on one core."""

    name: str
    device: int | None
    core: int | None  # as reported: within the device
    host: Cell
    neuron_device: Cell
    categories: dict[str, Named]  # `host` and `neuron_device`, by use


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in device memory."""

    name: str | None
    uuid: str | None
    model_id: Cell
    running: bool | None
    subgraphs: tuple[Subgraph, ...]


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory that a runtime holds."""

    period: Cell
    host: Cell
    neuron_device: Cell
    host_categories: Named
    cores: dict[int, Named]  # by logical core: tensors, constants, model_code …
    models: tuple[LoadedModel, ...]


@dataclass(frozen=True, slots=True)
class Runtime:
    """One process that uses devices. Its key is the pid: tags may be the same."""

    pid: int
    tag: str | None
    address: str | None
    cores_period: Cell
    cores: dict[int, CoreUse] | Missing  # by logical core of the node
    executions: Executions
    memory: MemoryUse
    cpu_period: Cell
    cpu_user: Cell
    cpu_system: Cell
    failed: bool  # the whole entry carries an error


@dataclass(frozen=True, slots=True)
class EccCounts:
    """ECC events of one device as reported."""

    mem_corrected: Cell
    mem_uncorrected: Cell
    sram_corrected: Cell
    sram_uncorrected: Cell


@dataclass(frozen=True, slots=True)
class HostCpu:
    """CPU use of the host: shares by kind, over all CPUs and by CPU."""

    period: Cell
    average: Named  # user, nice, system, idle, io_wait, irq, soft_irq
    cpus: dict[int, Named]
    context_switches: Cell


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Memory of the host."""

    period: Cell
    total: Cell
    used: Cell
    swap_total: Cell
    swap_used: Cell


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the devices are; counts as printed (physical or logical is told by `cores`)."""

    device_type: str | None
    device_version: str | None
    core_version: str | None
    devices: Cell
    device_memory: Cell
    cores_per_device: Cell
    lnc: Cell

    @property
    def valid(self) -> bool:
        """Whether the devices are described at all."""
        return isinstance(self.devices, int) and self.devices > 0


@dataclass(frozen=True, slots=True)
class Pod:
    """Who holds a core or a device in Kubernetes."""

    name: str | None
    namespace: str | None
    containers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MonitorReport:
    """One line of neuron-monitor."""

    runtimes: tuple[Runtime, ...] | Missing
    ecc_period: Cell
    ecc: dict[int, EccCounts] | Missing  # by device; a device that is not there is unknown
    cpu: HostCpu
    memory: HostMemory
    instance: dict[str, str]  # instance_id, instance_type …; empty strings left out
    hardware: Hardware
    core_pods: dict[int, Pod]
    device_pods: dict[int, Pod]
    errors: tuple[GroupError, ...]
    unknown: tuple[str, ...]  # keys that we do not know, each once, as a path

    @property
    def activity(self) -> Activity:
        """Busy, idle or unknown: no list of runtimes is not an empty one."""
        if isinstance(self.runtimes, Missing):
            return Activity.UNKNOWN
        if any(not runtime.failed for runtime in self.runtimes):
            return Activity.BUSY
        idle = not self.runtimes and self.hardware.valid
        return Activity.IDLE if idle else Activity.UNKNOWN


def rate(tally: Cell, period: Cell) -> Cell:
    """Events per second: a tally over its own period, refused where the period is absurd."""
    if isinstance(tally, Missing):
        return tally
    if isinstance(period, Missing):
        return period
    if isinstance(tally, str) or isinstance(period, str):
        return Missing(Why.FAILED, "not a number")
    if not SHORTEST_PERIOD <= period <= LONGEST_PERIOD:
        return Missing(Why.NOT_YET, f"a period of {period:g} s gives no rate")
    return tally / period
