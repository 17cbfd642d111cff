"""ECC errors of SRAM and HBM, as the firmware counts them (driver-interface: ECC registers)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.faults.execution import fail
from neuron_observer.sim.faults.kind import FaultKind, Parameter, device_of
from neuron_observer.sim.faults.lines import say_hardware_error
from neuron_observer.sim.kernel import WARNING

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import Fault
    from neuron_observer.sim.world import World

_PENDING_ALONE = (  # 2.30.2 neuron_dhal_v3.c
    "neuron:nsysfsmetric_get_hbm_error_count_v3: [ND {}] HBM pending_repair but no repairable"
    " errors"
)
_COUNT = Parameter("count", 1, "errors", least=1, most=4095)
_STACK = Parameter("stack", 0, "HBM stack; of a chip with fewer: the last", most=3)
_ENDS_JOB = Parameter("ends_job", True, "the job on the device fails and ends")


def _storm(world: World, fault: Fault) -> None:
    firmware = device_of(world, fault).firmware
    rate = fault.number("rate")

    def more() -> None:
        if fault.text("where") == "sram":
            firmware.sram_corrected += 1
        else:
            firmware.hbm_corrected += 1

    more()
    world.every(1 / rate, more, until=fault.until)


def _stack(world: World, fault: Fault) -> list[int]:
    stacks = device_of(world, fault).firmware.stacks
    return stacks[min(fault.whole("stack"), len(stacks) - 1)]


def _repair(world: World, fault: Fault) -> None:
    firmware = device_of(world, fault).firmware
    _stack(world, fault)[1] += fault.whole("count")
    firmware.repair = 1
    node = world.node
    if not fault.whole("count") and node.driver.splits_ecc and node.instance.chip.dice == 2:
        world.say(_PENDING_ALONE.format(fault.device), WARNING)
    fail(world, fault, "hw_repairable_hbm_ue_error", fault.flag("ends_job"))

    def give_up() -> None:
        if firmware.repair == 1:  # not repaired meanwhile
            firmware.repair = 2

    if fault.number("fails_after"):
        world.after(fault.number("fails_after"), give_up)


def _unrepairable(world: World, fault: Fault) -> None:
    _stack(world, fault)[0] += fault.whole("count")
    say_hardware_error(world, "HBM_UNCORRECTABLE_ERROR", fault.device, 0)
    fail(world, fault, "hw_hbm_ue_error", fault.flag("ends_job"))


def _sram(world: World, fault: Fault) -> None:
    device_of(world, fault).firmware.sram_uncorrected += fault.whole("count")
    say_hardware_error(world, "SRAM_UNCORRECTABLE_ERROR", fault.device, 0)
    fail(world, fault, "hw_nc_ue_error", fault.flag("ends_job"))


FAULTS = (
    FaultKind(
        "corrected_ecc_storm",
        "device",
        "Corrected ECC errors, one after the other.",
        _storm,
        (
            Parameter("rate", 2.0, "errors a second", least=0.001, most=1000),
            Parameter("where", "hbm", "which memory", choices=("hbm", "sram")),
        ),
    ),
    FaultKind(
        "hbm_repair",
        "device",
        "Repairable HBM errors: a repair is pending until the driver is loaded anew, or fails.",
        _repair,
        (
            _COUNT._replace(least=0),
            _STACK,
            Parameter("fails_after", 0.0, "seconds until the repair has failed; 0: it does not"),
            _ENDS_JOB,
        ),
        ends=False,
    ),
    FaultKind(
        "hbm_unrepairable",
        "device",
        "Uncorrected HBM errors that cannot be repaired.",
        _unrepairable,
        (_COUNT, _STACK, _ENDS_JOB),
        ends=False,
    ),
    FaultKind(
        "sram_error",
        "device",
        "Uncorrected SRAM errors.",
        _sram,
        (_COUNT, _ENDS_JOB),
        ends=False,
    ),
)
