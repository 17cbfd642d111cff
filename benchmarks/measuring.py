"""What all benchmarks share: the C floor, CPU time, pairs of figures and how they are judged.

Ratios are of CPU time, because the machine may be busy with other things, and both figures of a
pair are taken one right after the other for the same reason.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HERE = Path(__file__).parent
ROOT = HERE.parent
TREES = ROOT / "tests" / "trees"


class Pair(NamedTuple):
    """One figure of ours and the figure that it is held against, in the same unit."""

    ours: float
    theirs: float


class Goal(NamedTuple):
    """A ratio that may not be exceeded; without one it is only reported."""

    name: str
    most: float | None


def machine() -> str:
    """Processor, cores, kernel, Python and load, for the head of a report."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        if line.startswith("model name")
    ]
    load = os.getloadavg()[0]
    return (
        f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, Linux"
        f" {platform.release()}, Python {platform.python_version()}, load {load:.1f}"
    )


def compile_floor(folder: Path) -> Path:
    """The program made of floor.c; needs a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("no C compiler: the floor cannot be measured (apt install gcc libc6-dev)")
    program = folder / "floor"
    source = HERE / "floor.c"
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-o", program, source], check=True)
    return program


def write_list(file: Path, paths: Iterable[str | Path]) -> Path:
    """A list of paths as the floor reads it."""
    file.write_text("".join(f"{path}\n" for path in paths), "utf-8")
    return file


def cpu_of(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> float:
    """CPU seconds of a whole command with all its children; its output is thrown away."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def paired(ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> list[Pair]:
    """Both figures in turn, `rounds` times after one round that is not counted."""
    ours(), theirs()
    return [Pair(ours(), theirs()) for _ in range(rounds)]


def judge(goal: Goal, pairs: Sequence[Pair], unit: str, note: str = "") -> bool:
    """Print both medians and the median ratio; whether the goal is met."""
    ratios = [pair.ours / pair.theirs for pair in pairs]
    low, ratio, high = quantiles(ratios)
    ours = median(pair.ours for pair in pairs)
    theirs = median(pair.theirs for pair in pairs)
    met = goal.most is None or ratio <= goal.most
    verdict = "" if goal.most is None else f", goal {goal.most:.3g}: {'met' if met else 'MISSED'}"
    print(f"{goal.name}: {ratio:.3f} x{verdict}")
    spread = f"{len(pairs)} pairs, quartiles {low:.3f}, {high:.3f}"
    print(f"    ours {ours:.4g} {unit}, theirs {theirs:.4g} {unit}, {spread}{note}")
    return met


def within(name: str, figure: float, most: float, unit: str) -> bool:
    """Print a figure that may not be exceeded; whether it is not."""
    met = figure <= most
    print(f"{name}: {figure:.3g} {unit}, goal {most:.3g}: {'met' if met else 'MISSED'}")
    return met
