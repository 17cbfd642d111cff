"""G1: a whole poll cycle against C that preads and parses the same files, 5 % of them changed.

    python -m benchmarks.poll [--rounds N]        real sysfs needs root

The cycle is a tick of the program on a host with kept descriptors, `HostReader.poll` for the fast
and normal lanes: read, compare, parse what changed, look for counters that fell, join the batches
into a snapshot. Rates and utilisation, which are derived from two snapshots, are reported apart.

The files are all those that these lanes read of 16 Trainium2 devices (driver 2.30.2). A device has
20 cores here instead of 8, because the program does not read all that a trn2.48xlarge shows:
of its 13,504 attributes (driver 2.24.7) 5,632 `present` never, and 2,240 others every 10 s or more
rarely. Floor and program take turns pass by pass, in two processes, so that each holds its own
descriptors and neither finds its caches warm.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.hosts import Interfaces, bind, enter_namespaces, mount, planned, write_tree
from benchmarks.measuring import (
    TREES,
    Goal,
    compile_floor,
    judge,
    machine,
    paired,
    write_list,
)
from neuron_observer.clock import SystemClock
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LANES = ("fast", "normal")
CORES = 20  # of a device; see above
LISTING = TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz"


class Host(NamedTuple):
    """A tree, the files that a tick reads of it, and how to change a part of them."""

    root: Path
    files: list[Path]
    change: Callable[[], None]


class Floor:
    """The C program with its descriptors kept."""

    def __init__(self, program: Path, files: Sequence[Path], folder: Path) -> None:
        self._process = subprocess.Popen(
            [program, "keep", write_list(folder / "files", files)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.changed = 0  # numbers that changed in the last pass

    def __call__(self) -> float:
        """CPU milliseconds of one pass."""
        pipes = self._process.stdin, self._process.stdout
        if not (pipes[0] and pipes[1]):
            raise SystemExit("the floor has no pipes")
        pipes[0].write(b"\n")
        pipes[0].flush()
        nanoseconds, changed = pipes[1].readline().split()
        self.changed = int(changed)
        return int(nanoseconds) / 1e6

    def close(self) -> None:
        """End the program."""
        self._process.communicate()


def files_of_a_tick(root: Path) -> list[Path]:
    """What the lanes read, by the program's own plan."""
    return [
        root / device.path / path
        for device, plans in planned(root).values()
        for lane in LANES
        for path in plans[lane].targets
    ]


def real_host(folder: Path, share: float) -> Host:
    """The tree with a real sysfs attribute under every file of a tick."""
    mount("tmpfs", folder / "tree")
    write_tree(LISTING, folder / "tree", CORES)
    files = files_of_a_tick(folder / "tree")
    step = round(1 / share)
    moving = files[::step]
    still = [file for number, file in enumerate(files) if number % step]
    mount("sysfs", folder / "sysfs", read_only=True)
    interfaces = Interfaces(folder / "sysfs", len(moving), len(files))
    bind(list(islice(interfaces.moving(), len(moving))), moving)
    bind(list(islice(interfaces.still(), len(still))), still)
    return Host(folder / "tree", files, interfaces.send)


def plain_host(folder: Path, share: float) -> Host:
    """The tree as ordinary files in memory."""
    write_tree(LISTING, folder / "tree", CORES)
    files = files_of_a_tick(folder / "tree")
    moving = files[:: round(1 / share)]
    numbers = iter(range(10**9, 10**12))

    def change() -> None:
        text = f"{next(numbers)}\n"
        for file in moving:
            file.write_text(text, "ascii")

    return Host(folder / "tree", files, change)


def cpu_of_pass(host: Host, work: Callable[[], object]) -> float:
    """Change the files; CPU milliseconds of `work` then."""
    host.change()
    begin = time.process_time_ns()
    work()
    return (time.process_time_ns() - begin) / 1e6


def measure(
    name: str, host: Host, folder: Path, goal: float | None, options: argparse.Namespace
) -> bool:
    """Run all comparisons on one host; whether the goal is met."""
    floor = Floor(compile_floor(folder), host.files, folder)
    reader = HostReader(DirectoryFs(str(host.root)), SystemClock(), Options(keep=True))
    try:
        reader.poll()
        if reader.kept != len(host.files):
            raise SystemExit(f"{reader.kept} descriptors kept for {len(host.files)} files")

        def theirs() -> float:
            host.change()
            return floor()

        def run(what: str, work: Callable[[], object], most: float | None) -> bool:
            pairs = paired(lambda: cpu_of_pass(host, work), theirs, options.rounds)
            note = f"; {len(host.files):,} files, {floor.changed:,} changed"
            return judge(Goal(f"{name}: {what}", most), pairs, "ms", note)

        met = run("a poll cycle", lambda: reader.poll(LANES, derived=False), goal)
        if goal:
            run("the same with derived readings", lambda: reader.poll(LANES), None)
    finally:
        reader.close()
        floor.close()
    return met


CASES: dict[str, tuple[Callable[[Path, float], Host], float, float | None]] = {
    "real sysfs": (real_host, 0.05, 1.25),
    "plain directory": (plain_host, 0.05, 1.5),
    "real sysfs, all changed": (real_host, 1.0, None),
    "plain directory, all changed": (plain_host, 1.0, None),
}


def run_case(name: str, options: argparse.Namespace) -> bool:
    """One case in this process, which gives up its view of the machine's mounts and network."""
    make, share, goal = CASES[name]
    if make is real_host and os.geteuid():
        print(f"{name}: not measured, network namespaces and bind mounts need root")
        return True
    if os.geteuid() == 0:
        enter_namespaces(network=True)
        mount("tmpfs", options.folder)
    return measure(name, make(options.folder, share), options.folder, goal, options)


def main() -> int:
    """Each case in a process of its own; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        return 0 if run_case(options.case, options) else 1
    print(machine(), flush=True)
    missed = False
    for name in CASES:
        # made and removed out here, where what the child mounts on it is not seen
        with tempfile.TemporaryDirectory() as folder:
            child = [sys.executable, "-m", "benchmarks.poll", *sys.argv[1:]]
            missed |= bool(subprocess.call([*child, "--case", name, "--folder", folder]))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
