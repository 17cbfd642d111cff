"""Every simulated fault over instance types, drivers and load: is it found, where, how fast?

    python -m benchmarks.faults [--chips | --full] [--case TEXT] [--processes N]

The runs have every pair of fault, chip, driver and load; with `--chips` all combinations of them,
with `--full` on every instance type, too. Reader, loop, history and
rules are the real ones, on a simulated host under a clock that is moved by hand. What must be found
stands in benchmarks/judgement/cases.py, what it must be like in tests/rules/faults.yaml.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from time import process_time
from typing import TYPE_CHECKING

from benchmarks.judgement.grid import run
from benchmarks.judgement.setups import every_chip, full, pairwise
from benchmarks.measuring import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.judgement.watch import Result


def report(results: Sequence[Result]) -> bool:
    """Print the table; whether every goal is met."""
    seen = [one for result in results for one in result.seen]
    live = [one for one in seen if one.live]
    found = [one for one in live if one.seconds is not None]
    wrong = Counter[str]()
    for result in results:
        problems = [f"{one.id}: {text}" for one in result.seen for text in one.problems]
        problems += [f"beside it: {text}" for text in result.extra]
        for text in problems:
            wrong[text] += 1
            print(f"  {' '.join(map(str, result.setup))}: {text}")
    print(f"runs {len(results)}; findings expected {len(live)}, found {len(found)}:", end=" ")
    print(f"recall {len(found) / max(len(live), 1):.4f}")
    print(f"cannot be shown by chip or driver: {len(seen) - len(live)}")
    print(f"findings beside the expected: {sum(len(result.extra) for result in results)}")
    for lane in sorted({one.lane for one in found}):
        times = sorted(max(one.seconds or 0.0, 0.0) for one in found if one.lane == lane)
        limit = max(one.limit for one in found if one.lane == lane)
        late = times[min(int(len(times) * 0.99), len(times) - 1)]
        print(
            f"  {lane:9} {len(times):4} found; median {times[len(times) // 2]:6.2f} s,"
            f" p99 {late:6.2f} s, period {limit:g} s"
        )
    return not wrong


def main() -> int:
    """1 if anything is missed, wrong, late or too much."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--chips", action="store_true", help="every chip, driver and load")
    parser.add_argument("--full", action="store_true", help="every instance type, too")
    parser.add_argument("--case", default="", help="only faults whose name holds this text")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    print(machine(), flush=True)
    chosen = full() if options.full else every_chip() if options.chips else pairwise()
    setups = [one for one in chosen if options.case in one.case]
    if options.processes > 1:
        with ProcessPoolExecutor(options.processes) as pool:
            results = list(pool.map(run, setups, chunksize=4))
    else:
        results = [run(setup) for setup in setups]
    met = report(results)
    print(f"{process_time():.0f} s of CPU; {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
