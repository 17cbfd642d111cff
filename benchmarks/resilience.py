"""What a sick device costs the others, and how soon it is told: the real daemon on a tree by FUSE.

    python -m benchmarks.resilience [--changes N] [--short]      root, FUSE

The host is a trn2.48xlarge (16 devices, one core each, driver 2.30.2). Device 3 is a FUSE tree that
can hang, fail or be gone; the others are plain files, of which a writer changes one of device 15
again and again. Seen from outside, on the daemon's page:

- others: from such a change to the frame that shows it, 99 of 100: the fast lane's period and 1.5 passes
- hang: from its begin until the page says that device 3 does not answer: 2 s and the firmware's period
- frames: the longest time without a new one. They feed the watchdog, so it must stay below 5 s
- reload: the driver's whole tree vanishes and comes back: until all series are there again, two
  periods of the normal lane; not one descriptor more or less than before
  the same of real sysfs attributes
- tool: a program that is called and hangs in the same way: given up in time, left, not called again
- stop: SIGTERM while registers hang, with a driver whose reads block (2.24.7): 2 s

A device hangs as devices do: reads of its registers do not come back. No other file of the driver
can wait: its counters are in memory, so they are read by the loop itself.

`--short`: told, others and stop alone, with a device that hangs from the start.
"""  # noqa: E501 - a list

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from benchmarks.hosts import Interfaces, bind, enter_namespaces, mount, unmount, write_tree
from benchmarks.measuring import TREES, machine, within
from benchmarks.running import daemon
from benchmarks.sick import possible, sick
from neuron_observer.clock import SystemClock
from neuron_observer.collectors.firmware import LONGEST_BACK_OFF, PERIOD
from neuron_observer.collectors.neuron_ls import list_devices
from neuron_observer.collectors.sysfs import PERIODS, plan_devices
from neuron_observer.collectors.topology import read_topology
from neuron_observer.sources.child import GRACE, Children
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.running import Look, Running
    from benchmarks.sick import Sickness

LISTING = TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz"
BLOCKING = TREES / "trn2.48xlarge-2.24.7-idle.tsv.gz"
DEVICES = Path("sys/devices/virtual/neuron_device")
SICK = 3
CHANGED = DEVICES / "neuron15/stats/hardware/health_status/hw_error_event"
SEEN = 'neuron_device_health_error_events_total{neuron_device="15"}'
ANSWERS = f'neuron_device_firmware_answering{{neuron_device="{SICK}"}}'
VERDICT = ("neuron_device_health{", "neuron_core_health{")
KEPT = "neuron_observer_kept_descriptors"
WATCHDOG = 5.0  # seconds
STOP = 2.0  # seconds
AWAY = 3.0  # seconds for which the driver's tree is gone
_clock = SystemClock()
_random = random.Random(1)  # noqa: S311 - when to write, not a secret


def make_host(folder: Path, listing: Path) -> Path:
    """The tree as plain files."""
    root = folder / "tree"
    write_tree(listing, root, cores=1)
    return root


def hanging(root: Path) -> list[str]:
    """The faults of a device whose registers hang: the files of its firmware lane."""
    host = DirectoryFs(str(root))
    _, lanes = plan_devices(host, read_topology(host), {})[SICK]
    return [f"hang /{path}" for path in lanes["firmware"].targets]


class Writer:
    """Changes a file of a device that is well."""

    def __init__(self, root: Path, running: Running) -> None:
        self.root = root
        self._file = root / CHANGED
        self._running = running
        self._number = 1_000_000

    def delay(self) -> float:
        """Change it once: seconds until a frame shows it."""
        _clock.wait(_random.uniform(0.0, 0.3))
        self._number += 1
        begin = _clock.monotonic()
        with self._file.open("r+b", buffering=0) as file:
            file.write(b"%d\n" % self._number)
        look = self._running.wait(
            lambda look: look.series.get(SEEN) == self._number, "a change of another device"
        )
        return (look.frame_at or _clock.monotonic()) - begin


