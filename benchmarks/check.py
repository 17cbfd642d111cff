"""How long `check` takes on a full trn2.48xlarge: wall time of the whole command, and its CPU time.

    python -m benchmarks.check [--rounds N]

300 ms of the wall time are the pause between its two reads; the rules are loaded in it. The host
trees stand in memory, so that no disk is measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from benchmarks.hosts import enter_namespaces, mount, write_tree
from benchmarks.measuring import TREES, cpu_of, machine
from benchmarks.startup import clean_environment

LISTINGS = ("trn2.48xlarge-2.30.2-busy", "trn2.48xlarge-2.24.7-idle")
GOAL = 1.0  # seconds


def measure(listing: str, folder: Path, rounds: int) -> bool:
    """Print the figures of one host; whether the median is within the goal."""
    root = folder / listing
    write_tree(TREES / f"{listing}.tsv.gz", root)
    command = [sys.executable, "-m", "neuron_observer", "check", "--host-root", str(root)]
    environment = clean_environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    cpu_of(command, environment)  # compiles what is not compiled yet
    walls: list[float] = []
    cpus: list[float] = []
    for _ in range(rounds):
        begin = time.monotonic()  # noqa: TID251 - a benchmark measures
        cpus.append(cpu_of(command, environment))
        walls.append(time.monotonic() - begin)  # noqa: TID251 - the same
    low, wall, high = quantiles(walls)
    met = wall <= GOAL
    print(f"check, {listing}: {wall:.2f} s, goal {GOAL:.1f} s: {'met' if met else 'MISSED'}")
    print(
        f"    {rounds} rounds, quartiles {low:.2f}, {high:.2f} s; CPU {median(cpus):.2f} s,"
        f" load {os.getloadavg()[0]:.1f}"
    )
    return met


def main() -> int:
    """Measure; 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder is None:
        print(machine(), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            child = [sys.executable, "-m", "benchmarks.check", "--rounds", str(options.rounds)]
            return subprocess.call([*child, "--folder", folder])
    if os.geteuid() == 0:
        enter_namespaces()
        mount("tmpfs", options.folder)
    met = [measure(listing, options.folder, options.rounds) for listing in LISTINGS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
