"""Kernel lines: any text, and the lines that runtime and driver print with a hardware error.

Forms: driver 2.24.7 sources and the `NEURON_HW_ERR` sample of nrt-troubleshoot.rst. The runtime
has its lines printed through the driver (ioctl 113): level err, no prefix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.faults.kind import FaultKind, Parameter
from neuron_observer.sim.kernel import ERROR, USER

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import Fault
    from neuron_observer.sim.world import World

HOST_NAME = "ip-10-0-0-1"
UNKNOWN_INSTANCE = "i-0123456789abcdef0"


def say_hardware_error(
    world: World, kind: str, device: int, core: int, action: str = "TERMINATE_INSTANCE"
) -> None:
    """The line that the runtime has printed for a hardware error."""
    instance = world.node.instance_id or UNKNOWN_INSTANCE
    serial = world.node.devices[device].firmware.serial
    world.say(
        f"NEURON_HW_ERR={kind} instance-id={instance} hostname={HOST_NAME} nd-id={device}"
        f" nc-id={core} serial-num={serial:016x} action={action}",
        ERROR,
    )


def _kernel_lines(world: World, fault: Fault) -> None:
    level = fault.whole("level") + (USER if fault.flag("forged") else 0)

    def say() -> None:
        for text in fault.text("text").splitlines():
            world.say(text, level)

    say()
    if fault.number("every"):
        world.every(fault.number("every"), say, until=fault.until)


FAULTS = (
    FaultKind(
        "kernel_lines",
        "node",
        "Lines in the kernel log, word for word.",
        _kernel_lines,
        (
            Parameter("text", "", "the lines"),
            Parameter("level", 6, "syslog level, 0 to 7", most=7),
            Parameter("every", 0.0, "seconds until they come again; 0: once", least=0.1, zero=True),
            Parameter("forged", False, "written to /dev/kmsg by a program: facility 1"),
        ),
    ),
)
