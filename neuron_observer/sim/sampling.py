"""The driver's power sampler: a line a minute out of what the dice reported.

Source: driver 2.24.7 `neuron_power.c`: at each wall-clock minute minimum, maximum and mean of the
samples since the last, NO_DATA with fewer than 60 (a sample here stands for 100 of the driver's).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuron_observer.sim.state import Device
    from neuron_observer.sim.world import World

PERIOD = 5.0  # seconds
FULL_LOAD = 72.0  # percent of the maximum at which busy cores run; made up


def sample_power(world: World) -> None:
    """Take a sample of each device, and publish where a minute has begun."""
    node = world.node
    real = world.clocks.speed == 1
    minute = (world.wall if real else world.now) % 60 < PERIOD
    epoch = int(world.wall // 60 * 60 if real else world.wall)
    for _, device in node.listed():
        if node.module != "live" or device.state != 1:
            continue
        _take(world, device)
        if minute:
            _publish(device, epoch)


def _take(world: World, device: Device) -> None:
    if device.power.starved:
        return
    if device.firmware.answers == "yes":
        device.power.samples.append(utilization(device, world.now))
    elif world.now % 60 < PERIOD:
        world.say(_invalid(device))


def utilization(device: Device, now: float) -> float:
    """Percent of the maximum power, baseline backed out: 0 while nothing runs."""
    if device.power.pinned is not None:
        return device.power.pinned
    shares = [core.load.share_at(now) * core.pace if core.load else 0.0 for core in device.cores]
    return min(FULL_LOAD * sum(shares) / len(shares), 100.0)


def _invalid(device: Device) -> str:
    value = 65_535 if device.firmware.answers == "ones" else 48_879
    return f"Invalid power utilization value: {value}, skipped 0 logging messages"


def _publish(device: Device, epoch: int) -> None:
    samples = device.power.samples
    if samples:
        mean = sum(samples) / len(samples)
        figures = (min(samples), max(samples), mean)
        text = ",".join(f"{value:.2f}" for value in figures)
        device.power.line = f"POWER_STATUS_VALID,{epoch},{text}\n".encode()
    else:
        device.power.line = f"POWER_STATUS_NO_DATA,{epoch},0.00,0.00,0.00\n".encode()
    samples.clear()
