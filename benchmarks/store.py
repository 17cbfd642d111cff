"""The store: nothing lost or doubled by SIGKILL, small on the disk, cheap to write and to load.

python -m benchmarks.store [--kills N] [--seed N] [--days N] [--only cost|weeks|kills]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

from benchmarks.measuring import machine, within
from benchmarks.memory import kill
from benchmarks.memory.storm import FRAME, Storm, empty_host, real_memory
from neuron_observer.clock import ManualClock
from neuron_observer.store import open_store
from neuron_observer.store.retention import DAY, Retention

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.rules.memory import Memory

A_MINUTE = 100.0  # findings of a storm
STORM = 600.0  # seconds
MOST_CPU = 1.0  # percent of a core
MOST_START = 300.0  # milliseconds more
_ROUNDS = 9


def kills(rounds: int, seed: int) -> bool:
    """The table of what SIGKILL costs."""
    tally = kill.run(rounds, seed)
    print(f"SIGKILL at {tally.kills} random moments of a storm (seed {seed}):")
    for name, value in tally._asdict().items():
        print(f"    {name.replace('_', ' '):<14} {value}")
    return not (tally.lost or tally.lost_words or tally.doubled)


def cost(memory: Callable[[], Memory]) -> bool:
    """Processor time of both threads in a storm."""
    clock = ManualClock()
    with TemporaryDirectory() as folder:
        storm = Storm(clock, memory, A_MINUTE)
        keeper = open_store(folder, empty_host(), clock).keep(storm, tell=lambda _: None)
        taken = written = 0.0
        for _ in range(int(STORM / FRAME)):
            frame = storm.frame()
            begin = thread_time()
            keeper.note(frame)
            between = thread_time()
            keeper.flush()
            taken, written = taken + between - begin, written + thread_time() - between
        keeper.close()
    print(f"a storm of {A_MINUTE:.0f} findings a minute, {len(memory().counters)} counters:")
    print(f"    the loop's thread {taken / STORM:.3%} of a core, the store's {written / STORM:.3%}")
    return within("processor", (taken + written) / STORM * 100, MOST_CPU, "%")


def weeks(memory: Callable[[], Memory], days: float) -> bool:
    """Size after so many days of a storm that never ends, four frames a minute."""
    clock, retention = ManualClock(), Retention()
    with TemporaryDirectory() as folder:
        storm = Storm(clock, memory, A_MINUTE / 10, frame=15.0)
        store = open_store(folder, empty_host(), clock, retention)
        keeper = store.keep(storm, tell=lambda _: None)
        most = 0
        for number in range(int(days * DAY / 15.0)):
            keeper.note(storm.frame())
            keeper.flush()
            if number % 100 == 0:
                most = max(most, keeper.status().bytes)
        keeper.close()
        most = max(most, sum(one.stat().st_size for one in Path(folder).iterdir()))
        print(f"{days:g} days of 10 findings a minute:")
        good = within("size, at most", most / 1e6, retention.max_bytes / 1e6, "MB")
        return start(folder) and good


def start(folder: str) -> bool:
    """How much longer a start takes with a full store than with none."""
    clock = ManualClock()

    def opened(path: str | None) -> float:
        begin = perf_counter()
        store = open_store(path, empty_host(), clock)
        store.load()
        taken = perf_counter() - begin
        store.close()
        return taken * 1000

    full = median(opened(folder) for _ in range(_ROUNDS))
    none = median(opened(None) for _ in range(_ROUNDS))
    return within("a start with a full store, more", full - none, MOST_START, "ms")


def main() -> int:
    """1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--days", type=float, default=14.0)
    parser.add_argument("--only", choices=["kills", "weeks", "cost"], default="")
    options = parser.parse_args()
    print(machine(), flush=True)
    memory = real_memory()
    parts: dict[str, Callable[[], bool]] = {
        "cost": lambda: cost(memory),
        "weeks": lambda: weeks(memory, options.days),
        "kills": lambda: kills(options.kills, options.seed),
    }
    chosen = [options.only] if options.only else list(parts)
    met = [parts[name]() for name in chosen]  # each, also after one that is missed
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