def others(name: str, writer: Writer, running: Running, changes: int) -> bool:
    """Detection on another device while something is as it is."""
    running.forget()
    delays = [writer.delay() for _ in range(changes)]
    passes, gap = running.passes, running.longest_gap()
    slowest = percentile(passes)
    goal = PERIODS["fast"] + 1.5 * slowest
    print(f"{name}: {changes} changes, median {median(delays) * 1e3:.0f} ms")
    print(f"    a pass: median {median(passes) * 1e3:.1f} ms, 99th {slowest * 1e3:.1f} ms")
    met = within(f"    {name}: others, 99th", percentile(delays) * 1e3, goal * 1e3, "ms")
    return within(f"    {name}: longest without a frame", gap, WATCHDOG, "s") and met


def percentile(figures: list[float]) -> float:
    """The 99th."""
    return quantiles(figures, n=100, method="inclusive")[98] if len(figures) > 1 else figures[0]


def hang(illness: Sickness, writer: Writer, running: Running, changes: int) -> bool:
    """A device that hangs: how soon it is told, and what the others notice."""
    begin = _clock.monotonic()
    illness.set(*hanging(writer.root))
    met = told(running, begin) & others("registers hang", writer, running, changes)
    met &= tool(writer.root)
    illness.set()
    return met


def told(running: Running, begin: float) -> bool:
    """Until the page says that the device does not answer."""
    running.wait(lambda look: look.series.get(ANSWERS) == 0, "that a device does not answer")
    seconds = _clock.monotonic() - begin
    return within("registers hang: told after", seconds, 2.0 + PERIOD, "s")


def sicknesses(root: Path, illness: Sickness, changes: int) -> bool:
    """One daemon through all of them."""
    with daemon(root) as running:
        writer = Writer(root, running)
        met = others("well", writer, running, changes)
        for name, fault in (("EIO", "eio /"), ("gone", "gone /")):
            illness.set(fault)
            met &= others(name, writer, running, changes)
            illness.set()
            settle(running)
        met &= hang(illness, writer, running, changes)
        met &= reload(root, illness, running)
        print(f"{len(running.said)} lines in the log")
        stopped = running.stop()
        return within("stop", 99.0 if stopped is None else stopped, STOP, "s") and met


def shortly(root: Path, illness: Sickness, changes: int) -> bool:
    """A device that hangs from the start."""
    illness.set(*hanging(root))
    begin = _clock.monotonic()
    with daemon(root) as running:
        met = told(running, begin)
        met &= others("registers hang", Writer(root, running), running, changes)
        met &= tool(root)
        illness.set()
        return met


def tool(root: Path) -> bool:
    """A call that hangs uninterruptibly, and the one after it."""
    children = Children(_clock)
    register = hanging(root)[0].removeprefix("hang /")
    stuck = ("cat", str(root / DEVICES / f"neuron{SICK}" / register))
    begin = _clock.monotonic()
    first = list_devices(children, command=stuck, seconds=0.5).outcome
    seconds = _clock.monotonic() - begin
    again = list_devices(children, command=stuck, seconds=60.0)
    print(f"tool hangs: {first.value}, {children.left} left; then: {again.detail}")
    met = within("tool hangs: given up after", seconds, 0.5 + GRACE + 0.5, "s")
    return met and children.left == 1 and _clock.monotonic() - begin < 10.0


def settle(running: Running) -> Look:
    """Until its device answers again: asked more and more seldom, it may have a while to wait."""
    well = "that it answers again"
    return running.wait(lambda look: look.series.get(ANSWERS) == 1, well, LONGEST_BACK_OFF)


def names(look: Look) -> set[str]:
    """The series of devices and cores that are read: not the verdict on them, not findings."""
    read = ("neuron_device_", "neuron_core_")
    return {n for n in look.series if n.startswith(read) and not n.startswith(VERDICT)}


def reload(root: Path, illness: Sickness, running: Running) -> bool:
    """The driver is unloaded and loaded again."""
    kept, before = running.look().series[KEPT], names(running.look())
    away = root.parent / "away"
    away.mkdir()
    for number, path in enumerate(moved(root)):
        path.rename(away / str(number))
    illness.set("gone /")
    try:
        running.wait(lambda look: not names(look), "that the devices are gone")
        _clock.wait(AWAY)
    finally:
        illness.set()
        for number, path in enumerate(moved(root)):
            (away / str(number)).rename(path)
    begin = _clock.monotonic()
    running.wait(lambda look: names(look) >= before, "all series after the reload")
    back = _clock.monotonic() - begin
    met = within("reload: all series back after", back, 2 * PERIODS["normal"], "s")
    now = running.wait(lambda look: look.series[KEPT] == kept, "as many descriptors").series[KEPT]
    print(f"    descriptors kept: {kept:.0f} before, {now:.0f} after")
    return met


