"""The whole run: every suite, then the figures and whether they hold."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers import quiet, stops, suites, traces
from benchmarks.stragglers.evaluate import Cell, run
from benchmarks.stragglers.job import Spec, simulate
from benchmarks.stragglers.ours import watch
from benchmarks.stragglers.topology import TOPOLOGIES
from benchmarks.stragglers.views import hook

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.stragglers.quiet import Quiet
    from benchmarks.stragglers.stops import Verdict
    from benchmarks.stragglers.suites import Size
    from benchmarks.stragglers.traces import Replay

COST_STEPS = 300


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


def measure(size: Size, seed: int, tell: Callable[[str], None]) -> Outcomes:
    """Run everything, saying what is being done."""
    out = Outcomes()
    for (shape, ranks), count in size.fault_jobs.items():
        tell(f"faults: {shape} shapes, {ranks} ranks, {count} jobs")
        calm = list(suites.calm_jobs(ranks, shape, size.calm_jobs, seed))
        out.cells.append(
            run(Cell(ranks, shape), suites.fault_jobs(ranks, shape, count, seed), calm)
        )
    for (view, ranks), count in size.other_views.items():
        tell(f"faults seen through {view}: {ranks} ranks, {count} jobs")
        specs = suites.fault_jobs(ranks, "fixed", count, seed)
        out.views.append(run(Cell(ranks, "fixed", view), specs))
    for ranks, count in size.held_out_jobs.items():
        tell(f"held out: {ranks} ranks, {count} jobs")
        out.held_out.append(run(Cell(ranks, "held out"), suites.held_out(ranks, count)))
    tell("hangs")
    out.hangs = stops.run(size.hang_repeats, seed)
    tell("benign events")
    out.benign = quiet.benign_events(size.benign_repeats, seed)
    tell("public traces")
    out.replays = traces.replay()
    tell("cost")
    for ranks in TOPOLOGIES:
        out.cpu[ranks], out.memory[ranks] = cost(ranks, seed)
    tell("healthy days")
    out.healthy = quiet.healthy_days(size.healthy_days, seed)
    return out


def cost(ranks: int, seed: int) -> tuple[list[float], int]:
    """CPU seconds of each step past the baseline, and bytes that the detector holds."""
    topology = TOPOLOGIES[ranks]
    job = simulate(Spec("cost", seed, topology, COST_STEPS))
    samples = list(hook(job))
    cpu = watch(topology, samples).cpu[COST_STEPS // 3 :]
    tracemalloc.start()
    watch(topology, samples[: COST_STEPS // 3])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return cpu, int(peak)


def percentile(values: list[float], at: float) -> float:
    """A percentile; NaN of nothing."""
    return float(np.percentile(values, at)) if values else float("nan")
