"""Real torchrun jobs under `run`: is the right rank named, for the right reason, and nobody else?

Each job is `neuron-observer run -- torchrun …` with the real hook, gloo and no Neuron device; work
is sleep, because all ranks share a few cores. Jobs start a group at a time and begin to train
together, so that none trains while others still start. Needs torch beside this package.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.live_jobs.cases import CASES, Answer, judge, order, said
from benchmarks.measuring import ROOT, machine
from neuron_observer.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.live_jobs.cases import Case

TRAIN = ROOT / "benchmarks" / "live_jobs" / "train.py"
START = 600.0  # seconds that a group may take to be ready
LONGEST = 300.0  # seconds that a job may train
TOLD = 3.0  # seconds that a hung job goes on after its finding was said
ENVIRONMENT = {
    "GLOO_SOCKET_IFNAME": "lo",
    "OMP_NUM_THREADS": "1",
    # else gloo connects to ranks of before a restart (torch 2.13)
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
}
CLOCK = SystemClock()


class Run:
    """One job under `run`."""

    def __init__(self, case: Case, number: int, folder: Path, given: argparse.Namespace) -> None:
        self.case = case
        self.ranks: int = given.ranks
        self.rank = number % given.ranks
        self.folder = folder / f"{case.name.replace(' ', '-')}-{number}"
        (self.folder / "ready").mkdir(parents=True)
        self.said = self.folder / "said"
        with self.said.open("wb") as lines:
            self.process = subprocess.Popen(
                self._command(given),
                stdout=subprocess.DEVNULL,
                stderr=lines,
                env={**os.environ, **ENVIRONMENT},
                start_new_session=True,
            )
        self.told_at: float | None = None

    def _command(self, given: argparse.Namespace) -> list[str]:
        run = [
            "-m",
            "neuron_observer",
            "run",
            "--no-check",
            "--report",
            str(self.folder / "report"),
        ]
        torchrun = ["-m", "torch.distributed.run", "--standalone"]
        torchrun += ["--nproc-per-node", str(self.ranks), "--max-restarts", str(self.case.restarts)]
        train = [str(TRAIN), *self.case.options, "--rank", str(self.rank)]
        train += ["--ready", str(self.folder / "ready"), "--gate", str(self.folder / "gate")]
        train += ["--mark", str(self.folder / "mark"), *(["--by-hand"] if given.by_hand else [])]
        return [sys.executable, *run, "--", sys.executable, *torchrun, *train]

    def ready(self) -> bool:
        """Whether all ranks wait at the gate."""
        return len(os.listdir(self.folder / "ready")) >= self.ranks  # noqa: PTH208 - names only

    def open(self) -> None:
        """Let them train."""
        (self.folder / "gate").touch()

    def over(self) -> bool:
        """Whether it has ended; a hung one is ended soon after somebody said that it hangs."""
        now = CLOCK.monotonic()
        if not self.case.ends and self.process.poll() is None:
            if self.told_at is None and b": hang-" in self.said.read_bytes():
                self.told_at = now
            if self.told_at is not None and now - self.told_at > TOLD:
                self.end()
        return self.process.poll() is not None

    def end(self) -> None:
        """Ask it to end."""
        self.process.send_signal(signal.SIGTERM)

    def answer(self) -> Answer:
        """What was said of it, and how long after the fault."""
        try:
            report = json.loads((self.folder / "report").read_text("utf-8"))
        except (OSError, ValueError):
            text = self.said.read_text("utf-8", "replace")
            return Answer(right=False, said=f"no report: {text[-300:]}")
        found = judge(self.case, self.rank, report)
        return found._replace(delay=self._delay(report))

    def _delay(self, report: dict[str, Any]) -> float | None:
        """Seconds from the fault until the right thing was said."""
        times = [
            datetime.fromisoformat(one.at.replace("Z", "+00:00")).timestamp()
            for one in said(report)
            if one.id in self.case.ids and one.at
        ]
        mark = self.folder / "mark"
        return min(times) - float(mark.read_text("ascii")) if times and mark.exists() else None


def run_all(
    wanted: Sequence[tuple[Case, int]], folder: Path, given: argparse.Namespace
) -> list[Run]:
    """Run them a group at a time; what hangs is left to hang while the next groups start."""
    runs: list[Run] = []
    try:
        for group in groups(wanted, given.side_by_side):
            fresh = [Run(case, number, folder, given) for case, number in group]
            runs += fresh
            wait(runs, lambda: all(r.ready() or r.over() for r in fresh), START)  # noqa: B023
            for run in fresh:
                run.open()
            wait(runs, lambda: all(r.over() or not r.case.ends for r in fresh), LONGEST)  # noqa: B023
        wait(runs, lambda: all(run.over() for run in runs), LONGEST)
    finally:
        _end(runs)
    return runs


def groups(wanted: Sequence[tuple[Case, int]], most: int) -> Iterator[Sequence[tuple[Case, int]]]:
    """At most so many at a time; those that hang apart from those that end."""
    for ends in (False, True):
        those = [pair for pair in wanted if pair[0].ends is ends]
        yield from (those[first : first + most] for first in range(0, len(those), most))


def wait(runs: Sequence[Run], done: Callable[[], bool], seconds: float) -> None:
    """Until it is so, at most so long; meanwhile hung jobs that were found are ended."""
    begin = CLOCK.monotonic()
    while not done() and CLOCK.monotonic() - begin < seconds:
        CLOCK.wait(0.2)
        for run in runs:
            run.over()


def _end(runs: Sequence[Run]) -> None:
    """Nothing is left behind; torchrun ends its ranks itself, if it is given the time."""
    for run in runs:
        if run.process.poll() is None:
            run.end()
    for run in runs:
        try:
            run.process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(run.process.pid, signal.SIGKILL)
            run.process.wait()


def show(answers: dict[str, list[Answer]]) -> bool:
    """The table; whether all were right."""
    print(f"{'job':<16}{'runs':>5}{'right':>6}{'told after (median, longest)':>32}  wrong")
    for case in CASES:
        given = answers.get(case.name, [])
        if not given:
            continue
        delays = [one.delay for one in given if one.delay is not None and one.right]
        after = f"{median(delays):.1f} s, {max(delays):.1f} s" if delays else "-"
        wrong = " | ".join(one.said for one in given if not one.right)
        right = sum(one.right for one in given)
        print(f"{case.name:<16}{len(given):>5}{right:>6}{after:>32}  {wrong}")
    return all(one.right for given in answers.values() for one in given)


def main() -> int:
    """1 if a run is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--side-by-side", type=int, default=8, help="jobs at a time")
    parser.add_argument("--by-hand", action="store_true", help="no optimizer: starts sooner")
    parser.add_argument("--short", action="store_true", help="one run of what is to be silent")
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES])
    parser.add_argument("--keep", type=Path, help="folder for what each run said")
    given = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("no torch beside this package, so no job can be run: pip install torch numpy")
        return 0
    print(machine())
    wanted = [
        pair
        for pair in order(given.runs, short=given.short)
        if not given.only or pair[0].name in given.only
    ]
    begin = CLOCK.monotonic()
    answers: dict[str, list[Answer]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        for run in run_all(wanted, folder, given):
            answers.setdefault(run.case.name, []).append(run.answer())
        right = show(answers)
    print(f"{len(wanted)} jobs of {given.ranks} ranks in {CLOCK.monotonic() - begin:.0f} s")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
