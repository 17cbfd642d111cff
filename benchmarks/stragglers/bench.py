"""The whole run: every suite, then the figures and whether they hold."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from benchmarks.stragglers import quiet, stops, suites, traces
from benchmarks.stragglers.evaluate import Cell, run
from benchmarks.stragglers.job import Spec, simulate
from benchmarks.stragglers.ours import watch
from benchmarks.stragglers.quiet import Quiet
from benchmarks.stragglers.topology import TOPOLOGIES
from benchmarks.stragglers.views import hook

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.stragglers.stops import Verdict
    from benchmarks.stragglers.suites import Size
    from benchmarks.stragglers.traces import Replay

COST_STEPS = 300


Task: TypeAlias = "Callable[[], Outcomes]"


@dataclass
class Outcomes:
    """All that was measured."""

    cells: list[Cell] = field(default_factory=list)
    views: list[Cell] = field(default_factory=list)
    held_out: list[Cell] = field(default_factory=list)
    healthy: dict[tuple[int, str], Quiet] = field(default_factory=dict)
    benign: dict[tuple[str, str], Quiet] = field(default_factory=dict)
    hangs: list[Verdict] = field(default_factory=list)
    replays: list[Replay] = field(default_factory=list)
    cpu: dict[int, list[float]] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)

    def hooked(self, shape: str) -> list[Cell]:
        """The cells of one shape, seen by the hook."""
        return [cell for cell in self.cells if cell.shape == shape]


def measure(size: Size, seed: int, tell: Callable[[str], None], workers: int = 1) -> Outcomes:
    """Run everything, saying what is done; the cost is measured first and alone."""
    out = Outcomes()
    for ranks in TOPOLOGIES:
        out.cpu[ranks], out.memory[ranks] = cost(ranks, seed)
    tell("cost")
    tasks = _tasks(size, seed)
    if workers == 1:
        for words, task in tasks:
            _keep(out, task())
            tell(words)
        return out
    with ProcessPoolExecutor(workers) as pool:
        running = [(words, pool.submit(task)) for words, task in tasks]
        for words, future in running:
            _keep(out, future.result())
            tell(words)
    return out


def _tasks(size: Size, seed: int) -> list[tuple[str, Task]]:
    """Independent parts of the run, the longest first, each giving outcomes of its own."""
    tasks: list[tuple[str, Task]] = []
    for key, days in size.healthy_days.items():
        words = f"healthy: {key[0]} ranks, {key[1]:g}-s steps, {days:g} days"
        tasks.append((words, partial(_healthy, key, days, seed)))
    for (shape, ranks), count in size.fault_jobs.items():
        words = f"faults: {shape} shapes, {ranks} ranks, {count} jobs"
        tasks.append((words, partial(_faults, shape, ranks, count, size.calm_jobs, seed)))
    for ranks, repeats in size.benign_repeats.items():
        words = f"benign events: {ranks} ranks, {repeats} of each"
        tasks.append((words, partial(_benign, ranks, repeats, seed)))
    for (view, ranks), count in size.other_views.items():
        words = f"faults seen through {view}: {ranks} ranks, {count} jobs"
        tasks.append((words, partial(_view, view, ranks, count, seed)))
    for (shape, ranks), count in size.held_out_jobs.items():
        words = f"held out: {shape} shapes, {ranks} ranks, {count} jobs"
        tasks.append((words, partial(_held_out, shape, ranks, count)))
    tasks.append(("hangs", partial(_hangs, size.hang_repeats, seed)))
    tasks.append(("public traces", _traces))
    return tasks


def _faults(shape: str, ranks: int, count: int, calm_count: int, seed: int) -> Outcomes:
    calm = list(suites.calm_jobs(ranks, shape, calm_count, seed))
    specs = suites.fault_jobs(ranks, shape, count, seed)
    return Outcomes(cells=[run(Cell(ranks, shape), specs, calm)])


def _view(view: str, ranks: int, count: int, seed: int) -> Outcomes:
    specs = suites.fault_jobs(ranks, "fixed", count, seed)
    return Outcomes(views=[run(Cell(ranks, "fixed", view), specs)])


def _held_out(shape: str, ranks: int, count: int) -> Outcomes:
    specs = suites.held_out(ranks, shape, count)
    return Outcomes(held_out=[run(Cell(ranks, f"held out, {shape}"), specs)])


def _healthy(key: tuple[int, float], days: float, seed: int) -> Outcomes:
    return Outcomes(healthy=quiet.healthy_days({key: days}, seed))


def _benign(ranks: int, repeats: int, seed: int) -> Outcomes:
    return Outcomes(benign=quiet.benign_events({ranks: repeats}, seed))


def _hangs(repeats: int, seed: int) -> Outcomes:
    return Outcomes(hangs=stops.run(repeats, seed))


def _traces() -> Outcomes:
    return Outcomes(replays=traces.replay())


def _keep(out: Outcomes, part: Outcomes) -> None:
    """Add the outcomes of one part."""
    out.cells += part.cells
    out.views += part.views
    out.held_out += part.held_out
    out.hangs += part.hangs
    out.replays += part.replays
    for key, one in part.healthy.items():
        out.healthy.setdefault(key, Quiet()).join(one)
    for name, one in part.benign.items():
        out.benign.setdefault(name, Quiet()).join(one)


def cost(ranks: int, seed: int) -> tuple[list[float], int]:
    """CPU seconds of each step past the baseline, the best of 3 runs, and bytes held at most."""
    topology = TOPOLOGIES[ranks]
    job = simulate(Spec("cost", seed, topology, COST_STEPS))
    samples = list(hook(job))
    runs = [watch(topology, samples).cpu[COST_STEPS // 3 :] for _ in range(3)]
    cpu = min(runs, key=np.median)
    tracemalloc.start()
    watch(topology, samples[: COST_STEPS // 3])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return cpu, int(peak)
