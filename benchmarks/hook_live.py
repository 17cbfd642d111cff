"""The real hook in real jobs: PyTorch, torchrun, gloo, on the processor.

    python -m benchmarks.hook_live [--quick] [--python PATH] [STYLE...]

Each style of training runs twice on two ranks, without and with the hook (switched on by its
variable alone, from an installed wheel). Held: the parameters come out the same, digit by digit;
every step is there; rank 1, which sleeps 20 ms in each step, is the one that is busy longer, by
about that; and in the styles where nobody can see who waits, no time is claimed at all. `hang`: a
rank that never comes to a collective is behind the other by one, and with the switch PyTorch's
FlightRecorder is written beside the file. Needs torch beside `--python` (the interpreter that runs
this, by default), for the last four also transformers and trl; without them it says so.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.measuring import ROOT, machine
from neuron_observer.clock import SystemClock
from tests.hook.reading import Heartbeat, Step, heartbeat

JOBS = ROOT / "benchmarks" / "hook_jobs"
STEPS = 40
WARM = 10  # steps that are not looked at
SLOW = 0.02  # seconds, see hook_jobs/train.py
CLOCK = SystemClock()
ENVIRONMENT = {
    "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
}  # fmt: skip


class Style(NamedTuple):
    """A way to train, and what the hook can know of it."""

    name: str
    known: bool  # whether the time in collectives is
    accumulated: int = 1  # batches a step
    pauses: int = 0
    options: tuple[str, ...] = ()
    script: str = "train.py"
    sleeps: bool = True


STYLES = (
    Style("ddp", known=True),
    Style("ddp-workers", known=True),
    Style("ddp-accumulated", known=True, accumulated=2),
    Style("ddp-buffers", known=True),
    Style("ddp-unused", known=True),
    Style("ddp-static", known=True),
    Style("fsdp2", known=True),
    Style("fsdp1", known=True),
    Style("blocking", known=True),
    Style("ddp-reentrant", known=False),
    Style("ddp-compiled", known=False),
    Style("async", known=False),
    Style("functional", known=False),
    Style("compiled", known=False),
    Style("trainer", known=True, pauses=5, script="trainers.py", sleeps=False),
    Style("sft", known=True, pauses=5, script="trainers.py", sleeps=False),
    # the callback knows of the last evaluation when the file is copied
    Style("trainer", True, 1, 6, ("--callback",), "trainers.py", sleeps=False),
    Style("sft", True, 1, 6, ("--callback",), "trainers.py", sleeps=False),
)
QUICK = ("ddp", "fsdp2", "compiled", "hang")


class Bench:
    """Where things are."""

    def __init__(self, python: str, scratch: Path) -> None:
        self.python, self.scratch = python, scratch
        self.site = scratch / "site"
        self.ranks = scratch / "ranks"
        self.ranks.mkdir()
        install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([python, *install, str(self.site), str(ROOT)], check=True)

    def start(
        self, style: Style, keep: Path, *, hooked: bool, **more: str
    ) -> subprocess.Popen[str]:
        """One job."""
        keep.mkdir(parents=True)
        run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        script = [str(JOBS / style.script), style.name, "--keep", str(keep), "--steps", str(STEPS)]
        switch = {"NEURON_OBSERVER_HOOK": "1"} if hooked and not style.options else {}
        where = {"PYTHONPATH": str(self.site), "NEURON_OBSERVER_HOOK_DIR": str(self.ranks)}
        options = style.options if hooked else ()
        return subprocess.Popen(
            [self.python, *run, *script, *options],
            env={**os.environ, **ENVIRONMENT, **where, **switch, **more},
            cwd=self.scratch,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, style: Style, *, hooked: bool) -> tuple[list[str], list[Heartbeat], str]:
        """The results of the ranks, their heartbeats at the end, and what was said."""
        keep = self.scratch / f"{style.name}{len(style.options)}{hooked}"
        with self.start(style, keep, hooked=hooked) as job:
            out, error = job.communicate(timeout=300)
        lines = [json.loads(line) for line in out.splitlines() if line.startswith('{"rank"')]
        results = [line["result"] for line in sorted(lines, key=lambda line: int(line["rank"]))]
        beats = [heartbeat(path.read_bytes()) for path in sorted(keep.glob("*.hb"))]
        return results, beats, error


def busy(beat: Heartbeat) -> float:
    """Median seconds of a step that were neither waiting nor input."""
    return median(_busy(step) for step in beat.records[WARM:])


def _busy(step: Step) -> float:
    return step.end - step.begin - step.collectives - step.input


def wrong(style: Style, plain: list[str], hooked: list[str], beats: list[Heartbeat]) -> str:
    """What is not as it should be."""
    if len(plain) != 2 or plain != hooked:
        return f"results differ: {plain} without, {hooked} with"
    steps = STEPS // style.accumulated
    if [beat.steps for beat in beats] != [steps, steps]:
        return f"steps {[beat.steps for beat in beats]}, not {steps}"
    sources = {step.source for beat in beats for step in beat.records[WARM:] if not step.flags & 2}
    if sources != {int(style.known)}:
        return f"source of times {sorted(sources)}"
    if any(beat.pauses != style.pauses for beat in beats):
        return f"pauses {[beat.pauses for beat in beats]}"
    if style.known and style.sleeps:
        least = SLOW * style.accumulated * 0.8
        extra = busy(beats[1]) - busy(beats[0])
        if not least < extra < 3 * SLOW * style.accumulated:
            return f"rank 1 is busy {extra * 1000:.1f} ms longer"
    return ""


def one(bench: Bench, style: Style) -> bool:
    """One style; True if it is as it should be."""
    plain, _, _ = bench.run(style, hooked=False)
    results, beats, error = bench.run(style, hooked=True)
    why = wrong(style, plain, results, beats)
    if "neuron-observer hook is off" in error:
        why = next(line for line in error.splitlines() if "hook is off" in line)
    left = [path.name for path in bench.ranks.iterdir()]
    why = why or (f"left behind: {left}" if left else "")
    told = "nobody can be named"
    if not why and style.known:
        told = "busy " + ", ".join(f"{busy(beat) * 1000:.1f} ms" for beat in beats)
    name = " ".join((style.name, *style.options))
    print(f"  {name:24} {'wrong: ' + why if why else told}", flush=True)
    return not why


def hang(bench: Bench) -> bool:
    """Who never came, by the files alone, and the FlightRecorder."""
    keep = bench.scratch / "hang"
    switch = {"NEURON_OBSERVER_HOOK_FLIGHT_RECORDER": "3"}
    style = Style("hang", known=True)
    with bench.start(style, keep, hooked=True, **switch) as job:
        end = CLOCK.monotonic() + 90
        dumps: list[Path] = []
        while len(dumps) < 2 and CLOCK.monotonic() < end and job.poll() is None:
            CLOCK.wait(0.5)
            dumps = sorted(bench.ranks.glob("*.fr.json"))
        beats = [heartbeat(path.read_bytes()) for path in sorted(bench.ranks.glob("*.hb"))]
        entries = [len(json.loads(path.read_bytes())["entries"]) for path in dumps]
        for beat in beats:
            os.kill(beat.pid, signal.SIGKILL)  # torchrun then ends by itself
        job.communicate(timeout=60)
    beats.sort(key=lambda beat: beat.identity[0])
    right = len(beats) == 2 and beats[0].since > 0 and beats[0].entered == beats[1].entered + 1
    right = right and beats[0].name == "all_reduce" and len(entries) == 2 and min(entries) > 0
    said = [(beat.identity[0], beat.entered, beat.completed, beat.name) for beat in beats]
    print(f"  {'hang':24} {'' if right else 'wrong: '}{said}, dumps of {entries} entries")
    shutil.rmtree(bench.ranks)
    return right


def main() -> int:
    """All styles; 1 if one is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("styles", nargs="*", help="by default all")
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}")
    parser.add_argument("--python", default=sys.executable, help="an interpreter with torch")
    given = parser.parse_args()
    wanted = given.styles or (QUICK if given.quick else [*(s.name for s in STYLES), "hang"])
    names = ["torch", *(["transformers", "trl"] if {"trainer", "sft"} & set(wanted) else [])]
    find = f"import importlib.util as u, sys; sys.exit(any(not u.find_spec(n) for n in {names}))"
    if subprocess.call([given.python, "-c", find]):
        print(f"not run: {given.python} has not all of {', '.join(names)}")
        return 0
    print(machine())
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(given.python, Path(scratch))
        right = [one(bench, style) for style in STYLES if style.name in wanted]
        if "hang" in wanted:
            right.append(hang(bench))
    print(f"{sum(right)} of {len(right)} as they should be")
    return int(not all(right))


if __name__ == "__main__":
    sys.exit(main())
