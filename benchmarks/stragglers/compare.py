"""The detector and its rivals on the same jobs: as published, and at equal false alarms.

Faults are those that make ranks compute longer (compute, chip, host, node-wide): no rival claims
input or network. Equal false alarms: on calm jobs of the same size and shape the threshold of
each rule is the lowest at which it raises no more false alarms than the detector's notices do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers.rivals import rivals
from benchmarks.stragglers.scoring import SLACK_STEPS, chorus, episodes, figures, score

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.stragglers.faults import Fault
    from benchmarks.stragglers.job import Job, Matrix
    from benchmarks.stragglers.scoring import Alarm, Outcome

RANK_KINDS = ("compute", "throttled", "chip", "host")
HALVINGS = 12


@dataclass
class Row:
    """One rule at one threshold on the jobs of one cell."""

    name: str
    note: str
    threshold: float
    outcomes: list[Outcome] = field(default_factory=list)
    calm_false: int = 0

    @property
    def delays(self) -> list[int]:
        """Slow steps until the first alarm, of each fault found."""
        return [r.delay for o in self.outcomes for r in o.results if r.delay is not None]

    @property
    def f1(self) -> float:
        """F1 over all jobs."""
        return figures(self.outcomes).f1


def outcome(job: Job, alarms: Sequence[Alarm]) -> Outcome:
    """The outcome of one job, for the faults that make ranks compute longer.

    What is said of an input or network fault is neither right nor wrong here.
    """
    faults = job.spec.faults
    kept = [i for i, fault in enumerate(faults) if fault.cls in RANK_KINDS]
    other = [fault for fault in faults if fault.cls not in RANK_KINDS]
    mine = [a for a in alarms if not any(_touches(a, fault) for fault in other)]
    return score(
        [faults[i] for i in kept],
        [job.affects(i) for i in kept],
        mine,
        job.spec.steps,
        float(job.period.sum()),
        job.spec.name,
    )


def _touches(alarm: Alarm, fault: Fault) -> bool:
    in_time = fault.first <= alarm.raised <= fault.last + SLACK_STEPS
    return in_time and (not alarm.ranks or not alarm.ranks.isdisjoint(fault.ranks))


class Contest:
    """All rivals on the jobs of one cell; `calm` and `allowed` set the second threshold of each."""

    def __init__(self, calm: Sequence[Job], allowed: int) -> None:
        self.published: list[Row] = []
        self.equal: list[Row] = []
        for rival in rivals():
            scores = [rival.score(job) for job in calm]
            false = _false(scores, rival.threshold)
            self.published.append(Row(rival.name, rival.note, rival.threshold, calm_false=false))
            level = max(_lowest(scores, allowed), rival.least)
            self.equal.append(Row(rival.name, rival.note, level, calm_false=_false(scores, level)))

    def enter(self, job: Job) -> None:
        """Let every rival look at one job."""
        for rival, *rows in zip(rivals(), self.published, self.equal, strict=True):
            scores = rival.score(job)
            for row in rows:
                row.outcomes.append(outcome(job, episodes(scores >= row.threshold)))


def _false(scores: Iterable[Matrix], threshold: float) -> int:
    return sum(len(chorus(episodes(matrix >= threshold))) for matrix in scores)


def _lowest(scores: Sequence[Matrix], allowed: int) -> float:
    """The lowest threshold with no more false alarms than allowed, by bisection."""
    high = max(float(matrix.max()) for matrix in scores)
    high += abs(high) * 1e-6 + 1e-9
    if allowed == 0:
        return high
    low = min(float(np.median(matrix[np.isfinite(matrix)])) for matrix in scores)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _false(scores, middle) <= allowed:
            high = middle
        else:
            low = middle
    return high
