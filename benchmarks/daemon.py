"""What the observer costs while it runs: processor time against C, memory, growth.

    python -m benchmarks.daemon [--slices N] [--seconds S] [--settled S] [--cycles N]      root

The host is a whole trn2.48xlarge (16 devices of 8 cores, driver 2.30.2) with a real sysfs attribute
under every number that a lane reads, this machine's /proc and kernel log. A job runs on 72 of its
128 cores: 288 of the 5,648 counters of the normal lane (5 %) move each second, and the power
figures are of the last minute.

Processor time: the program at its default lanes and a C program that reads the same files at the
same lanes run at the same time, each left alone; both clocks are read every ten seconds, in which
each lane comes round. (To stop one while the other runs would make it late, which it tells, and
cold.) Memory is told apart by who holds it: resident memory of the process, and what the kernel
holds for kept descriptors.
Growth: cycles as fast as they go, on a clock moved by hand, with the history full.

With the verb `daemon` it is the daemon itself that runs, with its page and its server; without it
the loop alone.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.hosts import Interfaces, bind, bind_folder, enter_namespaces, mount, write_tree
from benchmarks.lanes import groups, periods, write_groups
from benchmarks.measuring import TREES, Goal, Pair, compile_floor, judge, machine, within
from neuron_observer.cli import COMMANDS
from neuron_observer.cli.hosts import make_judge
from neuron_observer.cli.roots import enough_descriptors
from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.loop import PERIODS, Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.lanes import Group

LISTING = TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz"
BUSY = re.compile(
    r".*/neuron[0-8]/neuron_core\d+/stats/"
    r"(status/success|other_info/(inference_count|flop_count|nc_time_in_use))/total"
)
WARM_UP = 2_000  # cycles; the history is full after 900, and even after some more
TELL_EACH = 1_000  # cycles
SLICE = 10  # seconds, in which each lane comes round
SETTLED = 25  # seconds; two rounds, and the rules have seen each lane
POWER_MINUTE = 60.0  # seconds; the driver publishes power figures once a minute
CPU_GOAL = 1.3
RESIDENT_GOAL, KERNEL_GOAL, GROWTH_GOAL = 45e6, 30e6, 1e6  # bytes
_clock = SystemClock()


class Life:
    """What moves on the host from second to second."""

    def __init__(self, root: Path, interfaces: Interfaces) -> None:
        self._interfaces = interfaces
        self._power = sorted(root.glob("sys/devices/virtual/*/*/stats/power/utilization"))
        self._dated = -POWER_MINUTE

    def second(self, wall: float) -> None:
        """One more has passed."""
        self._interfaces.send()
        if wall - self._dated < POWER_MINUTE:
            return
        self._dated = wall
        for file in self._power:
            fresh = file.with_name("fresh")
            fresh.write_text(f"POWER_STATUS_VALID,{wall:.0f},24.57,72.53,53.34\n", "ascii")
            fresh.rename(file)


def make_host(folder: Path) -> tuple[Path, list[Group], Life]:
    """The tree, what the lanes read of it, and what moves a part of it."""
    root = folder / "tree"
    mount("tmpfs", root)
    write_tree(LISTING, root)
    bind_folder(Path("/proc"), root / "proc")
    kernel_log = root / "dev" / "kmsg"
    kernel_log.parent.mkdir(exist_ok=True)
    kernel_log.touch()
    bind([Path("/dev/kmsg")], [kernel_log])
    found = groups(root)
    files = list(dict.fromkeys(file for group in found for file in group.files()))
    files = [f for f in files if (root / "sys") in f.parents and f.read_bytes().strip().isdigit()]
    busy = [file for file in files if BUSY.fullmatch(str(file))]
    quiet = sorted(set(files).difference(busy))
    mount("sysfs", folder / "sysfs", read_only=True)
    interfaces = Interfaces(folder / "sysfs", len(busy), len(files))
    bind(list(islice(interfaces.moving(), len(busy))), busy)
    bind(list(islice(interfaces.still(), len(quiet))), quiet)
    print(f"{len(busy) + len(quiet):,} real attributes, {len(busy)} of them move each second")
    return root, found, Life(root, interfaces)


def command_of(root: Path) -> list[str]:
    """What runs: the daemon, or the loop alone."""
    if "daemon" in COMMANDS:
        run = ["neuron_observer", "daemon", "--host-root", str(root), "--listen", "127.0.0.1:9744"]
    else:
        run = ["benchmarks.daemon", "--loop", str(root)]
    return [sys.executable, "-m", *run]


def open_loop(root: Path, clock: SystemClock | ManualClock) -> Loop:
    """A loop as the daemon makes it; what wakes it under the machine's clock has no lane."""
    enough_descriptors()
    options = Options(keep=True, wait_for_firmware=False, kernel_log=True)
    reader = HostReader(DirectoryFs(str(root)), clock, options)
    schedule = periods(root) if isinstance(clock, ManualClock) else PERIODS
    return Loop(reader, schedule=schedule, judge=make_judge(one_shot=False))


def run_loop(root: Path) -> None:
    """The loop alone, until it is told to stop."""
    loop = open_loop(root, SystemClock())
    signal.signal(signal.SIGTERM, lambda *_: loop.stop())
    loop.run()
    loop.close()


