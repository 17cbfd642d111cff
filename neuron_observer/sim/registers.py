"""What the driver makes of a device's firmware registers, by driver version and chip.

Source: driver 2.24.7 `neuron_sysfs_metrics.c`, `neuron_fw_io.c`, `v2|v3/neuron_dhal_*.c`; 2.28
`neuron_sysfs_metrics.c`; 2.30.2 the same and `neuron_metrics.c`. An unreadable register is
0xdeadbeef (`dead`); one of a device that fell off the bus is all ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.sampling import utilization
from neuron_observer.sim.state import COMPONENTS

if TYPE_CHECKING:
    from neuron_observer.sim.chips import Driver
    from neuron_observer.sim.state import Device, Node

DEAD, ONES = 0xDEADBEEF, 0xFFFFFFFF
FIRST_COMPONENT = 3  # bit
BEATS = 1.0  # a second; the firmware's rate is not published
BLOCKED = 15.0  # seconds that a driver up to 2.24.7 waits for a register


def register(device: Device, value: int) -> int:
    """The 32 bits that a read over PCIe gives."""
    answers = device.firmware.answers
    if answers == "yes":
        return value & ONES
    return DEAD if answers == "dead" else ONES


def serial_number(device: Device) -> bytes:
    """`info/serial_number`."""
    serial = device.firmware.serial
    high, low = register(device, serial >> 32), register(device, serial)
    unreadable = DEAD in (high, low) or not serial
    return b"\n" if unreadable else b"%016x\n" % (high << 32 | low)


def _counts(device: Device, low: int, high: int) -> int:
    return register(device, min(high, 0xFFFF) << 16 | min(low, 0xFFFF))


def sram(device: Device) -> int:
    """The SRAM register: uncorrected in the low half, corrected in the high."""
    return _counts(device, device.firmware.sram_uncorrected, device.firmware.sram_corrected)


def sram_uncorrected(device: Device) -> int:
    """`sram_ecc_uncorrected`: 0 if unreadable."""
    value = sram(device)
    return 0 if value == DEAD else value & 0xFFFF


def sram_corrected(device: Device) -> int:
    """`sram_ecc_corrected`, 2.30.2."""
    value = sram(device)
    return 0 if value == DEAD else value >> 16


def hbm_corrected(device: Device) -> int:
    """`mem_ecc_corrected`, 2.30.2."""
    value = _counts(device, 0, device.firmware.hbm_corrected)
    return 0 if value == DEAD else value >> 16


def _stacks(device: Device) -> list[int]:
    """The low halves of the HBM registers; from firmware API 6 on split 15:12 and 11:0."""
    firmware, found = device.firmware, []
    for unrepairable, repairable in firmware.stacks:
        if firmware.api >= 6:
            value = min(unrepairable, 15) << 12 | min(repairable, 0xFFF)
        else:
            value = min(unrepairable + repairable, 0xFFFF)
        found.append(register(device, value))
    return found


def _repair(device: Device) -> int:
    return register(device, device.firmware.repair) & 3


def hbm(device: Device, driver: Driver) -> tuple[int, int]:
    """`mem_ecc_uncorrected` and `mem_ecc_repairable_uncorrected`."""
    lows = [0 if value == DEAD else value & 0xFFFF for value in _stacks(device)]
    state = _repair(device)
    two_stacks = len(lows) == 2  # trn1, inf2: their drivers ask for no repair state
    if not driver.splits_ecc:
        total = sum(lows)
        if two_stacks:
            return total, 0
        return (total if state in (0, 2) else 0), (total if state == 1 else 0)
    split = device.firmware.api >= 6
    unrepairable = sum(low >> 12 if split else low for low in lows)
    repairable = sum(low & 0xFFF if split else 0 for low in lows)
    if two_stacks:
        return unrepairable, 0
    return unrepairable + (state == 2), repairable or int(state == 1)


def api_version(device: Device) -> bytes:
    """`fw_api_version`, 2.30.2."""
    return _or_busy(register(device, device.firmware.api))


def build(device: Device) -> bytes:
    """`fw_build`, 2.30.2."""
    return _or_busy(register(device, device.firmware.build))


def _or_busy(value: int) -> bytes:
    return b"busy\n" if value == DEAD else b"%d\n" % value


def components(device: Device) -> bytes:
    """`unhealthy_components`, 2.30.2, out of the driver's cache."""
    value = device.cached[0] if device.cached else 0
    if value == DEAD:
        return b"device_unreachable\n"
    bits = value >> FIRST_COMPONENT
    return ",".join(n for i, n in enumerate(COMPONENTS) if bits >> i & 1).encode() + b"\n"


