"""Devices that are gone, in the ways that sysfs tells apart.

Off the bus: all reads are ones. Missing: no PCI function, not counted. Unbound: a function that
the driver never took, not counted. Init error: counted, and then its probe failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.faults.execution import jobs_on
from neuron_observer.sim.faults.kind import FaultKind, at_end, device_of
from neuron_observer.sim.kernel import ERROR

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import Fault
    from neuron_observer.sim.world import World


def _off(world: World, fault: Fault) -> None:
    firmware = device_of(world, fault).firmware
    firmware.answers = "ones"
    for job in jobs_on(world, fault.device):
        job.hang(0.0)
    at_end(world, fault, lambda: setattr(firmware, "answers", "yes"))


def _gone(world: World, fault: Fault, *, on_bus: bool, counted: bool) -> None:
    """The device has no directory; when the fault is over it is as before."""
    node, device = world.node, device_of(world, fault)
    for job in jobs_on(world, fault.device):
        job.end()
    device.on_bus, device.bound, device.counted, device.shown = on_bus, False, counted, False
    node.changed()

    def back() -> None:
        device.on_bus = device.bound = device.counted = True
        device.shown = node.module != "absent"
        node.changed()

    at_end(world, fault, back)


def _missing(world: World, fault: Fault) -> None:
    _gone(world, fault, on_bus=False, counted=False)


def _unbound(world: World, fault: Fault) -> None:
    _gone(world, fault, on_bus=True, counted=False)


def _init_error(world: World, fault: Fault) -> None:
    address = device_of(world, fault).address
    world.say(f"neuron-driver {address}: create device node failed", ERROR)
    _gone(world, fault, on_bus=True, counted=True)


FAULTS = (
    FaultKind(
        "off_the_bus",
        "device",
        "All reads over PCIe give ones: serial number ffffffffffffffff, largest counts; its job"
        " hangs.",
        _off,
    ),
    FaultKind(
        "device_missing",
        "device",
        "No PCI function and no directory, as if it had not been there at boot; its job ends.",
        _missing,
    ),
    FaultKind(
        "unbound",
        "device",
        "A PCI function without a driver; no directory, not counted; its job ends.",
        _unbound,
    ),
    FaultKind(
        "init_error",
        "device",
        "The driver counted the device and failed to set it up: class files say `init_error`; its"
        " job ends.",
        _init_error,
    ),
)
