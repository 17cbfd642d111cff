"""What the screen of `top` costs, against a bare Textual table of the same rows in the same run.

Both run at the same time under terminals of the same size, on a simulated trn2.48xlarge at work.
Connected, all that is drawn comes from a daemon, once a second; in this process the reading comes
on top, so what a daemon uses for that at the same time is taken off. The simulation of a host costs
as much in both.
"""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from benchmarks.measuring import Goal, Pair, judge, within
from benchmarks.terminal import CLOCK, Terminal, cpu_of_process, resident
from neuron_observer.client import Client
from neuron_observer.client.address import Address
from neuron_observer.errors import DaemonError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CPU_GOAL = 1.2
MEMORY_GOAL = 60.0  # MB
HOST = ["--simulate", "healthy", "--instance", "trn2.48xlarge"]
SIZE = (120, 40)
WARM_UP = 5.0  # seconds
WINDOW = 10.0  # seconds of each figure
PAGES = {"overview": b"1", "cores": b"3", "devices": b"2"}
FAST = 4.0  # Hz at which a loop gives frames, and so at which the screen over it is drawn
_FIGURES = re.compile(rb"\d/96")


@contextmanager
def simulated_daemon(folder: Path) -> Iterator[tuple[str, int]]:
    """A daemon on a unix socket, ready; its URL and pid."""
    path = folder / "o.sock"
    command = [sys.executable, "-m", "neuron_observer", "daemon", *HOST]
    command += ["--listen", "127.0.0.1:0", "--socket", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        _wait_for(Client(Address("unix", path=str(path))))
        yield f"unix://{path}", process.pid
    finally:
        process.terminate()
        process.wait()


def _wait_for(client: Client, seconds: float = 30.0) -> None:
    end = CLOCK.monotonic() + seconds
    while True:
        try:
            client.get("health")
        except DaemonError as error:
            if CLOCK.monotonic() > end:
                raise SystemExit(f"the daemon does not answer: {error}") from None
            CLOCK.wait(0.1)
        else:
            return


@contextmanager
def running(command: list[str]) -> Iterator[Terminal]:
    """A program under a terminal."""
    terminal = Terminal(command, *SIZE)
    try:
        yield terminal
    finally:
        terminal.close()


def spend(terminals: list[Terminal], seconds: float) -> None:
    """Let time pass; what they write is read."""
    end = CLOCK.monotonic() + seconds
    while CLOCK.monotonic() < end:
        for terminal in terminals:
            terminal.read(0.02)
            terminal.written = terminal.written[-1000:]


def percent(before: float, after: float, seconds: float) -> float:
    """Of a processor core."""
    return (after - before) / seconds / 10


def compare(program: list[str], folder: Path, rounds: int) -> bool:
    """Both ways of `top`, each page; whether all goals are met."""
    with simulated_daemon(folder) as (url, pid):
        met = _connected([*program, "top", "--connect", url], rounds)
        return _here([*program, "top", "--direct", *HOST], pid, rounds) and met


def _connected(command: list[str], rounds: int) -> bool:
    met = True
    with ExitStack() as stack:
        bare = stack.enter_context(running([sys.executable, "-m", "benchmarks.bare_table", "1"]))
        ours = stack.enter_context(running(command))
        ours.until(_FIGURES, ours.begin)
        for page, key in PAGES.items():
            ours.press(key)
            spend([ours, bare], WARM_UP)
            pairs = [_window(ours, bare) for _ in range(rounds)]
            met &= judge(Goal(f"connected, page {page}: CPU", CPU_GOAL), pairs, "% of a core")
        met &= within("connected: memory", ours.resident(), MEMORY_GOAL, "MB")
        print(f"    of the bare table {bare.resident():.1f} MB")
    return met


def _window(ours: Terminal, bare: Terminal, pid: int | None = None) -> Pair:
    """What both used over a while; of ours without what a daemon used for reading."""
    begin, started = CLOCK.monotonic(), [ours.cpu(), bare.cpu()]
    read = cpu_of_process(pid) if pid else 0.0
    spend([ours, bare], WINDOW)
    seconds, ended = CLOCK.monotonic() - begin, [ours.cpu(), bare.cpu()]
    own, theirs = (percent(*figures, seconds) for figures in zip(started, ended, strict=True))
    return Pair(own - (percent(read, cpu_of_process(pid), seconds) if pid else 0.0), theirs)


def _here(command: list[str], pid: int, rounds: int) -> bool:
    with ExitStack() as stack:
        rate = str(FAST)
        bare = stack.enter_context(running([sys.executable, "-m", "benchmarks.bare_table", rate]))
        ours = stack.enter_context(running(command))
        ours.until(_FIGURES, ours.begin)
        spend([ours, bare], WARM_UP)
        pairs = [_window(ours, bare, pid) for _ in range(rounds)]
        name = "in this process, without the daemon's own: CPU"
        met = judge(Goal(name, CPU_GOAL), pairs, "% of a core")
        most = MEMORY_GOAL + resident(pid)
        met &= within(
            "in this process: memory, the daemon's own on top", ours.resident(), most, "MB"
        )
    return met
