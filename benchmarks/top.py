"""What somebody waits for who types `neuron-observer top`, and what it costs while it is open.

    python -m benchmarks.top [--rounds N] [--command PATH] [--only wait|cost]

The program runs under a terminal of 80x24 of our own. First frame: wall time from before the
process is made to the moment at which the figures of a device have been written to the terminal,
of a full trn2.48xlarge as a directory and of the simulation. Key: from an arrow key to the mark at
the next device, while the host is read. Wall time, so a busy machine shows. What it costs:
benchmarks/top_cost.py.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from benchmarks.hosts import write_tree
from benchmarks.measuring import TREES, machine
from benchmarks.terminal import CLOCK, Terminal
from benchmarks.top_cost import compare, simulated_daemon

FIRST_FRAME_GOAL = 500.0  # ms
KEY_GOAL = 50.0  # ms, of 95 keys in 100
KEYS = 40
_FIGURES = re.compile(rb"\d/96")  # used and whole HBM of a device


class Figure(NamedTuple):
    """A name, figures in milliseconds, and what is held against the goal."""

    name: str
    milliseconds: list[float]
    goal: float
    share: float = 0.5  # of the figures that must meet the goal

    def judge(self) -> bool:
        """Print it; whether the goal is met."""
        low, middle, high = quantiles(self.milliseconds)
        held = middle
        if self.share > 0.5:
            held = quantiles(self.milliseconds, n=100)[round(self.share * 100) - 1]
        met = held <= self.goal
        what = "median" if self.share == 0.5 else f"p{self.share * 100:.0f}"
        print(f"{self.name}: {what} {held:.0f} ms, goal {self.goal:.0f}: {_word(met=met)}")
        count = len(self.milliseconds)
        print(
            f"    {count} of them, median {median(self.milliseconds):.0f}, {low:.0f} to {high:.0f}"
        )
        return met


def _word(*, met: bool) -> str:
    return "met" if met else "MISSED"


class First(NamedTuple):
    """What the first figures took."""

    wall: float  # milliseconds
    cpu: float  # milliseconds of the program's own


def first_frame(command: list[str]) -> First:
    """Wait for the first figures."""
    terminal = Terminal(command)
    try:
        wall = terminal.until(_FIGURES, terminal.begin)
        return First(wall, terminal.cpu())
    finally:
        terminal.close()


def keys(command: list[str], number: int) -> list[float]:
    """Milliseconds from an arrow key to the mark at the device that it selects."""
    terminal = Terminal(command)
    found = []
    try:
        terminal.until(_FIGURES, terminal.begin)
        for turn in range(number):
            key, device = (b"\x1b[C", 1) if turn % 2 == 0 else (b"\x1b[D", 0)
            pressed = terminal.press(key)
            found.append(terminal.until(re.compile(rb"neuron%d\D" % device), pressed))
            CLOCK.wait(0.11)  # not in step with the reads
    finally:
        terminal.close()
    return found


def main() -> int:
    """Measure; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--command", help="an installed neuron-observer")
    parser.add_argument("--only", choices=("wait", "cost"))
    options = parser.parse_args()
    program = [options.command] if options.command else [sys.executable, "-m", "neuron_observer"]
    rounds = max(options.rounds, 2)
    print(machine(), flush=True)
    met = True
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "cost":
            met &= waits(program, Path(folder), rounds)
        if options.only != "wait":
            met &= compare(program, Path(folder), rounds)
    return 0 if met else 1


def waits(program: list[str], folder: Path, rounds: int) -> bool:
    """First frames and keys: of a directory, of the simulation, of a daemon."""
    write_tree(TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz", folder / "host")
    with simulated_daemon(folder) as (url, _):
        hosts = {
            "a directory": ["--host-root", str(folder / "host")],
            "the simulation": ["--simulate"],
            "a daemon": ["--connect", url],
        }
        found = [_waits(name, [*program, "top", *hosts[name]], rounds) for name in hosts]
    return all(found)


def _waits(name: str, command: list[str], rounds: int) -> bool:
    first_frame(command)  # compiles, fills caches
    times = [first_frame(command) for _ in range(rounds)]
    met = Figure(f"first frame of {name}", [one.wall for one in times], FIRST_FRAME_GOAL).judge()
    print(f"    CPU until then: median {median(one.cpu for one in times):.0f} ms")
    return Figure(f"a key, {name}", keys(command, KEYS), KEY_GOAL, 0.95).judge() and met


if __name__ == "__main__":
    sys.exit(main())
