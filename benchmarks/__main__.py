"""Run every benchmark in turn: `python -m benchmarks`; 1 if a goal is missed."""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = (
    "poll",
    "daemon",
    "latency",
    "peer_netclass",
    "startup",
    "check",
    "scrape",
    "floods",
    "jobs",
    "ranks",
    "simulation",
    "top",
    "rules",
    "faults",
    "noise",
    "exposure",
    "service",
    "resilience",
    "soak",
    "store",
    "live",
    "hook",
    "hook_live",
)


def main() -> int:
    """Each in a process of its own."""
    missed = []
    for name in BENCHMARKS:
        print(f"\n== {name}", flush=True)
        if subprocess.call([sys.executable, "-m", f"benchmarks.{name}"]):
            missed.append(name)
    print(f"\nmissed: {', '.join(missed)}" if missed else "\nall goals met")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