def heartbeat(device: Device, now: float) -> bytes:
    """`healthcheck_heartbeat`, 2.30.2: stale while the device is not ready."""
    if device.state == 1:
        stuck = device.firmware.stuck_at
        beat = int(now * BEATS) if stuck is None else stuck
        answers = device.firmware.answers
        device.cached_beat = 0xFF if answers == "ones" else (beat + device.index * 37) & 0xFF
        if answers == "dead":
            return b"device_unreachable\n"
    return b"%d\n" % device.cached_beat


def die_rows(device: Device, dice: int, now: float) -> bytes:
    """`stats/power/utilization_raw`, 2.29 and later."""
    rows = ["die,util_bips,counter"]
    for die in range(dice):
        if device.state != 1 or device.firmware.api < 3:
            rows.append(f"{die},unavailable")
        elif device.firmware.answers == "yes":
            bips = max(int(utilization(device, now) * 100) - 7 * die, 0)  # the dice differ a little
            rows.append(f"{die},{bips},{(int(now * 20) + 1_000 * die) & 0xFFFF}")
        else:
            value = register(device, 0)
            rows.append(f"{die},bogus({value & 0xFFFF}),{value >> 16}")
    return "\n".join(rows).encode() + b"\n"


def seconds_blocked(device: Device, driver: Driver, name: str) -> float:
    """How long reading a register's file takes: 15 s and more on old drivers, dead firmware."""
    if device.firmware.answers == "dead" and driver.blocks:
        both = name == "mem_ecc_uncorrected" and len(device.firmware.stacks) == 2
        nothing = name == "mem_ecc_repairable_uncorrected" and len(device.firmware.stacks) == 2
        return 0.0 if nothing else BLOCKED * (2 if both else 1)
    return device.hang


def say_of_read(device: Device, driver: Driver, name: str) -> str:
    """What the driver prints when somebody reads a dead register; without a device number."""
    if device.firmware.answers != "dead":
        return ""
    if name == "serial_number":
        return "sysfs failed to read serial number from FWIO"
    if name == "sram_ecc_uncorrected" and driver.blocks:
        return "sysfs failed to read ECC SRAM error from FWIO"
    return ""


def refresh(node: Node) -> None:
    """The driver's metrics thread: note changes of the error registers while devices are ready."""
    if node.module == "absent" or node.instance.chip.dice != 2 or node.driver.blocks:
        return
    for device in node.devices:
        if device.state != 1:
            continue
        if node.driver.number >= (2, 30, 2):
            value = register(device, device.firmware.components << FIRST_COMPONENT)
            seen: tuple[int, ...] = (value,)
        else:
            readable = device.firmware.answers != "dead"  # else the old values stay
            fresh = (*_stacks(device), sram(device), _repair(device))
            seen = fresh if readable or device.cached is None else device.cached
        if device.cached is not None and seen != device.cached:
            device.error_events = (device.error_events + 1) & ONES
        device.cached = seen


def old_health(device: Device, name: str) -> int:
    """The three counts of `health_status` in 2.28 and 2.29."""
    cached = device.cached or (0,)
    *stacks, sram_register, state = cached if len(cached) > 2 else (0, 0, 0)
    if name == "sram_ecc_err_count":
        return sram_register & 0xFFFF
    if name == "hbm_ecc_err_count":
        return sum((value & 0xFFFF) >> 12 for value in stacks) + (state == 2)
    return sum(value & 0xFFF for value in stacks) + (state == 1)
