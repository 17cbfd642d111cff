"""The job map with 2,000 processes: CPU time of a poll against a bare listing of /proc.

    python -m benchmarks.jobs [PROCESSES] [POLLS]

Forks that many sleeping processes, 64 of which hold four files named as devices below a made-up
host root whose /proc is the machine's own. Goal: a poll after the first costs at most 10 ms of CPU
time in the median; the ratio to `os.listdir("/proc")` of the same run is printed beside it.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

from benchmarks.measuring import machine
from neuron_observer.clock import ManualClock
from neuron_observer.collectors.jobs import PERIOD, JobCollector
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable

GOAL = 10.0  # ms
SETTLING = 60  # polls; new processes are looked at more often
HOLDERS, DEVICES, DESCRIPTORS = 64, 4, 40
LISTINGS = 20  # a poll's worth of time would be too short to measure


def main() -> int:
    """Measure; 1 if the goal is missed."""
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    polls = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _make_root(root)
        children = _fork(processes, root)
        try:
            return _measure(root, polls)
        finally:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
            for pid in children:
                os.waitpid(pid, 0)


def _make_root(root: Path) -> None:
    (root / "dev").mkdir()
    (root / "proc").symlink_to("/proc")
    for index in range(16):
        (root / "dev" / f"neuron{index}").touch()


def _fork(number: int, root: Path) -> list[int]:
    """Sleeping processes; the last ones hold devices, and all hold a few descriptors."""
    parent = os.getpid()
    children: list[int] = []
    for child in range(number):
        pid = os.fork()
        if pid == 0:
            signal.alarm(600)  # whatever happens, they end
            for _ in range(DESCRIPTORS // 4):
                os.open(os.devnull, os.O_RDONLY)
            for device in range(DEVICES if child >= number - HOLDERS else 0):
                os.open(root / "dev" / f"neuron{(child + device) % 16}", os.O_RDONLY)
            while os.getppid() == parent:
                signal.pause()
            os._exit(0)
        children.append(pid)
    return children


def _measure(root: Path, polls: int) -> int:
    clock = ManualClock()
    collector = JobCollector(DirectoryFs(str(root)), clock)
    first = _cpu(lambda: collector.poll(()))
    scan = collector.scan
    if scan is None or scan.holders < HOLDERS:
        raise SystemExit(f"{scan} found, {HOLDERS} holders expected")
    for _ in range(SETTLING):
        clock.advance(PERIOD)
        collector.poll(())
    ours, theirs = [], []
    for _ in range(polls):
        clock.advance(PERIOD)
        ours.append(_cpu(lambda: collector.poll(())))
        theirs.append(_cpu(_list_proc) / LISTINGS)
    middle, listing = median(ours), median(theirs)
    met = middle <= GOAL
    print(f"first poll of {scan.processes} processes, {HOLDERS} holders: {first:.1f} ms")
    print(
        f"a poll after it: {middle:.2f} ms of CPU time,"
        f" goal {GOAL:.0f}: {'met' if met else 'MISSED'}"
        f" (quartiles {quantiles(ours)[0]:.2f}, {quantiles(ours)[2]:.2f}, most {max(ours):.2f};"
        f" {polls} polls)\n    bare listing of /proc {listing:.3f} ms, ratio {middle / listing:.1f}"
    )
    return int(not met)


def _list_proc() -> None:
    for _ in range(LISTINGS):
        os.listdir("/proc")  # noqa: PTH208 - pathlib costs more than what is measured


def _cpu(work: Callable[[], object]) -> float:
    """CPU milliseconds of this process."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return (user + system) * 1000


if __name__ == "__main__":
    sys.exit(main())
