"""`/proc`, `/sys/block` and `/dev/kmsg` of a simulated host, in the kernel's documented forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.chips import GIB
from neuron_observer.sim.tree import Leaf

if TYPE_CHECKING:
    from neuron_observer.sim.tree import Tree
    from neuron_observer.sim.world import World

TICKS = 100  # a second
BOOT_ID = "0c1f5c9e-6b2d-4a7e-9f43-51d0a7e1b200"
KMSG = "dev/kmsg"


def add_host(tree: Tree, world: World) -> None:
    """The host's own files."""
    tree.file("proc/stat", 0o444, lambda: _stat(world))
    tree.file("proc/meminfo", 0o444, lambda: _meminfo(world))
    tree.file("proc/loadavg", 0o444, lambda: _loadavg(world))
    tree.file("proc/uptime", 0o444, lambda: _uptime(world))
    for resource in ("cpu", "memory", "io"):
        tree.file(f"proc/pressure/{resource}", 0o444, lambda: _pressure(world))
    tree.file("proc/sys/fs/file-nr", 0o444, lambda: b"4096\t0\t9223372036854775807\n")
    threads = world.node.instance.memory * 8 * 1024
    tree.text("proc/sys/kernel/threads-max", 0o644, f"{threads}\n")
    tree.text("proc/sys/kernel/random/boot_id", 0o444, f"{BOOT_ID}\n")
    disk = "sys/devices/pci0000:00/0000:00:04.0/nvme/nvme0/nvme0n1"
    tree.link("sys/block/nvme0n1", f"../{disk.removeprefix('sys/')}")
    tree.link(f"{disk}/device", "../../nvme0")
    tree.file(f"{disk}/stat", 0o444, lambda: _disk(world))
    tree.add(KMSG, Leaf("other", 0o644))


def _stat(world: World) -> bytes:
    processors, use = world.node.instance.processors, world.node.host
    elapsed = world.age
    user = int(use.worked(world.now) * TICKS)
    system = int(elapsed * processors * 0.004 * TICKS)
    every = int(elapsed * processors * TICKS)
    idle = max(every - user - system, 0)
    rows = [f"cpu  {user} 0 {system} {idle} 0 0 0 0 0 0"]
    for number in range(processors):
        mine = (part // processors + (number < part % processors) for part in (user, system, idle))
        rows.append("cpu{} {} 0 {} {} 0 0 0 0 0 0".format(number, *mine))
    interrupts = int(elapsed * 2_000)
    rows += [
        f"intr {interrupts} 0 0",
        f"ctxt {int(elapsed * 9_000)}",
        f"btime {round(world.wall - world.uptime)}",
        f"processes {4_000 + int(elapsed / 5)}",
        f"procs_running {1 + int(use.user)}",
        "procs_blocked 0",
        f"softirq {interrupts // 3} 0 0 0 0 0 0 0 0 0 0",
    ]
    return ("\n".join(rows) + "\n").encode()


def _meminfo(world: World) -> bytes:
    use, total = world.node.host, world.node.instance.memory * GIB // 1024
    anonymous = min((use.memory + use.leaked) // 1024, total * 97 // 100)
    cached = min(total // 20, total - anonymous)
    slab = total // 400
    free = max(total - anonymous - cached - slab, 0)
    figures = {
        "MemTotal": total,
        "MemFree": free,
        "MemAvailable": min(free + cached * 9 // 10, total),
        "Buffers": 22_416,
        "Cached": cached,
        "SwapTotal": 0,
        "SwapFree": 0,
        "Dirty": 1_204,
        "Writeback": 0,
        "AnonPages": anonymous,
        "Shmem": 5_120,
        "Slab": slab,
        "SUnreclaim": slab // 2,
    }
    rows = [f"{name + ':':<16}{value:>8} kB" for name, value in figures.items()]
    rows += [f"{'HugePages_Total:':<16}{0:>8}", f"{'HugePages_Free:':<16}{0:>8}"]
    return ("\n".join(rows) + "\n").encode()


def _loadavg(world: World) -> bytes:
    load = world.node.host.user + 0.1
    tasks = 600 + 8 * len(world.node.processes)
    return f"{load:.2f} {load:.2f} {load:.2f} {1 + int(load)}/{tasks} 4711\n".encode()


def _uptime(world: World) -> bytes:
    idle = world.age * world.node.instance.processors * 0.9
    return f"{world.uptime:.2f} {idle:.2f}\n".encode()


def _pressure(world: World) -> bytes:
    total = int(world.age * 150)
    rows = (
        f"{share} avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n" for share in ("some", "full")
    )
    return "".join(rows).encode()


def _disk(world: World) -> bytes:
    elapsed = world.age
    reads, writes = 22_000 + int(elapsed * 2), 43_000 + int(elapsed * 12)
    figures = (
        *(reads, 880, reads * 48, reads // 3, writes, writes // 3, writes * 24, writes // 4),
        *(0, int(elapsed * 8), reads // 3 + writes // 4, 0, 0, 0, 0, 585, 102),
    )
    return (" ".join(f"{value:>8}" for value in figures) + "\n").encode()
