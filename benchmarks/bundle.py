"""Bundles: what a node found in every scenario, against what `triage` finds in its bundle.

    python -m benchmarks.bundle [--scenario TEXT] [--instance TYPE]

Reader, loop, rules and API are the real ones, on a simulated host under a clock that is moved by
hand; each scenario is watched until a minute after its last fault began.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

from benchmarks.measuring import machine
from neuron_observer.bundling import bundle
from neuron_observer.sim.scenario import load, shipped
from neuron_observer.triage.report import triage
from tests.bundling.hosts import asked
from tests.client.servers import answering
from tests.daemon.daemons import Simulated

BEGIN = 60.0  # seconds that are over at the first look
AFTER = 60.0  # seconds that are watched after the last fault began
LONGEST = 900.0
_NAMES = ("id", "entity", "severity", "confidence", "action", "if_confirmed", "state", "message")


class Row(NamedTuple):
    """One scenario."""

    name: str
    findings: int
    same: bool
    lines: int  # of the log, as evidence
    size: int  # bytes
    seconds: float  # of processor time, for the bundle and its triage


def watched(name: str, instance: str, folder: Path) -> Row:
    """Watch a scenario, make its bundle, and read that elsewhere."""
    faults = load(name, instance=instance).faults
    last = max((fault.at for fault in faults), default=BEGIN)
    daemon = Simulated(name, BEGIN, instance)
    daemon.go(min(max(last - BEGIN, 0.0) + AFTER, LONGEST))
    begin = process_time()
    with answering(daemon.answers, folder) as client:
        made = bundle(asked("/", client=client, level="none"))
    daemon.close()
    file = folder / "b.tar.gz"
    file.write_bytes(made.data)
    there = triage([str(file)])
    taken = process_time() - begin
    node = daemon.get("/api/v1/findings?all=true")
    found = there.document()
    same = told(node) == told(found) and node["verdict"] == found["verdict"]
    lines = sum(len(one.lines) for one in there.nodes)
    (folder / "o.sock").unlink()
    return Row(name, len(node["findings"]), same, lines, len(made.data), taken)


def told(document: dict[str, Any]) -> list[list[Any]]:
    """What must be the same here and there."""
    return [[one[name] for name in _NAMES] for one in document["findings"]]


def main() -> int:
    """1 if a finding is not the same."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--scenario", default="", help="only those whose name holds this")
    parser.add_argument("--instance", default="trn2.3xlarge")
    options = parser.parse_args()
    print(machine())
    rows = []
    with TemporaryDirectory() as folder:
        for name in sorted(shipped()):
            if options.scenario not in name:
                continue
            instance = "trn2.48xlarge" if name == "bad-day" else options.instance
            row = watched(name, instance, Path(folder))
            rows.append(row)
            same = "the same" if row.same else "DIFFERENT"
            print(
                f"  {row.name:<22} {row.findings:3} findings {same}, {row.lines:3} lines,"
                f" {row.size / 1000:6.1f} kB, {row.seconds:5.2f} s",
                flush=True,
            )
    print(f"{sum(row.same for row in rows)} of {len(rows)} scenarios the same")
    return int(not all(row.same for row in rows))


if __name__ == "__main__":
    sys.exit(main())