def moved(root: Path) -> Iterator[Path]:
    """What goes with the driver."""
    yield from (root / DEVICES, root / "sys/class/neuron_device", root / "sys/module/neuron")


def real_reload(folder: Path) -> bool:
    """The same of real sysfs attributes, whose descriptors are dead for ever: ENODEV.

    Their interfaces go and come back; only then do new attributes stand under the same paths.
    """
    enter_namespaces(network=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    root = make_host(folder, LISTING)
    mount("sysfs", folder / "sysfs", read_only=True)
    files = [root / path for path in counted(root)]
    lay_attributes(folder / "sysfs", files)
    with daemon(root) as running:
        before = running.wait(lambda look: KEPT in look.series, "what is kept")
        kept, open_then = before.series[KEPT], running.descriptors()
        shown = names(before)
        removed = "".join(f"link del v{number}\n" for number in range(pairs(files)))
        subprocess.run(["ip", "-batch", "-"], input=removed.encode(), check=True)
        running.wait(lambda look: not names(look) >= shown, "that the attributes are gone")
        _clock.wait(AWAY)
        for file in files:
            unmount(file)
        lay_attributes(folder / "sysfs", files)
        begin = _clock.monotonic()
        running.wait(lambda look: names(look) >= shown, "all series after the reload")
        back = _clock.monotonic() - begin
        running.wait(lambda look: look.series[KEPT] == kept, "as many descriptors")
        open_now = running.descriptors()
    met = within("reload of real sysfs: all series back after", back, 2 * PERIODS["normal"], "s")
    print(f"    open files: {open_then} before, {open_now} after; {len(files)} attributes")
    return met and open_now <= open_then


def counted(root: Path) -> list[str]:
    """The files of the fast and the normal lane that hold one number."""
    host = DirectoryFs(str(root))
    found = [
        f"{device.path}/{path}"
        for device, lanes in plan_devices(host, read_topology(host), {}).values()
        for lane in ("fast", "normal")
        for path in lanes[lane].targets
    ]
    return [path for path in found if (root / path).read_bytes().strip().isdigit()]


def pairs(files: list[Path]) -> int:
    """Interfaces that have so many attributes at rest."""
    return Interfaces.pairs_for(0, len(files))


def lay_attributes(sysfs: Path, files: list[Path]) -> None:
    """Real attributes, of interfaces that are new, over files."""
    interfaces = Interfaces(sysfs, 0, len(files))
    bind(list(islice(interfaces.still(), len(files))), files)


def stop_while_it_hangs(root: Path, illness: Sickness) -> bool:
    """SIGTERM, with reads that cannot be killed in a process of their own."""
    illness.set(*hanging(root))
    with daemon(root) as running:
        running.wait(lambda look: look.series.get(ANSWERS) == 0, "that a device does not answer")
        stopped = running.stop()
    return within("stop while registers hang", 99.0 if stopped is None else stopped, STOP, "s")


def main() -> int:
    """All; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--short", action="store_true", help="told, others and stop alone")
    parser.add_argument("--real", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.real:
        return 0 if real_reload(Path(options.real)) else 1
    print(machine(), flush=True)
    if not possible():
        print("not measured: needs root and /dev/fuse")
        return 0
    enter_namespaces()
    met = True
    measure = shortly if options.short else sicknesses
    for listing, on in (
        (LISTING, lambda root, illness: measure(root, illness, options.changes)),
        (BLOCKING, stop_while_it_hangs),
    ):
        with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
            folder = Path(name)
            root = make_host(folder, listing)
            where = root / DEVICES / f"neuron{SICK}"
            where.rename(folder / "source")
            illness = stack.enter_context(sick(folder / "source", where, folder / "control"))
            met &= on(root, illness)
    if not options.short:
        with tempfile.TemporaryDirectory() as name:  # removed where nothing is mounted
            again = [sys.executable, "-m", "benchmarks.resilience", "--real", name]
            met &= not subprocess.call(again)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
