"""The firmware of a device: its components, heartbeat, power, and whether it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.faults.kind import FaultKind, Parameter, at_end, device_of
from neuron_observer.sim.kernel import ERROR
from neuron_observer.sim.registers import BEATS
from neuron_observer.sim.state import COMPONENTS

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import Fault
    from neuron_observer.sim.world import World


def _component(world: World, fault: Fault) -> None:
    firmware = device_of(world, fault).firmware
    bit = 1 << COMPONENTS.index(fault.text("component"))
    firmware.components |= bit

    def recover() -> None:
        firmware.components &= ~bit

    at_end(world, fault, recover)


def _stuck(world: World, fault: Fault) -> None:
    firmware = device_of(world, fault).firmware
    firmware.stuck_at = int(world.now * BEATS)
    at_end(world, fault, lambda: setattr(firmware, "stuck_at", None))


def _dead(world: World, fault: Fault) -> None:
    firmware = device_of(world, fault).firmware
    firmware.answers = "dead"
    world.say("neuron:fw_io_execute_request: seq: 17, cmd: 1 timed out", ERROR)
    at_end(world, fault, lambda: setattr(firmware, "answers", "yes"))


def _hanging(world: World, fault: Fault) -> None:
    device = device_of(world, fault)
    device.hang = fault.number("seconds")
    at_end(world, fault, lambda: setattr(device, "hang", 0.0))


def _flat(world: World, fault: Fault) -> None:
    power = device_of(world, fault).power
    power.pinned = fault.number("percent")
    at_end(world, fault, lambda: setattr(power, "pinned", None))


def _starved(world: World, fault: Fault) -> None:
    power = device_of(world, fault).power
    power.starved = True
    at_end(world, fault, lambda: setattr(power, "starved", False))


FAULTS = (
    FaultKind(
        "component",
        "device",
        "The firmware calls one of its components unhealthy (shown on trn2 and trn3, 2.30.2).",
        _component,
        (Parameter("component", "hbm", "which", choices=COMPONENTS),),
    ),
    FaultKind(
        "heartbeat_stuck",
        "device",
        "The firmware's heartbeat stands still (shown on trn2 and trn3, 2.30.2).",
        _stuck,
    ),
    FaultKind(
        "firmware_dead",
        "device",
        "All registers read 0xdeadbeef: empty serial number, ECC 0, `busy`, `device_unreachable`;"
        " with 2.24.7 each read takes 15 s or more.",
        _dead,
    ),
    FaultKind(
        "hanging_read",
        "device",
        "Reading a firmware register takes long (in-process simulation only).",
        _hanging,
        (Parameter("seconds", 5.0, "seconds a read", most=3600),),
        in_files=False,
    ),
    FaultKind(
        "power_flat",
        "device",
        "The power line stays at one figure.",
        _flat,
        (Parameter("percent", 100.0, "of the maximum", most=100.0),),
    ),
    FaultKind(
        "power_starved",
        "device",
        "The power sampler gets no samples: NO_DATA each minute.",
        _starved,
    ),
)
