"""How long `check` takes on a full trn2.48xlarge: wall time of the whole command, and its CPU time.

    python -m benchmarks.check [--rounds N]

By a look of its own, of which 300 ms are the pause between two reads (the rules are loaded in it),
and by the daemon. The host trees stand in memory, so that no disk is measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from benchmarks.hosts import enter_namespaces, mount, write_tree
from benchmarks.measuring import TREES, cpu_of, machine
from benchmarks.startup import clean_environment
from neuron_observer.client import Client
from neuron_observer.client.address import parse
from neuron_observer.errors import DaemonError

if TYPE_CHECKING:
    from collections.abc import Iterator

LISTINGS = ("trn2.48xlarge-2.30.2-busy", "trn2.48xlarge-2.24.7-idle")
GOAL = 1.0  # seconds
CACHED_GOAL = 0.05  # seconds
_PATIENCE = 120.0  # seconds until the daemon has decided


def measure(listing: str, folder: Path, rounds: int) -> bool:
    """Print the figures of one host; whether the medians are within the goals."""
    root = folder / listing
    write_tree(TREES / f"{listing}.tsv.gz", root)
    command = [sys.executable, "-m", "neuron_observer", "check"]
    met = timed(f"check, {listing}", [*command, "--host-root", str(root)], GOAL, rounds)
    with served(root, folder / f"{listing}.sock") as url:
        cached = timed(
            f"cached, {listing}",
            [*command, "--format", "nagios", "--connect", url],
            CACHED_GOAL,
            rounds,
        )
    return met and cached


def timed(name: str, command: list[str], goal: float, rounds: int) -> bool:
    """Wall and CPU time of a whole command; whether the median is within its goal."""
    environment = clean_environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    cpu_of(command, environment)  # compiles what is not compiled yet
    walls: list[float] = []
    cpus: list[float] = []
    for _ in range(rounds):
        begin = time.monotonic()  # noqa: TID251 - a benchmark measures
        cpus.append(cpu_of(command, environment))
        walls.append(time.monotonic() - begin)  # noqa: TID251 - the same
    low, wall, high = quantiles(walls)
    met = wall <= goal
    print(f"{name}: {wall:.3f} s, goal {goal:.2f} s: {'met' if met else 'MISSED'}")
    print(
        f"    {rounds} rounds, quartiles {low:.3f}, {high:.3f} s; CPU {median(cpus):.3f} s,"
        f" load {os.getloadavg()[0]:.1f}"
    )
    return met


@contextmanager
def served(root: Path, path: Path) -> Iterator[str]:
    """The URL of a daemon that reads a host and has decided."""
    command = [sys.executable, "-m", "neuron_observer", "daemon", "--listen", "127.0.0.1:0"]
    options = ["--host-root", str(root), "--socket", str(path)]
    with subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL) as process:
        try:
            client = Client(parse(f"unix://{path}"))
            until = time.monotonic() + _PATIENCE  # noqa: TID251 - the same
            while not _settled(client):
                if time.monotonic() > until:  # noqa: TID251 - the same
                    raise SystemExit("the daemon does not decide")
                time.sleep(0.2)  # noqa: TID251 - the same
            yield f"unix://{path}"
        finally:
            process.terminate()


def _settled(client: Client) -> bool:
    try:
        return bool(client.get("check")["settled"])
    except DaemonError:
        return False


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
