"""The kernel module: reloaded, gone, and devices that are reset again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.faults.execution import jobs_on
from neuron_observer.sim.faults.kind import FaultKind, Parameter, at_end, device_of
from neuron_observer.sim.loading import DRIVERS_OWN, load, say_reset, unload
from neuron_observer.sim.parameters import PARAMETERS

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import Fault
    from neuron_observer.sim.state import Firmware
    from neuron_observer.sim.world import World


def _unload(world: World) -> None:
    for job in world.jobs:
        job.end()
    unload(world)


def _reload(world: World, fault: Fault) -> None:
    running = [job for job in world.jobs if job.running]
    gone, coming = fault.number("gone"), fault.number("coming")
    _unload(world)

    def repair() -> None:
        if fault.flag("repairs"):
            for device in world.node.devices:
                _repaired(device.firmware)
        load(world, coming)

    world.after(gone, repair)
    if fault.flag("restart_jobs"):
        for job in running:
            world.after(gone + coming + 1, job.start)


def _repaired(firmware: Firmware) -> None:
    if firmware.repair == 1:
        firmware.repair = 0
        for stack in firmware.stacks:
            stack[1] = 0


def _absent(world: World, fault: Fault) -> None:
    _unload(world)
    at_end(world, fault, lambda: load(world, 5.0))


def _reset(world: World, fault: Fault) -> None:
    device, fails = device_of(world, fault), fault.flag("fails")

    def once() -> None:
        if world.node.module == "absent":
            return
        for job in jobs_on(world, fault.device):
            job.end()
        for core in device.cores:
            core.counters["reset_req_count"].book(1)
        if not fails:
            say_reset(world, device, "device", DRIVERS_OWN)
            return
        prefix = f"neuron:nr_reset_thread_fn: nd{device.index}: "
        world.say(f"{prefix}initiating device reset request {DRIVERS_OWN}")
        world.say(f"{prefix}reset request {DRIVERS_OWN} was initiated, but failed to complete")
        device.state = 2
        for core in device.cores:
            core.counters["reset_fail_count"].book(1)

    def ready() -> None:
        device.state = 1

    once()
    world.every(fault.number("every"), once, until=fault.until)
    at_end(world, fault, ready)


def _parameter(world: World, fault: Fault) -> None:
    node, name = world.node, fault.text("parameter")
    node.parameters[name] = fault.text("value")
    node.changed()

    def back() -> None:
        node.parameters.pop(name, None)
        node.changed()

    at_end(world, fault, back)


def _election(world: World, fault: Fault) -> None:
    world.node.elected = False
    world.say("neuron:npe_election_thread_fn: nd00: ultraserver election failed")
    world.node.changed()

    def repeat() -> None:
        world.node.elected = True
        world.node.changed()

    at_end(world, fault, repeat)


FAULTS = (
    FaultKind(
        "driver_reload",
        "node",
        "Jobs end, the driver goes and comes again: all its counters are 0.",
        _reload,
        (
            Parameter("gone", 5.0, "seconds without a driver", least=0.5),
            Parameter("coming", 10.0, "seconds in which the devices appear one by one", least=0.1),
            Parameter("restart_jobs", True, "jobs start again when it is live"),
            Parameter("repairs", True, "pending HBM repairs are done"),
        ),
        ends=False,
    ),
    FaultKind("driver_absent", "node", "Jobs end, the driver is not loaded.", _absent),
    FaultKind(
        "module_parameter",
        "node",
        "The driver was loaded with a parameter that is not the default.",
        _parameter,
        (
            Parameter("parameter", "no_reset", "which", choices=tuple(PARAMETERS)),
            Parameter("value", "1", "its value"),
        ),
    ),
    FaultKind(
        "election_failed",
        "node",
        "An UltraServer does not find its place: ids -1, mode 4 (trn2u.48xlarge).",
        _election,
    ),
    FaultKind(
        "reset_loop",
        "device",
        "The device is reset again and again.",
        _reset,
        (
            Parameter("every", 20.0, "seconds", least=0.1),
            Parameter("fails", False, "the resets fail: state 2"),
        ),
    ),
)
