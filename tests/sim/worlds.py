"""Worlds that tests make up: an instance type, jobs, faults by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.clock import ManualClock
from neuron_observer.sim.chips import choose
from neuron_observer.sim.faults import FAULTS
from neuron_observer.sim.faults.kind import Fault
from neuron_observer.sim.fs import SimulatedFs, set_clocks
from neuron_observer.sim.job import Job
from neuron_observer.sim.play import play
from neuron_observer.sim.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.sim.faults.kind import Setting
    from neuron_observer.sim.world import World

DEVICE = "sys/devices/virtual/neuron_device/neuron{}"
BEGIN = 1_788_000_000.0  # wall clock, a whole minute


def fault(
    name: str,
    at: float = 10.0,
    until: float | None = None,
    *,
    device: int = 0,
    core: int = 0,
    port: int = 0,
    **values: Setting,
) -> Fault:
    """A fault with its defaults and what is said otherwise."""
    kind = FAULTS[name]
    defaults = {one.name: one.default for one in kind.parameters}
    unknown = set(values) - set(defaults)
    assert not unknown, unknown
    return Fault(kind, at, until, device, core, port, defaults | values)


def world_of(
    *faults: Fault,
    instance: str = "trn2.3xlarge",
    driver: str = "2.30.2",
    jobs: Sequence[Job] | None = None,
) -> World:
    """A world at its beginning; one job on all devices unless others are named."""
    chosen, version = choose(instance, driver)
    if jobs is None:
        jobs = (Job(at=1.0, devices=tuple(range(chosen.devices))),)
    world = play(Scenario("", chosen, version, tuple(jobs), faults))
    set_clocks(world, ManualClock(wall=BEGIN), 0.0)
    return world


class Bench:
    """A world, a clock and the host that reads it."""

    def __init__(self, world: World, *, speed: float = 1.0) -> None:
        self.world = world
        self.clock = ManualClock(wall=BEGIN)
        self.host = SimulatedFs(world, self.clock, speed=speed)

    def go(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)
        self.host.sync()

    def text(self, path: str, device: int = 0) -> str:
        """A file of a device."""
        return self.host.read(f"{DEVICE.format(device)}/{path}").decode()

    def number(self, path: str, device: int = 0) -> int:
        """A number in a file of a device."""
        return int(self.text(path, device))

    def log(self) -> str:
        """Everything that the kernel has printed."""
        return b"\n".join(self.host.records(0)[0]).decode()


def bench(
    *faults: Fault, instance: str = "trn2.3xlarge", driver: str = "2.30.2", **more: object
) -> Bench:
    """A bench of a world made up as by `world_of`."""
    return Bench(world_of(*faults, instance=instance, driver=driver, **more))  # type: ignore[arg-type]
