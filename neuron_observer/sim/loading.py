"""Making a node, loading its driver: what a freshly loaded driver shows."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING

from neuron_observer.sim.chips import INF1, pci_address
from neuron_observer.sim.kernel import ERROR
from neuron_observer.sim.network import make_ports
from neuron_observer.sim.state import (
    COMPLETION_QUEUES,
    DATASTORES,
    DRIVER_INFO,
    HOST_MEMORY,
    PAGE,
    RINGS,
    RUNTIME_INFO,
    STATUS,
    Core,
    Counter,
    Device,
    Firmware,
    Memory,
    Node,
    Power,
)

if TYPE_CHECKING:
    from random import Random

    from neuron_observer.sim.chips import Driver, Instance
    from neuron_observer.sim.world import World

_NO_INDEX = "Invalid device index 4294967295"
GOING = 0.2  # seconds that an unload takes
DRIVERS_OWN = 4_294_967_295  # request number of a reset that no process asked for


def make_node(instance: Instance, driver: Driver, random: Random) -> Node:
    """A node whose driver is loaded and idle."""
    devices = []
    for index in range(instance.devices):
        address, numa = pci_address(instance, index)
        firmware = Firmware(
            serial=0 if instance.chip is INF1 else random.getrandbits(60) | 1 << 60,
            api=6 if driver.splits_ecc else 5,
            stacks=[[0, 0] for _ in range(instance.chip.stacks)],
        )
        cores = [_core(driver, index, number) for number in range(instance.chip.cores)]
        devices.append(Device(index, firmware, cores, address, numa))
    return Node(instance, driver, devices, make_ports(instance, random))


def _core(driver: Driver, device: int, index: int) -> Core:
    counters = {name: Counter(driver.live_counters) for name in (*STATUS, *RUNTIME_INFO)}
    counters |= {name: Counter(live=False) for name in DRIVER_INFO}
    counters["reset_req_count"].book(1)  # the driver resets every device when it is loaded
    return Core(device, index, counters)


def idle_memory(node: Node) -> None:
    """Host memory that the driver holds as long as it is loaded; its HBM is not counted."""
    newest = node.driver.number >= (2, 30, 2)
    for device in node.devices:
        first = device.cores[0]
        device.book_host(first, "driver_memory", DATASTORES)
        for core in device.cores:
            device.book_host(core, "driver_memory", RINGS - PAGE)
            device.book_host(core, "driver_memory", PAGE)
        for _ in device.cores if newest else ():
            device.book_host(first, "driver_memory", COMPLETION_QUEUES)


def unload(world: World) -> None:
    """The driver goes: all that it kept is gone, the firmware's registers stay."""
    node = world.node
    for device in node.devices:
        before, device.cores = device.cores, []
        for old in before:
            core = _core(node.driver, device.index, old.index)
            core.pace = old.pace  # the hardware's, not the driver's
            device.cores.append(core)
        device.host = {name: Memory() for name in HOST_MEMORY}
        device.power = Power()
        device.state, device.error_events, device.cached = 0, 0, None
        device.cached_beat = 0
        device.shown = False
    node.module = "going"
    world.after(GOING, partial(_left, world))
    node.changed()


def _left(world: World) -> None:
    if world.node.module == "going":
        world.node.module = "absent"
        world.node.changed()


def load(world: World, seconds: float) -> None:
    """The driver comes: devices appear one by one over `seconds`, then it is live."""
    node = world.node
    node.module, node.loaded_at = "coming", world.age
    at = datetime.fromtimestamp(world.wall, timezone.utc).strftime("%Y-%b-%d %H:%M:%S.%f")
    version = f"{node.driver.version}-0000000"
    world.say(f"Neuron Driver Started with Version:{version} at: {at}", ERROR)
    idle_memory(node)
    present = [device for device in node.devices if device.on_bus and device.bound]
    for number, device in enumerate(present):
        world.after(seconds * (number + 1) / (len(present) + 1), partial(_appear, world, device))
    world.after(seconds, lambda: _all_there(world))
    node.changed()


def _appear(world: World, device: Device) -> None:
    answers = device.firmware.answers
    device.shown = device.counted = answers == "yes"
    if answers != "yes":  # its index cannot be read: it is skipped
        dead = answers == "dead"
        why = "Could not retrieve device index (read timeout)" if dead else _NO_INDEX
        world.say(_prefixed(world.node, why), ERROR)
        return
    world.say(_bdf_line(world.node, device), ERROR)
    say_reset(world, device, "device", DRIVERS_OWN)
    device.state = 1
    world.node.changed()


def _all_there(world: World) -> None:
    if world.node.module == "coming":
        world.node.module = "live"
        world.node.changed()


def say_reset(world: World, device: Device, what: str, request: int) -> None:
    """The two lines of a reset that went well (2.24.7 neuron_reset.c)."""
    prefix = f"neuron:nr_reset_thread_fn: nd{device.index}: "
    world.say(f"{prefix}initiating {what} reset request {request}")
    world.say(f"{prefix}reset request {request} completed")


def _bdf_line(node: Node, device: Device) -> str:
    bus = device.address.partition(":")[2]
    return _prefixed(node, f"** BDF: {bus} => nd[{device.index}] (routing id: {device.index})")


def _prefixed(node: Node, text: str) -> str:
    """A line of finding a device: v3 and v4 print a prefix, v2 does not."""
    chip = "v4" if node.instance.chip.device_arch == "NDv4" else "v3"
    if node.instance.chip.dice != 2:
        return text
    return f"neuron:neuron_pci_get_device_id_{chip}: {text}"
