"""A tick on a simulation in memory against a tick on the same host in kept files.

    python -m benchmarks.simulation [--rounds N]

Both read what the fast and normal lanes read of a trn2.48xlarge with a job on every core, so a
sixth of the counters moves every second. The files are plain ones in memory, written by the
simulation itself; what moving the simulation and rewriting its files costs is reported apart.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measuring import Goal, judge, machine, paired
from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.observer import HostReader, Options
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sim.writer import DirectoryWriter
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable

LANES = ("fast", "normal")
MOST = 3.0  # times a tick on files
OPTIONS = Options(keep=True, machine=False)


def cpu(work: Callable[[], object]) -> float:
    """CPU milliseconds of some work."""
    begin = time.process_time_ns()
    work()
    return (time.process_time_ns() - begin) / 1e6


def main() -> int:
    """Both in turn; 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    print(machine(), flush=True)
    memory = Path("/dev/shm")  # noqa: S108 - a file system in memory, where there is one
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        clock = ManualClock()
        host = simulate(load("healthy"), clock)
        writer = DirectoryWriter(host, f"{folder}/host")
        writer.write()
        ours = HostReader(host, clock, OPTIONS)
        theirs = HostReader(DirectoryFs(f"{folder}/host"), SystemClock(), OPTIONS)
        ours.poll()
        theirs.poll()
        moved: list[float] = []

        def of_memory() -> float:
            clock.advance(1.0)
            return cpu(lambda: ours.poll(LANES))

        def of_files() -> float:
            moved.append(cpu(writer.write))
            return cpu(lambda: theirs.poll(LANES))

        pairs = paired(of_memory, of_files, rounds)
        met = judge(Goal("a tick on a simulation in memory", MOST), pairs, "ms")
        print(
            f"    a round of writing {sorted(moved)[len(moved) // 2]:.3g} ms, {writer.files} files"
        )
        ours.close()
        theirs.close()
        writer.close()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
