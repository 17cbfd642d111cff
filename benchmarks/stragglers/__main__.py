"""`python -m benchmarks.stragglers`: run all, print the tables, exit 1 if a figure is missed."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path

from benchmarks.stragglers import explain, report, suites
from benchmarks.stragglers.bench import measure
from benchmarks.stragglers.goals import goals
from benchmarks.stragglers.tables import table
from neuron_observer.clock import SystemClock


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="benchmarks.stragglers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about two minutes; no held-out jobs")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables into this page")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--explain", action="store_true", help="name every miss on stderr")
    options = parser.parse_args()
    clock = SystemClock()
    began = clock.monotonic()

    def tell(what: str) -> None:
        print(f"{clock.monotonic() - began:6.0f} s  {what}", file=sys.stderr, flush=True)

    full = not options.quick
    out = measure(suites.FULL if full else suites.QUICK, options.seed, tell, options.workers)
    wanted = goals(out, full=full)
    day = datetime.fromtimestamp(clock.wall(), tz=timezone.utc).date().isoformat()
    minutes = (clock.monotonic() - began) / 60
    page = report.page(out, wanted, report.origin(options.seed, day, minutes, full=full))
    if options.explain:
        print(*explain.lines(out), sep="\n", file=sys.stderr)
    if options.write:
        report.write(options.write, page)
    rows = [(g.name, g.wanted, g.measured, "yes" if g.holds else "NO") for g in wanted]
    print(page if full else table(("figure", "wanted", "measured", "holds"), rows))
    missed = [goal.name for goal in wanted if not goal.holds]
    print("all figures hold" if not missed else f"missed: {'; '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
