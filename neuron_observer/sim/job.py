"""Jobs that compute: processes that take cores and memory, execute, and give all of it back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.sim.chips import GIB
from neuron_observer.sim.loading import say_reset
from neuron_observer.sim.network import carry
from neuron_observer.sim.processes import launch, make_rank
from neuron_observer.sim.state import PAGE
from neuron_observer.sim.work import Load

if TYPE_CHECKING:
    from neuron_observer.sim.state import Core, Device
    from neuron_observer.sim.world import World

LARGEST = 2 << 20  # bytes of the last allocation that a core makes
# shares of a job's HBM by category, and bytes of host memory a core
_HBM = (
    *(("model_code", 26), ("constants", 500), ("model_shared_scratchpad", 156), ("tensors", 234)),
    *(("runtime_memory", 3), ("collectives", 41), ("nonshared_scratchpad", 13)),
    *(("notifications", 6), ("dma_rings", 14)),
)
_HOST = (
    *(("dma_buffers", 24 << 20), ("tensors", 48 << 20), ("application_memory", 12 << 20)),
    *(("constants", 1 << 20), ("notifications", 6 << 20), ("dma_rings", 9 << 20)),
)
ACHIEVED = 0.7  # share of the peak operations that a busy core reaches; made up
_IN_TURN = 8  # one core in so many changes its memory at a time
_BREATH = 5.0  # seconds between two changes of a job's memory
_STEP = 0.5  # seconds between two steps, each of which sends its traffic


class Job(NamedTuple):
    """What a job does and where."""

    name: str = "training"
    at: float = 0.0
    until: float | None = None
    devices: tuple[int, ...] = ()
    cores: tuple[int, ...] | None = None  # of each device; None: all
    utilization: float = 0.85
    executions: float = 4.0  # a second and core
    memory: float = 0.45  # of the HBM
    traffic: float = 2.0  # GB a second and EFA
    processors: float = 0.5  # of the host, a process
    host_memory: float = 4.0  # GiB a process


@dataclass(slots=True)
class _Place:
    """A core that the job took, and what it holds there."""

    device: Device
    core: Core
    wobble: float  # of its share
    phase: float  # of its ripple
    held: list[tuple[str, int]] = field(default_factory=list)
    host: list[tuple[str, int]] = field(default_factory=list)


class RunningJob:
    """A job from its start to its end."""

    def __init__(self, world: World, job: Job) -> None:
        self.world, self.job = world, job
        self.places: list[_Place] = []
        self.pids: list[int] = []
        self.running = False
        self.hung = False
        self._breaths = 0

    def start(self) -> None:
        """Take the cores, load a model, begin to execute."""
        over = self.job.until is not None and self.world.now >= self.job.until
        if self.running or over or self.world.node.module != "live":
            return
        self.running, self.hung = True, False
        node = self.world.node
        numbers = {device.index: number for number, device in node.listed()}
        ready = [
            device
            for device in (node.devices[index] for index in self.job.devices)
            if device.index in numbers and device.state == 1 and device.firmware.answers == "yes"
        ]
        launcher = launch(self.world, self.job.name, len(ready)) if ready else 0
        self.pids = [launcher] if ready else []
        for device in ready:
            self._attach(device, numbers[device.index], launcher, len(ready))
        self._set_pace()
        self._use_host(1)
        node.changed()
        self.world.every(_BREATH, self._breathe, until=self.job.until)
        if len(self.pids) > 2:  # the launcher and two that talk to each other
            self.world.every(_STEP, self._talk, until=self.job.until)

    def _use_host(self, sign: int) -> None:
        """Take processors and memory of the host for all processes, or give them back."""
        host, count = self.world.node.host, max(len(self.pids) - 1, 0) * sign
        host.change(self.world.now, self.job.processors * count)
        host.memory += int(self.job.host_memory * GIB) * count

    def _attach(self, device: Device, number: int, launcher: int, ranks: int) -> None:
        world, job = self.world, self.job
        wanted = job.cores if job.cores is not None else range(len(device.cores))
        free = [device.cores[n] for n in wanted if device.cores[n].load is None]
        if not free:
            return
        process = make_rank(world, job.name, launcher, number, (len(self.pids) - 1, ranks))
        process.processors, process.memory = job.processors, int(job.host_memory * GIB)
        world.node.processes[process.pid] = process
        pid = process.pid
        self.pids.append(pid)
        world.say(f"neuron:npid_attach: pid={pid}, slot=0")
        say_reset(world, device, "TPB", pid)
        for core in free:
            core.counters["reset_req_count"].book(1)
            core.counters["model_load_count"].count(world.random.randint(1, 3))
            wobble = world.random.uniform(0.98, 1.0)
            place = _Place(device, core, wobble, world.random.uniform(0, 2 * math.pi))
            self.places.append(place)
            self._take_memory(place)

    def _take_memory(self, place: _Place) -> None:
        chip = self.world.node.instance.chip
        whole = chip.stacks * chip.stack_bytes // chip.cores * self.job.memory
        for category, thousandths in _HBM:
            size = int(whole * thousandths / 1000 * self.world.random.uniform(0.97, 1.0))
            size = max(size // PAGE * PAGE, LARGEST)
            for part in (size - LARGEST, LARGEST):
                if part:
                    place.core.allocate(category, part)
            place.held.append((category, size))
        for category, size in _HOST:
            place.device.book_host(place.core, category, size)
            place.host.append((category, size))

    def _set_pace(self) -> None:
        """A synchronous job goes as fast as its slowest core: the others wait for it."""
        self.world.settle()
        job, flops = self.job, self.world.node.instance.chip.flops * ACHIEVED
        pace = min((place.core.pace for place in self.places), default=1.0)
        pace = 0.0 if self.hung else pace
        for place in self.places:
            share = min(job.utilization * place.wobble * pace / place.core.pace, 1.0)
            place.core.load = Load(
                since=self.world.now,
                share=share,
                executions=job.executions * pace,
                flops=flops * job.utilization * pace,
                phase=place.phase,
            )

    def set_pace(self) -> None:
        """A core became slower or faster."""
        if self.running:
            self._set_pace()

    def hang(self, pace: float) -> None:
        """Execute nothing more (0), or go on (1)."""
        self.hung = pace == 0
        self.set_pace()

    def uses(self, device: Device) -> bool:
        """Whether it runs on a device."""
        return self.running and any(place.device is device for place in self.places)

    def _breathe(self) -> None:
        """A buffer comes or goes on each core."""
        if not self.running:
            return
        self._breaths += 1
        for place in self.places[self._breaths % _IN_TURN :: _IN_TURN]:
            size = self.world.random.randint(1, 16) * (1 << 20)
            place.core.allocate("tensors", size)
            place.core.allocate("tensors", -size)

    def _talk(self) -> None:
        """A step's traffic goes over the network; whoever stands still sends nothing."""
        if self.running and not self.hung:
            for port in self.world.node.ports:
                carry(port, int(self.job.traffic * 1e9 * _STEP))

    def end(self) -> None:
        """The processes end: counters are handed over, memory is given back."""
        if not self.running:
            return
        self.running = False
        self.world.settle()
        node = self.world.node
        for place in self.places:
            place.core.load = None
            for counter in place.core.counters.values():
                counter.flush()
            for category, size in place.held:
                place.core.allocate(category, -size)
            for category, size in place.host:
                place.device.book_host(place.core, category, -size)
        for pid in self.pids:
            node.processes.pop(pid, None)
            if pid != self.pids[0]:
                self.world.say(f"neuron:npid_detach: pid={pid}, slot=0")
        self._use_host(-1)
        node.changed()
        self.places, self.pids = [], []
