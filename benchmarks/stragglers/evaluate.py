"""Runs the detector on the jobs of a suite and keeps what the tables need."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers.compare import Contest, outcome
from benchmarks.stragglers.job import simulate
from benchmarks.stragglers.ours import watch
from benchmarks.stragglers.scoring import SLACK_STEPS, Alarm, Outcome, Result, belongs, score
from benchmarks.stragglers.views import hook, passive, scrapes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.stragglers.faults import Fault
    from benchmarks.stragglers.job import Job, Spec
    from benchmarks.stragglers.ours import Said

SLOWER_FROM = 0.12  # the detector promises 1.10; a tenth of noise on top
SLOWER_STEPS = 40
HARMLESS_BELOW = 0.02


@dataclass
class Cell:
    """All jobs of one size and shape, seen one way.

    `notices` and `warnings` are scored on all faults, `ranked` only on those that rivals can see.
    """

    ranks: int
    shape: str
    view: str = "hook"
    notices: list[Outcome] = field(default_factory=list)
    warnings: list[Outcome] = field(default_factory=list)
    ranked_notices: list[Outcome] = field(default_factory=list)
    ranked_warnings: list[Outcome] = field(default_factory=list)
    slower_asked: int = 0
    slower_found: int = 0
    slower_false: int = 0
    claimed_asked: int = 0
    claimed_found: int = 0
    false_names: int = 0
    always_asked: int = 0
    always_found: int = 0
    always_false: int = 0
    alarms: int = 0
    calm_notices: int = 0
    calm_warnings: int = 0
    calm_slower: int = 0
    calm_days: float = 0.0
    cpu: list[float] = field(default_factory=list)
    contest: Contest | None = None

    @property
    def results(self) -> list[Result]:
        """What became of every fault, by warnings."""
        return [result for one in self.warnings for result in one.results]

    @property
    def first_results(self) -> list[Result]:
        """The same by notices."""
        return [result for one in self.notices for result in one.results]


def run(cell: Cell, specs: Iterable[Spec], calm: Sequence[Spec] = ()) -> Cell:
    """Run the detector on jobs with faults; with calm jobs the rivals enter too."""
    if calm:
        quiet = [simulate(spec) for spec in calm]
        for job in quiet:
            _calm(cell, job)
        cell.contest = Contest(quiet, cell.calm_warnings)
    for spec in specs:
        job = simulate(spec)
        said = look(job, cell.view)
        _score(cell, job, said)
        if cell.contest is not None:
            cell.contest.enter(job)
    return cell


def look(job: Job, view: str) -> Said:
    """What the detector says of a job seen this way."""
    topology = job.spec.topology
    if view == "scrapes":
        return watch(topology, scrapes(job), scraped=True)
    if view == "passive":
        return watch(topology, passive(job))
    return watch(topology, hook(job))


def _calm(cell: Cell, job: Job) -> None:
    said = look(job, cell.view)
    changes = [e.first for e in job.spec.benign if e.kind == "batch change"]
    cell.calm_notices += len(said.notices)
    cell.calm_warnings += len(said.warnings)
    cell.calm_slower += sum(not _after(alarm, changes) for alarm in said.slowdowns)
    cell.calm_days += float(job.period.sum()) / 86_400


def _score(cell: Cell, job: Job, said: Said) -> None:
    spec = job.spec
    affects = [job.affects(i) for i in range(len(spec.faults))]
    passive_view = cell.view == "passive"
    for alarms, kept, ranked in (
        (said.notices, cell.notices, cell.ranked_notices),
        (said.warnings, cell.warnings, cell.ranked_warnings),
    ):
        seconds = float(job.period.sum())
        faults = [as_seen(fault, job) for fault in spec.faults] if passive_view else spec.faults
        kept.append(score(faults, affects, alarms, spec.steps, seconds, spec.name))
        ranked.append(outcome(job, alarms))
    cell.alarms += len(said.warnings)
    cell.cpu += said.cpu
    _slower(cell, job, said)
    _claimed(cell, job, said)
    _always(cell, job, said)


def _slower(cell: Cell, job: Job, said: Said) -> None:
    """Is the job slower? Asked for faults that cost 12 % and last 40 steps."""
    spec = job.spec
    changes = [e.first for e in spec.benign if e.kind == "batch change"]
    for index, fault in enumerate(spec.faults):
        if job.effect[index] < SLOWER_FROM or fault.steps < SLOWER_STEPS or fault.first == 0:
            continue
        if any(change <= fault.first + SLOWER_STEPS for change in changes):
            continue  # the new batch is the new usual, or not yet
        cell.slower_asked += 1
        last = fault.last + SLACK_STEPS
        cell.slower_found += any(fault.first <= a.last and a.raised <= last for a in said.slowdowns)
    real = [f for i, f in enumerate(spec.faults) if job.effect[i] >= HARMLESS_BELOW]
    cell.slower_false += sum(
        not _after(a, changes)
        and not any(f.first <= a.raised <= f.last + SLACK_STEPS for f in real)
        for a in said.slowdowns
    )


def as_seen(fault: Fault, job: Job) -> Fault:
    """A fault as counters place it: ECC is a device's, fabric events are a node's."""
    topology = job.spec.topology
    place = {"chip": topology.device, "network": topology.node}.get(fault.cls)
    if place is None or not fault.evidence:
        return fault
    ranks = np.flatnonzero(np.isin(place, place[fault.members]))
    return replace(fault, ranks=tuple(ranks.tolist()))


def _claimed(cell: Cell, job: Job, said: Said) -> None:
    """Without a hook: a device or node whose counters tell, while the job is slower."""
    for index, fault in enumerate(job.spec.faults):
        told = fault.evidence and fault.cls in ("chip", "network") and fault.scope != "job"
        long = fault.steps >= SLOWER_STEPS and fault.first > 0
        if told and long and job.effect[index] >= SLOWER_FROM:
            cell.claimed_asked += 1
            seen = as_seen(fault, job)
            cell.claimed_found += any(belongs(alarm, seen) for alarm in said.warnings)
    cell.false_names += len(cell.warnings[-1].false)


def _after(alarm: Alarm, changes: list[int]) -> bool:
    """Whether the job truly became slower before this: a larger batch."""
    return any(change <= alarm.raised for change in changes)


def _always(cell: Cell, job: Job, said: Said) -> None:
    there = [f for f in job.spec.faults if f.first == 0]
    cell.always_asked += len(there)
    cell.always_found += sum(any(a.ranks & set(f.ranks) for a in said.always) for f in there)
    slow = {rank for fault in job.spec.faults for rank in fault.ranks}
    cell.always_false += sum(not a.ranks & slow for a in said.always)
