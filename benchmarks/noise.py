"""What is no fault must make no alarm: a healthy fleet's week, and three nodes' day.

    python -m benchmarks.noise [--nodes N] [--days N] [--hours N] [--fast SECONDS]

Changes: each node's readings move as those of a node at work, with resets, jobs that start and end,
driver reloads, restarts and stand-stills of the observer, single corrected errors, retransmits,
cleared counters, stopped processes, set clocks, late reads and harmless kernel lines
(benchmarks/judgement/changes.py). The rules get a snapshot each 30 s and nothing else runs.
Goal: a week of 100 nodes within 20 minutes of one core.

Pipeline: three simulated node types through reader, loop, history and rules, with faults of the
simulation that are none. The fast lane is read once a second, not four times: what it reads (health
files) is a level, so that fewer reads see the same states later; `--fast 0.25` is the default lane.

Of both: no critical finding, at most one warning.
"""

from __future__ import annotations

import argparse
import sys
from time import process_time
from typing import TYPE_CHECKING

from benchmarks.judgement.healthy import NODE_TYPES, day, week
from benchmarks.measuring import machine

if TYPE_CHECKING:
    from collections import Counter

FULL = 100  # nodes of the run whose time is judged
SECONDS = 1200.0  # of one core for a week of 100 nodes


def tell(name: str, alarms: Counter[tuple[str, str]]) -> tuple[int, int]:
    """Print what was found; critical findings and warnings."""
    for (severity, text), times in alarms.items():
        print(f"  {name}: {severity} {text}, {times} times")
    critical = sum(times for (severity, _), times in alarms.items() if severity == "critical")
    return critical, sum(alarms.values()) - critical


def main() -> int:
    """1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--days", type=float, default=7.0)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--fast", type=float, default=1.0, help="period of the fast lane")
    options = parser.parse_args()
    print(machine(), flush=True)
    critical = warnings = 0
    begin, looks = process_time(), 0
    for seed in range(options.nodes):
        alarms, steps = week(seed, options.days)
        looks += steps
        found = tell(f"changes, node {seed}", alarms)
        critical, warnings = critical + found[0], warnings + found[1]
    seconds = process_time() - begin
    limit = SECONDS * options.nodes * options.days / 700
    print(
        f"changes: {options.nodes} nodes, {options.days:g} days, {looks:,} looks:"
        f" {seconds:.0f} s of CPU, goal {limit:.0f}; {critical} critical, {warnings} warnings",
        flush=True,
    )
    met = seconds <= limit or options.nodes < FULL  # starting weighs too much in a short run
    for instance, driver in NODE_TYPES if options.hours else ():
        begin = process_time()
        alarms, frames = day(instance, driver, options.hours, options.fast)
        found = tell(f"pipeline, {instance} {driver}", alarms)
        critical, warnings = critical + found[0], warnings + found[1]
        print(
            f"pipeline: {instance} {driver}, {options.hours:g} h, {frames:,} frames:"
            f" {process_time() - begin:.0f} s of CPU; {found[0]} critical, {found[1]} warnings",
            flush=True,
        )
    met &= critical == 0 and warnings <= 1
    print(f"{critical} critical, {warnings} warnings: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
