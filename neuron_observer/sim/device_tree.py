"""Files of one device: `/sys/devices/virtual/neuron_device/neuronN`.

Source: driver 2.24.7 `neuron_cdev.c` and `neuron_sysfs_metrics.c` (its tables of names, modes and
formats), 2.28 and 2.30.2 the same files.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from neuron_observer.sim import registers
from neuron_observer.sim.chips import INF1, neighbours
from neuron_observer.sim.kernel import ERROR
from neuron_observer.sim.state import (
    DEVICE_MEMORY,
    DRIVER_INFO,
    HOST_MEMORY,
    RUNTIME_INFO,
    STATUS,
    U64,
)
from neuron_observer.sim.tree import field

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.sim.state import Core, Device, Memory
    from neuron_observer.sim.tree import Tree
    from neuron_observer.sim.world import World

VIRTUAL = "sys/devices/virtual/neuron_device"
# generic files of the kernel's runtime power management
_POWER = (
    ("async", 0o644, "disabled"),
    ("control", 0o644, "auto"),
    ("runtime_active_kids", 0o444, "0"),
    ("runtime_active_time", 0o444, "0"),
    ("runtime_enabled", 0o444, "disabled"),
    ("runtime_status", 0o444, "unsupported"),
    ("runtime_suspended_time", 0o444, "0"),
    ("runtime_usage", 0o444, "0"),
)
_GROUPS = 4  # row groups of a matrix engine
_GROUP_TEXT = 255  # bytes of `pe_cntrs`; what is longer is cut


def add_device(tree: Tree, world: World, number: int, device: Device) -> None:
    """All files of a device that has a directory."""
    base = f"{VIRTUAL}/neuron{number}"
    tree.link(
        f"sys/class/neuron_device/neuron{number}",
        f"../../devices/virtual/neuron_device/neuron{number}",
    )
    tree.link(f"{base}/subsystem", "../../../../class/neuron_device")
    major = world.node.major
    tree.text(f"{base}/dev", 0o444, f"{major}:{number}\n")
    tree.text(f"{base}/uevent", 0o644, f"MAJOR={major}\nMINOR={number}\nDEVNAME=neuron{number}\n")
    for name, mode, word in _POWER:
        tree.text(f"{base}/power/{name}", mode, f"{word}\n")
    _attributes(tree, world, base, number, device)
    _hardware(tree, world, base, device)
    for name in HOST_MEMORY:
        _memory(tree, f"{base}/stats/memory_usage/host_mem/{name}", device.host[name])
    for core in device.cores:
        _core(tree, world, f"{base}/neuron_core{core.index}", core)


def _attributes(tree: Tree, world: World, base: str, number: int, device: Device) -> None:
    chip, driver = world.node.instance.chip, world.node.driver
    opened = 0o444 if driver.number >= (2, 28, 0) else 0o400
    tree.file(f"{base}/reset", 0o600, field(device, "state"))
    tree.text(f"{base}/core_count", opened, str(chip.cores))
    tree.file(f"{base}/connected_devices", opened, lambda: _neighbours(world, number))
    tree.text(f"{base}/info/notify_delay", 0o644, "-1\n")
    if driver.number >= (2, 30, 2):
        _register(tree, world, f"{base}/fw_api_version", 0o444, device, "api_version")
        _register(tree, world, f"{base}/fw_build", 0o444, device, "build")
    if chip is not INF1:
        _register(tree, world, f"{base}/info/serial_number", 0o644, device, "serial_number")
    for name, word in (
        ("arch_type", chip.device_arch),
        ("instance_type", chip.instance_type),
        ("device_name", chip.device_name),
    ):
        tree.text(f"{base}/info/architecture/{name}", 0o644, f"{word}\n")


def _neighbours(world: World, number: int) -> bytes:
    found = neighbours(world.node.instance, number, world.node.counted)
    text = ", ".join(map(str, found))
    return f"{text}\n".encode() if len(text) < 20 else b""


def _register(tree: Tree, world: World, path: str, mode: int, device: Device, make: str) -> None:
    """A file whose content the driver reads from the firmware, which takes what it takes."""
    function = getattr(registers, make)
    name = path.rpartition("/")[2]
    tree.file(
        path,
        mode,
        lambda: function(device),
        partial(_reading, world, device, name),
    )


def _reading(world: World, device: Device, name: str) -> float:
    """Somebody reads a firmware register's file: the line this gives, the seconds it takes."""
    line = registers.say_of_read(device, world.node.driver, name)
    if line:
        world.say(line, ERROR)
    return registers.seconds_blocked(device, world.node.driver, name)


