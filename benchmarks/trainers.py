"""Transformers' Trainer and TRL's SFTTrainer under `run`, with the hook's callback.

Each trains a tiny model of random weights on two ranks, with evaluations and checkpoints; nothing
is downloaded. Needs torch, transformers, accelerate, trl and datasets beside this package.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measuring import ROOT, machine

TRAIN = ROOT / "benchmarks" / "live_jobs" / "trainers.py"
STEPS, RANKS, PAUSES = 30, 2, 5  # pauses: evaluations at 10, 20, 30, checkpoints at 20 and 30
NEEDS = ("torch", "transformers", "accelerate", "trl", "datasets")
ENVIRONMENT = {
    "GLOO_SOCKET_IFNAME": "lo",
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
}


def wrong(kind: str, folder: Path) -> list[str]:
    """What is not as it should be of one trainer's run."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS)]
    file = folder / "report"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "neuron_observer", "run", "--no-check", "--report", str(file)),
            *("--", sys.executable, *torchrun, str(TRAIN), kind, "--steps", str(STEPS)),
        ],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return [f"exit code {done.returncode}: {done.stderr[-2000:]}"]
    told = [
        json.loads(line.partition(" ")[2])
        for line in done.stdout.splitlines()
        if line.startswith("heartbeat ")
    ]
    found = [] if len(told) == RANKS else [f"{len(told)} ranks told of themselves"]
    for one in told:
        print(f"{kind}: {json.dumps(one)}")
        seen = (one["steps"], one["busy_known"], one["pauses"])
        if seen != (STEPS, STEPS, PAUSES):
            found.append(f"rank {one['rank']}: steps, known busy times, pauses: {seen}")
    report = json.loads(file.read_text("utf-8"))
    if report["hooked_ranks"] != RANKS:
        found.append(f"{report['hooked_ranks']} ranks were seen by run")
    said = [one["id"] for job in report["jobs"] for one in job["findings"]]
    return found + ([f"findings: {said}"] if said else [])


def main() -> int:
    """1 if anything is wrong."""
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        print(f"not beside this package, so no trainer can be run: {', '.join(missing)}")
        return 0
    print(machine())
    missed = False
    for kind in ("trainer", "sft"):
        with tempfile.TemporaryDirectory() as scratch:
            found = wrong(kind, Path(scratch))
        print(f"{kind}: {'; '.join(found) or f'all {STEPS} steps of {RANKS} ranks, pauses known'}")
        missed |= bool(found)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
