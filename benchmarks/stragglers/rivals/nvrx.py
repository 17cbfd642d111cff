"""nvidia-resiliency-ext's straggler report: its own `ReportGenerator` where it is installed.

It takes the median time of a section on each rank over a report interval and gives a score:
fastest rank's median ÷ this rank's (relative), own best median ÷ own (individual); below 0.75 is
a straggler. One process stands for all ranks here: each rank is a section of one generator,
and the all-reduce of the minimum is taken in place. The interval is 12 steps (60 s, its least).

Without the package (and PyTorch, which it imports) the same rule is computed here and the
table says "rule of".
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.stragglers.rivals.windows import held, windowed

if TYPE_CHECKING:
    from benchmarks.stragglers.job import Job, Matrix


@lru_cache(maxsize=1)
def package() -> Any | None:
    """The package's reporting module, or None."""
    try:
        return import_module("nvidia_resiliency_ext.straggler.reporting")
    except ImportError:
        return None


def note() -> str:
    """Which of the two is in use."""
    reporting = package()
    return "rule of; package not installed" if reporting is None else "its own ReportGenerator"


def relative(job: Job) -> Matrix:
    """1 - relative score, per report."""
    medians = windowed(job)
    best: Matrix = np.repeat(medians.min(axis=1, keepdims=True), medians.shape[1], axis=1)
    reporting = package()
    if reporting is None:
        return held((1 - best / medians).astype(np.float32), len(job.busy))
    generator = reporting.ReportGenerator(["relative_perf_scores"])
    rows = [
        _scored(generator._compute_sections_perf_scores(_summaries(reporting, row), _named(least)))  # noqa: SLF001 - its public entry needs one process a rank
        for row, least in zip(medians, best, strict=True)
    ]
    return held(1 - np.array(rows, np.float32), len(job.busy))


def individual(job: Job) -> Matrix:
    """1 - individual score, per report."""
    medians = windowed(job)
    reporting = package()
    if reporting is None:
        own = 1 - np.minimum.accumulate(medians, axis=0) / medians
        return held(own.astype(np.float32), len(job.busy))
    generator = reporting.ReportGenerator(["individual_perf_scores"], gather_on_rank0=False)
    rows = []
    for row in medians:
        report = generator.generate_report(_summaries(reporting, row), {})
        scores = report.section_individual_perf_scores
        rows.append(_scored({name: next(iter(per.values())) for name, per in scores.items()}))
    return held(1 - np.array(rows, np.float32), len(job.busy))


def _summaries(reporting: Any, medians: Matrix) -> dict[str, dict[Any, float]]:
    median = reporting.Statistic.MED
    return {name: {median: value} for name, value in _named(medians).items()}


def _named(values: Matrix) -> dict[str, float]:
    return {f"rank-{rank}": float(value) for rank, value in enumerate(values)}


def _scored(scores: dict[str, float]) -> list[float]:
    return [scores[f"rank-{rank}"] for rank in range(len(scores))]
