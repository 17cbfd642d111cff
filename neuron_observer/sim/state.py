"""What a simulated node holds: plain objects that jobs and faults change and files are made of.

Counters behave as the driver's do (2.24.7 `neuron_sysfs_metrics.c`, `neuron_ds.c`; 2.30.2
`nsysfsmetric_sum_nds_counter`): what a process counts stands in its own page until it ends, or,
from 2.30.2, is summed at every read. Memory is booked with each allocation and release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from neuron_observer.sim.chips import Driver, Instance
    from neuron_observer.sim.work import Load

STATUS = (
    *("success", "failure", "timeout", "exec_bad_input", "hw_error"),
    *("execute_completed_with_error", "execute_completed_with_num_error", "generic_error"),
    *("resource_error", "resource_nc_error", "execute_failed_to_queue", "invalid_error"),
    *("unsupported_neff_version", "oob_error", "hw_collectives_error", "hw_hbm_ue_error"),
    *("hw_nc_ue_error", "hw_dma_abort_error", "execute_sw_nq_overflow"),
    *("execute_sw_semaphore_error", "execute_sw_event_error", "execute_sw_psum_collision"),
    *("execute_sw_sequencer_fatal", "hw_repairable_hbm_ue_error"),
)
RUNTIME_INFO = ("model_load_count", "inference_count", "flop_count", "nc_time_in_use")
DRIVER_INFO = ("reset_req_count", "reset_fail_count")
DEVICE_MEMORY = (
    *("model_code", "tensors", "constants", "model_shared_scratchpad", "runtime_memory"),
    *("driver_memory", "collectives", "nonshared_scratchpad", "notifications", "dma_rings"),
    "uncategorized",
)
HOST_MEMORY = (
    *("dma_buffers", "tensors", "constants", "application_memory", "driver_memory"),
    *("notifications", "dma_rings", "uncategorized"),
)
# bits 3 to 12 of the component register (2.30.2 neuron_sysfs_metrics.c)
COMPONENTS = (
    *("hbm", "firmware_service_api", "firmware_service_processor", "sram", "link_intraserver"),
    *("link_host", "link_efa", "link_interserver", "link_switch", "axi_fabric"),
)
U64 = (1 << 64) - 1
PAGE = 4096
DATASTORES = 16 * 256 * 1024 + 69_632  # bytes that the driver holds on core 0
RINGS = 266_240  # bytes a core
COMPLETION_QUEUES = 28_672  # bytes a core, booked on core 0, 2.30.2

Answers: TypeAlias = Literal["yes", "dead", "ones"]  # dead: 0xdeadbeef; ones: fell off the bus
ModuleState: TypeAlias = Literal["live", "coming", "going", "absent"]


@dataclass(slots=True)
class Counter:
    """One counter: what sysfs shows, and what the running process has in its page."""

    live: bool  # shown while its process runs
    total: int = 0
    present: int = 0
    page: int = 0

    def count(self, number: int) -> None:
        """The running process counts."""
        if self.live:
            self.total = self.present = (self.total + number) & U64
        else:
            self.page += number

    def book(self, number: int) -> None:
        """The driver itself counts."""
        self.total = (self.total + number) & U64
        self.present = number

    def flush(self) -> None:
        """The process ends: its page is added to what sysfs shows."""
        if self.page:
            self.book(self.page)
            self.page = 0

    def clear(self) -> None:
        """Somebody writes to `total`."""
        self.total = 0
        if self.live:
            self.present = 0


@dataclass(slots=True)
class Memory:
    """Bytes held now, of the last allocation or release, and at most."""

    total: int = 0
    present: int = 0
    peak: int = 0

    def add(self, size: int) -> None:
        """Book an allocation, or with a negative size a release: unsigned, and unchecked."""
        self.total = (self.total + size) & U64
        self.present = abs(size)
        self.peak = max(self.peak, self.total)


@dataclass(slots=True)
class Core:
    """One physical core."""

    device: int
    index: int
    counters: dict[str, Counter]
    host: Memory = field(default_factory=Memory)
    held: Memory = field(default_factory=Memory)
    categories: dict[str, Memory] = field(
        default_factory=lambda: {name: Memory() for name in DEVICE_MEMORY}
    )
    load: Load | None = None
    busy: float = 0.0  # seconds of execution since the driver was loaded; nobody clears it
    pace: float = 1.0  # share of its speed that a throttled core still has

    def allocate(self, category: str, size: int) -> None:
        """HBM for a category of this core; negative: release."""
        self.categories[category].add(size)
        self.held.add(size)


@dataclass(slots=True)
class Firmware:
    """What the firmware of one device holds in its registers; survives the driver."""

    serial: int
    api: int
    stacks: list[list[int]]  # of each HBM stack: unrepairable, repairable errors
    build: int = 20_260_611
    sram_uncorrected: int = 0
    sram_corrected: int = 0
    hbm_corrected: int = 0
    repair: int = 0  # 0 nothing pending, 1 pending, 2 failed
    components: int = 0
    answers: Answers = "yes"
    stuck_at: int | None = None  # heartbeat


@dataclass(slots=True)
class Power:
    """The driver's power sampler of one device."""

    line: bytes = b"POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n"
    samples: list[float] = field(default_factory=list)  # percent, since the last minute
    pinned: float | None = None
    starved: bool = False


