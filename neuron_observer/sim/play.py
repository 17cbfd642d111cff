"""A scenario set up as a world: its jobs and faults put on the timeline."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from neuron_observer.sim.fs import SimulatedFs, set_clocks
from neuron_observer.sim.job import RunningJob
from neuron_observer.sim.world import World

if TYPE_CHECKING:
    from neuron_observer.clock import Clock
    from neuron_observer.sim.scenario import Scenario


def simulate(
    scenario: Scenario, clock: Clock, *, begin: float | None = None, speed: float = 1.0
) -> SimulatedFs:
    """A host that plays a scenario by a clock; `begin` seconds of it are over (its warm-up)."""
    world = play(scenario)
    begin = scenario.warm_up if begin is None else begin
    set_clocks(world, clock, begin, speed)
    world.advance_to(begin)
    return SimulatedFs(world, clock, speed=speed)


def play(scenario: Scenario) -> World:
    """The world of a scenario at its beginning; nothing has happened yet."""
    world = World(scenario.instance, scenario.driver, seed=scenario.seed)
    world.node.instance_id = scenario.instance_id
    for job in scenario.jobs:
        running = RunningJob(world, job)
        world.jobs.append(running)
        world.at(job.at, running.start)
        if job.until is not None:
            world.at(job.until, running.end)
    for fault in scenario.faults:
        world.at(fault.at, partial(fault.kind.begin, world, fault))
    return world
