"""Rules against the poll cycle that feeds them: 5 % of the files change each tick.

    python -m benchmarks.rules [--rounds N]

The host is that of `benchmarks.poll`, a plain directory in memory: 16 Trainium2 devices, a poll of
the fast and normal lanes. There are 60 rules: the shipped ones, edges on the counters of every
core, and those that look at what moves all the time (memory that grows, cores that differ, a
heartbeat). Poll and rules of one tick are a pair; what counts is the median of their ratios.

What changes on a node at work is what a job moves: executions, time in use, memory, heartbeats.
That is the case with the goal. In the other every change is an error, on a tenth of all counters:
880 findings that are all new each tick.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.hosts import planned, write_tree
from benchmarks.measuring import Goal, Pair, judge, machine
from benchmarks.poll import LANES, LISTING
from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.clock import SystemClock
from neuron_observer.model import Action, Severity
from neuron_observer.observer import HostReader, Options
from neuron_observer.rules.engine import Engine
from neuron_observer.rules.loader import load
from neuron_observer.rules.pattern import Fact
from neuron_observer.rules.rule import Below, DiffersFromPeers, Increased, Rule, Stuck, Trend
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from neuron_observer.clock import Clock
    from neuron_observer.rules.rule import Condition, RuleScope

RULES = 60
SHARE = 0.05
GOAL = 0.10
MOVED_BY_A_JOB = (
    "core.execution.success",
    "core.inferences",
    "core.flops",
    "core.time_in_use",
    "core.hbm.",
    "device.health.heartbeat",
    "device.host_memory.",
)
RESTLESS: tuple[tuple[RuleScope, Condition], ...] = (
    ("core", Trend("core.hbm.used", than=1 << 30, window=600.0, per=600.0)),
    ("core", DiffersFromPeers("core.utilization", least=0.2)),
    ("core", DiffersFromPeers("core.flops_per_busy_second", least_share=0.25, among="device")),
    ("device", Stuck("device.health.heartbeat", 600.0)),
    ("node", Below("host.memory.available", "host.memory.total", times=0.05)),
)


def rule(number: int, scope: RuleScope, when: Condition) -> Rule:
    """A rule that is made up."""
    return Rule(
        id=f"made-up-{number}",
        scope=scope,
        when=when,
        severity=Severity.WARNING,
        action=Action.WATCH,
        fact=Fact("document", "made up"),
        message="{metric}: {count}, {value}",
        meaning="made up",
        clears="nothing",
    )


def rules() -> tuple[Rule, ...]:
    """60 of them."""
    shipped = load()
    counters = [
        spec.id
        for spec in METRICS.values()
        if spec.scope == "core" and spec.kind is Kind.COUNTER and spec.lane == "normal"
        if not spec.id.startswith(MOVED_BY_A_JOB)
    ]
    conditions: list[tuple[RuleScope, Condition]] = list(RESTLESS)
    while len(shipped) + len(conditions) < RULES:
        conditions.append(("core", Increased(counters[len(conditions) % len(counters)])))
    return (*shipped, *(rule(number, *one) for number, one in enumerate(conditions)))


def moving_files(root: Path, *, errors: bool) -> list[Path]:
    """A share of the files of a tick: those that a job moves, or any."""
    targets = [
        (root / device.path / path, cells[0].spec.id)
        for device, plans in planned(root).values()
        for lane in LANES
        for path, cells in plans[lane].targets.items()
        if cells[0].source.format in ("count", "heartbeat")
    ]
    wanted = round(SHARE * len(targets))
    chosen = [path for path, metric in targets if errors or metric.startswith(MOVED_BY_A_JOB)]
    step = max(len(chosen) // wanted, 1)
    return chosen[::step][:wanted]


def date_power(root: Path, clock: Clock) -> None:
    """Give the power figures the minute that is now: on a node at work they are never old."""
    for file in root.glob("sys/devices/virtual/neuron_device/neuron*/stats/power/utilization"):
        status, _, rest = file.read_text("ascii").split(",", 2)
        file.write_text(f"{status},{int(clock.wall())},{rest}", "ascii")


def measure(folder: Path, rounds: int, goal: float | None, *, errors: bool) -> bool:
    """Whether the goal is met."""
    clock = SystemClock()
    write_tree(LISTING, folder)
    date_power(folder, clock)
    moving = moving_files(folder, errors=errors)
    reader = HostReader(DirectoryFs(str(folder)), clock, Options(keep=True))
    engine = Engine(rules())
    numbers = count(200)
    pairs = []
    try:
        for _ in range(3):
            engine(reader.poll())
        for _ in range(rounds):
            text = f"{next(numbers)}\n"
            for file in moving:
                file.write_text(text, "ascii")
            begin = time.process_time_ns()
            snapshot = reader.poll(LANES)
            between = time.process_time_ns()
            engine(snapshot)
            end = time.process_time_ns()
            pairs.append(Pair((end - between) / 1e6, (between - begin) / 1e6))
    finally:
        reader.close()
    note = f"; {len(engine.rules)} rules, {len(moving)} files changed, {engine.evaluated:,} looks"
    name = "every change an error" if errors else "a node at work"
    return judge(Goal(f"rules in a poll cycle: {name}", goal), pairs, "ms", note)


def main() -> int:
    """1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    print(machine(), flush=True)
    met = True
    for errors, goal in ((False, GOAL), (True, None)):
        with tempfile.TemporaryDirectory() as folder:
            met &= measure(Path(folder), options.rounds, goal, errors=errors)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
