"""What goes wrong on a core or in a job: errors that the runtime counts, slow cores, leaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.faults.kind import FaultKind, Parameter, at_end, core_of
from neuron_observer.sim.faults.lines import say_hardware_error
from neuron_observer.sim.kernel import ERROR
from neuron_observer.sim.state import DEVICE_MEMORY, DRIVER_INFO, RUNTIME_INFO, STATUS

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import Fault
    from neuron_observer.sim.job import RunningJob
    from neuron_observer.sim.world import World

MIB = 1 << 20
_COUNT = Parameter("count", 1, "errors", least=1, most=1_000_000)
_ENDS_JOB = Parameter("ends_job", True, "the job on the device fails and ends")
_ERRORS = tuple(name for name in STATUS if name != "success")
_MEMORY = ("device_mem", *(f"device_mem/{name}" for name in DEVICE_MEMORY), "host_mem")


def jobs_on(world: World, device: int) -> list[RunningJob]:
    """Running jobs that use a device."""
    return [job for job in world.jobs if job.uses(world.node.devices[device])]


def fail(world: World, fault: Fault, counter: str, ends_job: bool, count: int = 1) -> None:  # noqa: FBT001 - a parameter of faults
    """A process meets an error: it counts it, if one runs there, and maybe ends."""
    jobs = jobs_on(world, fault.device)
    if not jobs:
        return
    core_of(world, fault).counters[counter].count(count)
    if ends_job:
        for job in jobs:
            job.end()


def _nc_error(world: World, fault: Fault) -> None:
    say_hardware_error(world, "NC_UNCORRECTABLE_ERROR", fault.device, fault.core)
    fail(world, fault, "hw_nc_ue_error", fault.flag("ends_job"), fault.whole("count"))


def _dma_abort(world: World, fault: Fault) -> None:
    index = fault.device
    world.say(
        "neuron:ndma_memcpy_wait_for_completion: DMA completion timeout on"
        f" nd{index:02d} for UDMA_ENG_{fault.core} q0 desc count 64",
        ERROR,
    )
    say_hardware_error(world, "DMA_ERROR", index, fault.core)
    fail(world, fault, "hw_dma_abort_error", fault.flag("ends_job"), fault.whole("count"))


def _errors(world: World, fault: Fault) -> None:
    def again() -> None:
        counter = core_of(world, fault).counters[fault.text("counter")]
        counter.count(fault.whole("count"))
        if not jobs_on(world, fault.device):
            counter.flush()  # a process that ended at once

    again()
    if fault.number("every"):
        world.every(fault.number("every"), again, until=fault.until)


def _throttled(world: World, fault: Fault) -> None:
    def set_pace(pace: float) -> None:
        core_of(world, fault).pace = pace
        for job in jobs_on(world, fault.device):
            job.set_pace()

    set_pace(fault.number("pace"))
    at_end(world, fault, lambda: set_pace(1.0))


def _hang(world: World, fault: Fault) -> None:
    """The processes stay, hold what they hold and execute nothing more."""

    def set_pace(pace: float) -> None:
        for job in jobs_on(world, fault.device):
            job.hang(pace)

    set_pace(0.0)
    at_end(world, fault, lambda: set_pace(1.0))


class _Leak:
    """Memory that is taken and not given back: of the host, or of a core until it is full."""

    def __init__(self, world: World, fault: Fault) -> None:
        self.world, self.fault = world, fault
        self.size = int(fault.number("rate") * MIB)
        self.core = core_of(world, fault)
        self.lost = 0
        self.full = False

    def more(self) -> None:
        """Another second."""
        if self.fault.text("where") == "host":
            self.world.node.host.leaked += self.size
            return
        chip, core = self.world.node.instance.chip, core_of(self.world, self.fault)
        if core is not self.core:  # the driver was loaded anew
            self.core, self.lost, self.full = core, 0, False
        if core.held.total + self.size <= chip.stacks * chip.stack_bytes // chip.cores:
            core.allocate("tensors", self.size)
            self.lost += self.size
        elif not self.full:
            self.full = True
            self.world.say(
                f"neuron:mc_alloc_internal: nd {self.fault.device} HBM 0: Could not allocate"
                f" {self.size} bytes at offset 0 for contiguous scratchpad",
                ERROR,
            )

    def give_back(self) -> None:
        """The fault is over."""
        if self.fault.text("where") == "host":
            self.world.node.host.leaked = 0
        elif core_of(self.world, self.fault) is self.core and self.lost:
            self.core.allocate("tensors", -self.lost)


def _leak(world: World, fault: Fault) -> None:
    leak = _Leak(world, fault)
    world.every(1.0, leak.more, until=fault.until)
    at_end(world, fault, leak.give_back)


def _cleared(world: World, fault: Fault) -> None:
    name, core = fault.text("counter"), core_of(world, fault)
    world.settle()
    if name in core.counters:
        core.counters[name].clear()
    elif name == "host_mem":
        core.host.total = 0
    elif name == "device_mem":
        core.held.total = 0
    else:
        core.categories[name.rpartition("/")[2]].total = 0


def _job_ends(world: World, fault: Fault) -> None:
    ended = jobs_on(world, fault.device)
    for job in ended:
        job.end()

    def again() -> None:
        for job in ended:
            job.start()

    at_end(world, fault, again)


FAULTS = (
    FaultKind(
        "nc_error",
        "core",
        "Uncorrectable error of a core, told by the runtime.",
        _nc_error,
        (_COUNT, _ENDS_JOB),
        ends=False,
    ),
    FaultKind(
        "dma_abort",
        "core",
        "A DMA engine of the core's device aborts: time-out line, runtime line, counter.",
        _dma_abort,
        (_COUNT, _ENDS_JOB),
        ends=False,
    ),
    FaultKind(
        "status_errors",
        "core",
        "Any counter of `status` counts, with no kernel line.",
        _errors,
        (
            Parameter("counter", "timeout", "which", choices=_ERRORS),
            _COUNT,
            Parameter("every", 0.0, "seconds until it counts again; 0: once", least=0.1, zero=True),
        ),
    ),
    FaultKind(
        "throttled_core",
        "core",
        "A core runs slower; the other cores of its job wait for it.",
        _throttled,
        (Parameter("pace", 0.6, "share of its speed", least=0.01, most=1.0),),
    ),
    FaultKind("job_hang", "device", "The job on a device executes nothing more, and stays.", _hang),
    FaultKind(
        "job_restart",
        "device",
        "The job on a device ends at `at` and starts again at `until`.",
        _job_ends,
    ),
    FaultKind(
        "memory_leak",
        "core",
        "HBM of a core, or memory of the host, is taken and not given back.",
        _leak,
        (
            Parameter("rate", 64.0, "MiB a second", least=0.001),
            Parameter("where", "device", "whose memory", choices=("device", "host")),
        ),
    ),
    FaultKind(
        "counter_cleared",
        "core",
        "Somebody writes to a counter's `total`.",
        _cleared,
        (
            Parameter(
                "counter",
                "success",
                "which",
                choices=(*STATUS, *RUNTIME_INFO, *DRIVER_INFO, *_MEMORY),
            ),
        ),
        ends=False,
    ),
)