class Running:
    """A process that runs until it is closed."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.pid = self._process.pid

    def cpu(self) -> float:
        """Processor seconds of all its threads, by the clock of the process (posix-timers.h)."""
        if self._process.poll() is not None:
            raise SystemExit(f"{self._process.args!r} ended by itself")
        return time.clock_gettime((~self.pid << 3) | 2)

    def resident(self) -> int:
        """Bytes of memory."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def close(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(20)


def both(ours: Running, theirs: Running, seconds: int, life: Life) -> Pair:
    """CPU milliseconds a second of two processes over the same seconds."""
    begin = Pair(ours.cpu(), theirs.cpu()), _clock.monotonic()
    live(seconds, life)
    spent = (ours.cpu() - begin[0].ours, theirs.cpu() - begin[0].theirs)
    passed = _clock.monotonic() - begin[1]
    return Pair(*(1e3 * one / passed for one in spent))


def live(seconds: int, life: Life) -> None:
    """Let the host live for a while."""
    for _ in range(seconds):
        life.second(_clock.wall())
        _clock.wait(1.0)


@contextmanager
def started(command: Sequence[str | Path]) -> Iterator[Running]:
    """A process that is ended in any case."""
    running = Running(command)
    try:
        yield running
    finally:
        running.close()


def hide_descriptors(pid: int, root: Path) -> None:
    """The thousands that the C program holds are no part of the host that is looked at."""
    mount("tmpfs", root / "proc" / str(pid) / "fd")


def slab() -> int:
    """Bytes of kernel memory that cannot be given back."""
    lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("SUnreclaim"))


def measure_cost(options: argparse.Namespace, folder: Path) -> bool:
    """Processor time against C, and memory."""
    root, found, life = make_host(folder)
    floor = compile_floor(folder)
    listed = write_groups(folder / "groups", found, periods(root))
    kernel = slab()
    with started(command_of(root)) as ours:
        live(4, life)
        kernel = slab() - kernel
        with started([floor, "lanes", listed]) as theirs:
            hide_descriptors(theirs.pid, root)
            live(options.settled, life)
            pairs = [both(ours, theirs, options.seconds, life) for _ in range(options.slices)]
            resident = ours.resident()
    print(f"seconds by lane, of both: {periods(root)}")
    met = judge(Goal("processor time", CPU_GOAL), pairs, "ms a second")
    met &= within("resident memory", resident / 1e6, RESIDENT_GOAL / 1e6, "MB")
    return within("kernel memory", kernel / 1e6, KERNEL_GOAL / 1e6, "MB") and met


def measure_growth(options: argparse.Namespace, folder: Path) -> bool:
    """Cycles on a clock moved by hand: what is held then and 10,000 cycles later."""
    root, _, life = make_host(folder)
    clock = ManualClock(wall=_clock.wall())
    loop = open_loop(root, clock)
    us = Path("/proc/self/statm"), Path("/proc/self/fd")
    figures = []
    for cycle in range(WARM_UP + options.cycles + 1):
        if cycle >= WARM_UP and (cycle - WARM_UP) % TELL_EACH == 0:
            figures.append(_held(*us))
            memory, descriptors = figures[-1]
            print(f"{cycle:,} cycles: {memory / 1e6:.1f} MB, {descriptors} descriptors", flush=True)
        life.second(clock.wall())
        loop.tick()
        clock.advance(1.0)
    (memory, descriptors), (later, descriptors_later) = figures[0], figures[-1]
    print(f"after {options.cycles:,} cycles: {descriptors} → {descriptors_later} descriptors")
    met = within("resident memory with a full history", memory / 1e6, RESIDENT_GOAL / 1e6, "MB")
    met &= within("growth", (later - memory) / 1e6, GROWTH_GOAL / 1e6, "MB")
    return met and descriptors == descriptors_later


def _held(statm: Path, descriptors: Path) -> tuple[int, int]:
    pages = int(statm.read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), sum(1 for _ in descriptors.iterdir())


CASES = {"cost": measure_cost, "growth": measure_growth}


def main() -> int:
    """Each case in a process of its own, which gives up its view of mounts and network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--slices", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=SLICE)
    parser.add_argument("--settled", type=int, default=SETTLED)
    parser.add_argument("--cycles", type=int, default=10_000)
    parser.add_argument("--case", choices=CASES, help="only this one")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--loop", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.loop:
        run_loop(options.loop)
        return 0
    if os.geteuid():
        print("not measured: network namespaces and bind mounts need root")
        return 0
    if options.folder:
        enter_namespaces(network=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # which it listens on
        mount("tmpfs", options.folder)
        return 0 if CASES[options.case](options, options.folder) else 1
    print(machine(), flush=True)
    missed = False
    for name in [options.case] if options.case else CASES:
        with tempfile.TemporaryDirectory() as folder:  # made and removed where nothing is mounted
            child = [sys.executable, "-m", "benchmarks.daemon", *sys.argv[1:], "--case", name]
            missed |= bool(subprocess.call([*child, "--folder", folder]))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
