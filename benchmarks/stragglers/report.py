"""The page of results: what stands between the markers of docs/stragglers.md."""

from __future__ import annotations

import platform
import subprocess
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers import tables, weak
from benchmarks.stragglers.rivals import nvrx
from benchmarks.stragglers.tables import share, table

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.stragglers.bench import Outcomes
    from benchmarks.stragglers.evaluate import Cell
    from benchmarks.stragglers.goals import Goal
    from benchmarks.stragglers.stops import Verdict

BEGIN, END = "<!-- table -->", "<!-- /table -->"
WEAK = (
    "Listed by the program: kinds below 0.95, false alarms of any tier, rules as good or sooner.\n"
)
ASSUMED = """### What the simulator assumes

An upper bound: the noise is the measured one, but it is made by the same formulas in all jobs.
Ranks of a replica share their data exactly (in the held-out jobs the last stage follows it to the
power 0.85); a tensor group computes as long as its slowest rank; every rank reports busy, wait,
input and its shortest collective at each step, without error. A slow link multiplies the shortest
collective of its ranks. Healthy devices have an ECC event once in 50,000 rank-steps. Faults come
one after another, fault jobs last 100 minutes, durations are cut at 20 minutes, and a fault is
asked for if it lasts 12 steps and costs its ranks 5 %. Network faults count from 1.2 x of the
transfer, whatever that is of the step. False alarms within 12 steps of each other count once, for
every rule. Nothing of this has been seen on Trainium.
"""
PARAMETERS = "neuron_observer/stragglers/parameters.py"


def origin(seed: int, day: str, minutes: float, *, full: bool) -> str:
    """Where the figures come from."""
    rule = _git("log", "-1", "--format=%h", "--", PARAMETERS)
    head = _git("rev-parse", "--short", "HEAD")
    option = "" if full else " --quick"
    return (
        f"Made by `python -m benchmarks.stragglers{option} --seed {seed}` on {day}: detector at "
        f"commit {head}, parameters frozen at {rule}, seed {seed}, {minutes:.0f} minutes, "
        f"Python {platform.python_version()}, numpy {np.__version__}; "
        f"nvidia-resiliency-ext: {nvrx.note()}.\n"
        "Steps of the fault jobs take 5 s. Shares come with Wilson's 95 % interval, F1 with the "
        "bootstrap over jobs (2.5 to 97.5 %); delays are median / 90th percentile in slow "
        "steps, the first slow step being 1.\n"
    )


def _git(*arguments: str) -> str:
    done = subprocess.run(("git", *arguments), capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def page(out: Outcomes, goals: list[Goal], where_from: str) -> str:
    """All tables."""
    fixed, variable = out.hooked("fixed"), out.hooked("variable")
    parts = [
        where_from,
        "### Figures that must hold\n",
        table(
            ("figure", "wanted", "measured", "holds"),
            [(g.name, g.wanted, g.measured, "yes" if g.holds else "**no**") for g in goals],
        ),
        "### Weak cells\n",
        WEAK,
        "\n".join(f"- {line}" for line in weak.lines(out)) + "\n",
        ASSUMED,
        "### Faults found, by job (hook)\n",
        tables.detection([*fixed, *variable]),
        "### By kind of fault (fixed shapes, all sizes)\n",
        tables.by_kind(fixed),
        "### Class: truth and answer (fixed shapes)\n",
        tables.confusion(fixed),
        "### On and off the critical path (fixed shapes)\n",
        tables.by_effect(fixed),
        "### Is the job slower? Who was slow from the start?\n",
        tables.slower([*fixed, *variable, *out.views]),
        "### Seen otherwise: scrapes every 15 s; counters without a hook\n",
        tables.detection([cell for cell in out.views if cell.view == "scrapes"]),
        *_claims(out.views),
        "### Hangs\n",
        _hangs(out.hangs),
        "### Healthy days\n",
        tables.healthy(out.healthy),
        '### Benign events (cases: warnings that name ranks / wrong "job slower")\n',
        tables.benign(out.benign),
        *_contests(out.cells),
        *_held_out(out.held_out),
        "### Cost\n",
        _cost(out),
    ]
    return "\n".join(parts)


def _claims(cells: list[Cell]) -> list[str]:
    rows = [
        (f"{c.ranks} ranks", share(c.claimed_found, c.claimed_asked), str(c.false_names))
        for c in cells
        if c.view == "passive"
    ]
    head = ("without a hook", "device or node whose counters tell, found", "wrong names")
    return [table(head, rows)] if rows else []


def _hangs(verdicts: list[Verdict]) -> str:
    groups: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.case.name, verdict.view].append(verdict)
    rows = []
    for (name, view), some in groups.items():
        called = [v for v in some if v.seconds is not None]
        late = [v.seconds - v.limit for v in called if v.seconds is not None]
        if not some[0].case.hangs:
            rows.append((name, view, f"called a stall: {len(called)}/{len(some)}", "", "", ""))
            continue
        rows.append(
            (
                name,
                view,
                share(len(called), len(some)),
                f"{np.median(late):+.0f} / {np.max(late):+.0f} s" if late else "—",
                share(sum(v.right_rank for v in called), len(called)),
                share(sum(v.right_class for v in called), len(called)),
            )
        )
    head = ("what happened", "view", "found", "after D: median / most", "right rank", "right cause")
    return table(head, rows)


def _contests(cells: list[Cell]) -> list[str]:
    parts = []
    for cell in cells:
        where = f"{cell.shape} shapes, {cell.ranks} ranks"
        calm = f"{cell.calm_days:.2f} job-days"
        parts += [
            f"### Against other rules: {where} (faults of ranks only; calm jobs: {calm})\n",
            tables.rivals(cell),
            tables.fair(cell),
        ]
    return parts


def _held_out(cells: list[Cell]) -> list[str]:
    if not cells:
        return []
    return [
        "### Held out: other seeds, two kinds never tuned for, known kinds at 5 to 10 % only\n",
        tables.detection(cells),
        tables.by_kind(cells),
    ]


def _cost(out: Outcomes) -> str:
    rows = [
        (
            str(ranks),
            f"{np.median(cpu) * 1e3:.2f} ms",
            f"{np.percentile(cpu, 99) * 1e3:.2f} ms",
            f"{out.memory[ranks] / 2**20:.1f} MiB",
        )
        for ranks, cpu in out.cpu.items()
    ]
    return table(("ranks", "CPU a step, median", "99th percentile", "memory"), rows)


def write(target: Path, text: str) -> None:
    """Put the page between the markers of a file; a file without them gets them."""
    old = target.read_text(encoding="utf-8") if target.exists() else f"{BEGIN}\n{END}\n"
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{target}: no {BEGIN} … {END} to write between")
    target.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