@dataclass(slots=True)
class Device:
    """One device: its chip, its firmware and what the driver keeps of it."""

    index: int
    firmware: Firmware
    cores: list[Core]
    address: str
    numa: int
    host: dict[str, Memory] = field(
        default_factory=lambda: {name: Memory() for name in HOST_MEMORY}
    )
    power: Power = field(default_factory=Power)
    state: int = 1  # 0 reset, 1 ready, 2 invalid
    on_bus: bool = True  # a PCI function is there
    bound: bool = True  # to neuron-driver
    counted: bool = True  # the driver counted it when it probed
    shown: bool = True  # it has a directory
    hang: float = 0.0  # seconds that a read of a firmware register takes
    error_events: int = 0
    cached: tuple[int, ...] | None = None  # error registers as the driver saw them last
    cached_beat: int = 0

    def book_host(self, core: Core, category: str, size: int) -> None:
        """Host memory for a category of this device and one of its cores."""
        self.host[category].add(size)
        core.host.add(size)


@dataclass(slots=True)
class Port:
    """One EFA with its one port."""

    name: str
    address: str
    numa: int
    counters: dict[str, int]
    device_counters: dict[str, int]
    state: str = "4: ACTIVE"
    phys_state: str = "5: LinkUp"
    carried: int = 0  # steps of traffic that were counted
    present: bool = True


@dataclass(slots=True)
class Process:
    """One process of a job; devices are those that it holds open."""

    pid: int
    parent: int
    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    since: float  # simulated seconds
    started: float  # seconds after boot
    devices: tuple[int, ...] = ()
    processors: float = 0.0
    memory: int = 64 << 20  # bytes
    threads: int = 1


@dataclass(slots=True)
class HostUse:
    """What the host does besides: shares of its processors, memory, disk."""

    user: float = 0.0  # processors busy in programs, now
    done: float = 0.0  # processor seconds in programs until `since`
    since: float = 0.0
    memory: int = 0  # bytes of programs
    leaked: int = 0

    def worked(self, now: float) -> float:
        """Processor seconds in programs until `now`."""
        return self.done + self.user * (now - self.since)

    def change(self, now: float, processors: float) -> None:
        """From now on so many more (or fewer) processors are busy."""
        self.done, self.since = self.worked(now), now
        self.user = max(self.user + processors, 0.0)


@dataclass(slots=True)
class Node:
    """The whole node."""

    instance: Instance
    driver: Driver
    devices: list[Device]
    ports: list[Port]
    instance_id: str | None = None
    module: ModuleState = "live"
    loaded_at: float = 0.0  # seconds after the host was booted
    major: int = 241
    processes: dict[int, Process] = field(default_factory=dict)  # by pid
    host: HostUse = field(default_factory=HostUse)
    parameters: dict[str, str] = field(default_factory=dict)  # of the module, if not the default
    elected: bool = True  # UltraServers: the election of the node's place went well
    structure: int = 0  # rises whenever files come or go

    def changed(self) -> None:
        """Files come or go."""
        self.structure += 1

    @property
    def counted(self) -> int:
        """Devices that the driver counted; 0 until all probes are through."""
        if self.module != "live":
            return 0
        return sum(device.counted for device in self.devices)

    def listed(self) -> list[tuple[int, Device]]:
        """Number and device of each directory: an index on trn1 and later, running on inf1."""
        shown = [device for device in self.devices if device.shown]
        if self.instance.chip.device_arch == "NDv1":
            return list(enumerate(shown))
        return [(device.index, device) for device in shown]
