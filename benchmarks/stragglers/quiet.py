"""What is said of jobs with nothing wrong: healthy days with ugly noise, and benign events."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from benchmarks.stragglers import benign, suites
from benchmarks.stragglers.job import simulate
from benchmarks.stragglers.ours import watch
from benchmarks.stragglers.scoring import chorus
from benchmarks.stragglers.views import STARTED_AT, hook, passive, scrapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.stragglers.job import Spec
    from benchmarks.stragglers.ours import Said
    from benchmarks.stragglers.views import Sample

VIEWS: dict[str, Callable[..., Iterator[Sample]]] = {
    "hook": hook,
    "hook with tokens": partial(hook, tokens=True),
    "scrapes": scrapes,
    "passive": passive,
}
# What truly makes the job slower: to say so is right.
SLOWER_BY_RIGHT = ("batch change", "sequence imbalance", "stage imbalance")


@dataclass
class Quiet:
    """Days watched, and alarms of each tier; all of them are false."""

    days: float = 0.0
    notices: int = 0
    warnings: int = 0
    slowdowns: int = 0
    always: int = 0
    cases: int = 0
    names: list[str] = field(default_factory=list)

    def join(self, other: Quiet) -> None:
        """Add the counts of other jobs."""
        for name in ("days", "notices", "warnings", "slowdowns", "always", "cases", "names"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def add(self, said: Said, seconds: float, *, slower_is_right: bool = False) -> None:
        """Count what was said of one job."""
        self.days += seconds / 86_400
        self.notices += len(chorus(said.notices))
        self.warnings += len(said.warnings)
        self.always += len(said.always)
        if not slower_is_right:
            self.slowdowns += len(said.slowdowns)
        self.names += [f"{a.cls} {a.scope} ({len(a.ranks)} ranks)" for a in said.warnings]


def healthy_days(days: dict[tuple[int, float], float], seed: int) -> dict[tuple[int, str], Quiet]:
    """Healthy jobs with the eight kinds of stress noise, by size and kind of noise."""
    table: dict[tuple[int, str], Quiet] = {}
    for (ranks, step_s), many in days.items():
        for spec in suites.healthy(ranks, step_s, many, seed):
            job = simulate(spec)
            quiet = table.setdefault((ranks, spec.name), Quiet())
            quiet.cases += 1
            quiet.add(watch(spec.topology, hook(job)), float(job.period.sum()))
    return table


def benign_events(repeats: dict[int, int], seed: int) -> dict[tuple[str, str], Quiet]:
    """Each benign event in each view, by kind and view, over all sizes."""
    table: dict[tuple[str, str], Quiet] = {}
    for ranks, many in repeats.items():
        for kind in benign.KINDS:
            for specs in suites.benign_jobs(ranks, kind, many, seed):
                _pass(kind, specs, table)
    return table


def _pass(kind: str, specs: Sequence[Spec], table: dict[tuple[str, str], Quiet]) -> None:
    jobs = [simulate(spec) for spec in specs]
    for view, make in VIEWS.items():
        if "tokens" in view and kind != "sequence imbalance":
            continue
        quiet = table.setdefault((kind, view), Quiet())
        quiet.cases += 1
        at = STARTED_AT
        parts: dict[int, list[Iterator[Sample]]] = {}
        for job in jobs:  # the same ranks restarted stay one job; another world is another job
            parts.setdefault(job.spec.topology.ranks, []).append(make(job, at=at))
            at += float(job.period.sum())
        topologies = {job.spec.topology.ranks: job.spec.topology for job in jobs}
        for ranks, samples in parts.items():
            said = watch(topologies[ranks], chain(*samples), scraped=view == "scrapes")
            quiet.add(said, 0.0, slower_is_right=kind in SLOWER_BY_RIGHT)
        quiet.days += (at - STARTED_AT) / 86_400