def _hardware(tree: Tree, world: World, base: str, device: Device) -> None:
    chip, driver = world.node.instance.chip, world.node.driver
    folder = f"{base}/stats/hardware"

    def count(name: str, make: Callable[[], int]) -> None:
        tree.file(
            f"{folder}/{name}",
            0o644,
            lambda: b"%d\n" % make(),
            partial(_reading, world, device, name),
        )

    if chip is not INF1:
        count("sram_ecc_uncorrected", lambda: registers.sram_uncorrected(device))
        count("mem_ecc_uncorrected", lambda: registers.hbm(device, driver)[0])
        count("mem_ecc_repairable_uncorrected", lambda: registers.hbm(device, driver)[1])
        if driver.number >= (2, 30, 2):
            count("sram_ecc_corrected", lambda: registers.sram_corrected(device))
            count("mem_ecc_corrected", lambda: registers.hbm_corrected(device))
    if chip.dice == 2 and driver.number >= (2, 28, 0):
        _health(tree, world, f"{folder}/health_status", device)
    tree.file(f"{base}/stats/power/utilization", 0o644, lambda: device.power.line)
    if driver.number >= (2, 29, 0):
        tree.file(
            f"{base}/stats/power/utilization_raw",
            0o644,
            lambda: registers.die_rows(device, chip.dice, world.now),
        )


def _health(tree: Tree, world: World, folder: str, device: Device) -> None:
    tree.file(f"{folder}/hw_error_event", 0o444, field(device, "error_events"))
    if world.node.driver.number >= (2, 30, 2):
        tree.file(f"{folder}/unhealthy_components", 0o444, lambda: registers.components(device))
        tree.file(
            f"{folder}/healthcheck_heartbeat", 0o444, lambda: registers.heartbeat(device, world.now)
        )
        return
    for name in ("hbm_ecc_err_count", "repairable_hbm_ecc_err_count", "sram_ecc_err_count"):
        tree.file(
            f"{folder}/{name}",
            0o444,
            lambda name=name: b"%d\n" % registers.old_health(device, name),  # type: ignore[misc]
        )


def _memory(tree: Tree, folder: str, memory: Memory) -> None:
    for name in ("total", "present", "peak"):
        tree.file(f"{folder}/{name}", 0o644, field(memory, name))


def _core(tree: Tree, world: World, base: str, core: Core) -> None:
    chip = world.node.instance.chip
    tree.text(f"{base}/info/architecture/arch_type", 0o644, f"{chip.core_arch}\n")
    for folder, names in (("status", STATUS), ("other_info", (*RUNTIME_INFO, *DRIVER_INFO))):
        for name in names:
            counter = core.counters[name]
            for part in ("total", "present"):
                tree.file(f"{base}/stats/{folder}/{name}/{part}", 0o644, field(counter, part))
    usage = f"{base}/stats/memory_usage"
    _memory(tree, f"{usage}/host_mem", core.host)
    _memory(tree, f"{usage}/device_mem", core.held)
    for name in DEVICE_MEMORY:
        _memory(tree, f"{usage}/device_mem/{name}", core.categories[name])
    if chip is not INF1:
        tree.file(f"{base}/stats/tensor_engine/pe_cntrs", 0o644, lambda: _cycles(world, core))


def _cycles(world: World, core: Core) -> bytes:
    """Cycles of the row groups of a matrix engine: multiplying, loading weights, idle."""
    hertz = world.node.instance.chip.hertz
    elapsed = int((world.age - world.node.loaded_at) * hertz)
    rows = ["xrow_grp,mm_active,wl_active,idle"]
    if world.node.devices[core.device].firmware.answers == "ones":
        rows += [f"{group},{U64},{U64},{U64}" for group in range(_GROUPS)]
        return ("\n".join(rows) + "\n").encode()[:_GROUP_TEXT]
    for group in range(_GROUPS):
        multiplying = int(core.busy * hertz * (0.68 - 0.01 * group))
        loading = int(core.busy * hertz * (0.09 + 0.005 * group))
        rows.append(f"{group},{multiplying},{loading},{max(elapsed - multiplying - loading, 0)}")
    return ("\n".join(rows) + "\n").encode()[:_GROUP_TEXT]
