"""What somebody waits for who types `neuron-observer top`: the first frame, and a key.

    python -m benchmarks.top [--rounds N] [--command PATH]

The program runs under a terminal of 80x24 of our own. First frame: wall time from before the
process is made to the moment at which the figures of a device have been written to the terminal,
of a full trn2.48xlarge as a directory and of the simulation. Key: from an arrow key to the mark at
the next device, while the host is read. Wall time, so a busy machine shows.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from benchmarks.hosts import write_tree
from benchmarks.measuring import ROOT, TREES, machine
from benchmarks.startup import clean_environment
from neuron_observer.clock import SystemClock

FIRST_FRAME_GOAL = 500.0  # ms
KEY_GOAL = 50.0  # ms, of 95 keys in 100
PATIENCE = 15.0  # seconds
KEYS = 40
_FIGURES = re.compile(rb"\d/96")  # used and whole HBM of a device
_CLOCK = SystemClock()


class Terminal:
    """A program under a terminal of 80x24, and what it has written."""

    def __init__(self, command: list[str]) -> None:
        self.begin = _CLOCK.monotonic()
        self.written = b""
        environment = clean_environment() | {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self.pid, self._screen = pty.fork()
        if not self.pid:
            size = struct.pack("HHHH", 24, 80, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.chdir(ROOT)
            os.execvpe(command[0], command, environment)  # noqa: S606 - the program measured

    def until(self, pattern: re.Pattern[bytes], begin: float) -> float:
        """Milliseconds from `begin` until it has written a pattern since the last call."""
        seen = len(self.written)
        while _CLOCK.monotonic() - begin < PATIENCE:
            if select.select([self._screen], [], [], 0.05)[0]:
                try:
                    self.written += os.read(self._screen, 65536)
                except OSError:  # it ended
                    break
                if pattern.search(self.written, seen):
                    return (_CLOCK.monotonic() - begin) * 1e3
        raise SystemExit(f"{pattern.pattern!r} was not written: {self.written[-500:]!r}")

    def cpu(self) -> float:
        """Milliseconds of CPU that the program has used so far."""
        ticks = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11:13]
        return sum(map(int, ticks)) * 1e3 / os.sysconf("SC_CLK_TCK")

    def press(self, key: bytes) -> float:
        """Press a key; when."""
        os.write(self._screen, key)
        return _CLOCK.monotonic()

    def close(self) -> None:
        """End the program and wait for it."""
        os.kill(self.pid, signal.SIGTERM)
        while select.select([self._screen], [], [], PATIENCE)[0]:
            try:
                if not os.read(self._screen, 65536):
                    break
            except OSError:
                break
        os.waitpid(self.pid, 0)
        os.close(self._screen)


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
            _CLOCK.wait(0.11)  # not in step with the reads
    finally:
        terminal.close()
    return found


def main() -> int:
    """Measure; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--command", help="an installed neuron-observer")
    options = parser.parse_args()
    program = [options.command] if options.command else [sys.executable, "-m", "neuron_observer"]
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write_tree(TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz", Path(folder))
        hosts = {"a directory": ["--host-root", folder], "the simulation": ["--simulate"]}
        met = True
        for name, option in hosts.items():
            command = [*program, "top", *option]
            first_frame(command)  # compiles, fills caches
            times = [first_frame(command) for _ in range(max(options.rounds, 2))]
            wall = [first.wall for first in times]
            met &= Figure(f"first frame of {name}", wall, FIRST_FRAME_GOAL).judge()
            print(f"    CPU until then: median {median(first.cpu for first in times):.0f} ms")
            met &= Figure(f"a key, {name}", keys(command, KEYS), KEY_GOAL, 0.95).judge()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
