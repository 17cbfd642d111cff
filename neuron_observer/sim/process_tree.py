"""Processes of jobs below `/proc`, in the kernel's documented forms (proc(5)), as root sees them.

A job is a launcher and one process a device, which holds the device's node open.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from neuron_observer.sim.host_tree import TICKS
from neuron_observer.sim.state import PAGE

if TYPE_CHECKING:
    from neuron_observer.sim.state import Process
    from neuron_observer.sim.tree import Tree
    from neuron_observer.sim.world import World

_DEVICE_FD = 17  # the first descriptor of a device
_AFTER_RSS = " 18446744073709551615" + " 0" * 27  # rsslim, then what nobody reads


def add_processes(tree: Tree, world: World) -> None:
    """Process 1, the kernel's own, which tells a whole host's /proc, and those of all jobs."""
    tree.text("proc/1/comm", 0o644, "systemd\n")
    tree.text("proc/1/cmdline", 0o444, "/sbin/init\0")
    tree.text("proc/1/stat", 0o444, _stat_line(1, "systemd", 0, (90, 40), (1, 5), 3_000))
    tree.text("proc/2/comm", 0o644, "kthreadd\n")
    tree.text("proc/2/cmdline", 0o444, "")
    tree.text("proc/2/stat", 0o444, _stat_line(2, "kthreadd", 0, (0, 1), (1, 5), 0))
    for process in world.node.processes.values():
        _process(tree, world, process)


def _process(tree: Tree, world: World, process: Process) -> None:
    base = f"proc/{process.pid}"
    tree.text(f"{base}/comm", 0o644, f"{process.name}\n")
    tree.text(f"{base}/cmdline", 0o444, "".join(f"{word}\0" for word in process.command))
    variables = (f"{name}={value}\0" for name, value in process.environment.items())
    tree.text(f"{base}/environ", 0o400, "".join(variables))
    tree.text(f"{base}/cgroup", 0o444, "0::/system.slice/training.service\n")
    tree.text(f"{base}/status", 0o444, _status(process))
    tree.file(f"{base}/stat", 0o444, partial(_stat, world, process))
    tree.file(f"{base}/schedstat", 0o444, partial(_schedule, world, process))
    tree.link(f"{base}/fd/0", "/dev/null")
    for number, device in enumerate(process.devices):
        tree.link(f"{base}/fd/{_DEVICE_FD + number}", f"/dev/neuron{device}")


def _worked(world: World, process: Process) -> float:
    """Processor seconds of a process until now."""
    return process.processors * (world.now - process.since)


def _stat(world: World, process: Process) -> bytes:
    ticks = int(_worked(world, process) * TICKS)
    times = (ticks * 9 // 10, ticks - ticks * 9 // 10)
    begun = (process.threads, int(process.started * TICKS))
    pages = process.memory // PAGE
    return _stat_line(process.pid, process.name, process.parent, times, begun, pages).encode()


def _stat_line(
    pid: int, name: str, parent: int, times: tuple[int, int], begun: tuple[int, int], pages: int
) -> str:
    """`/proc/PID/stat`; `begun`: threads, and the start in ticks after boot."""
    head = f"{pid} ({name[:15]}) S {parent} {pid} {pid} 0 -1 4194304 0 0 0 0"
    size = (pages + 20_000) * PAGE
    middle = f"{times[0]} {times[1]} 0 0 20 0 {begun[0]} 0 {begun[1]} {size} {pages}"
    return f"{head} {middle}{_AFTER_RSS}\n"


def _status(process: Process) -> str:
    rows = {
        "Name": process.name[:15],
        "State": "S (sleeping)",
        "Pid": process.pid,
        "PPid": process.parent,
        "Uid": "1000\t1000\t1000\t1000",
        "NSpid": process.pid,
        "VmRSS": f"{process.memory // 1024:>8} kB",
        "Threads": process.threads,
    }
    return "".join(f"{name}:\t{value}\n" for name, value in rows.items())


def _schedule(world: World, process: Process) -> bytes:
    nanoseconds = int(_worked(world, process) * 1e9)
    return b"%d %d %d\n" % (nanoseconds, nanoseconds // 500, nanoseconds // 4_000_000)
