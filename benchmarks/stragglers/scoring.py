"""Alarms against the truth.

An *alarm* says: these ranks, since that step. It belongs to a fault if it comes while the fault
lasts, or up to 30 steps later, and at least half of the ranks that it names are truly slow.
A fault counts once, however many alarms it gets. Alarms that belong to no scorable fault are false,
unless they belong to one that is too short or too weak to be asked for; false alarms of one job
within 12 steps of each other count once, which favours detectors that cry in chorus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from benchmarks.stragglers.faults import Fault

SLACK_STEPS = 30
CHORUS_STEPS = 12
LEAST_STEPS = 12
LEAST_EXCESS = 0.05
OWN_SHARE = 0.5


@dataclass(frozen=True)
class Alarm:
    """What a detector said: `raised` is the step after which it was known.

    No ranks mean that nobody is named. `cls` and `scope` are None from rules that know none.
    """

    ranks: frozenset[int]
    raised: int
    last: int
    cls: str | None = None
    scope: str | None = None


@dataclass(frozen=True)
class Result:
    """One fault and what was said of it; `delay` counts slow steps, the first is 1."""

    fault: Fault
    delay: int | None
    named: frozenset[int]
    cls: str | None
    scope: str | None
    affects: bool

    @property
    def found(self) -> bool:
        """Whether any alarm belongs to it."""
        return self.delay is not None

    @property
    def exact(self) -> bool:
        """Whether the ranks named are those that are slow, no more and no fewer."""
        whole = self.fault.scope == "job" and not self.named
        return self.found and (whole or self.named == frozenset(self.fault.ranks))

    @property
    def right_scope(self) -> bool:
        """Whether the scope is right; a link, or a whole job, may be called its node."""
        as_good = {"link": "node", "job": "node"}.get(self.fault.scope)
        return self.found and self.scope in (self.fault.scope, as_good)

    @property
    def right_class(self) -> bool:
        """Whether the kind of slowness is right."""
        return self.found and self.cls == self.fault.cls


@dataclass(frozen=True)
class Outcome:
    """All of one job: a result for each scorable fault, and the steps of false alarms."""

    results: tuple[Result, ...]
    false: tuple[Alarm, ...]
    steps: int
    seconds: float
    job: str = ""

    @property
    def counts(self) -> NDArray[np.float64]:
        """Found, asked for, false alarms: what the bootstrap resamples."""
        return np.array([sum(r.found for r in self.results), len(self.results), len(self.false)])


def scorable(fault: Fault) -> bool:
    """Whether a detector is asked for it: 12 steps and 5 % at least, and an onset to see."""
    return fault.steps >= LEAST_STEPS and fault.severity >= LEAST_EXCESS and fault.first > 0


def belongs(alarm: Alarm, fault: Fault) -> bool:
    """Whether an alarm may be about a fault: in time, and mostly about its ranks."""
    in_time = fault.first <= alarm.raised <= fault.last + SLACK_STEPS
    return in_time and _about(alarm, fault)


def _about(alarm: Alarm, fault: Fault) -> bool:
    if fault.scope == "job":  # everybody is slow: whoever is named alone is blamed wrongly
        return not alarm.ranks or alarm.ranks == frozenset(fault.ranks)
    slow = len(alarm.ranks.intersection(fault.ranks))
    return bool(alarm.ranks) and slow >= OWN_SHARE * len(alarm.ranks)


def score(
    faults: Sequence[Fault],
    affects: Sequence[bool],
    alarms: Sequence[Alarm],
    steps: int,
    seconds: float,
    job: str = "",
) -> Outcome:
    """Match the alarms of one job with its faults."""
    results = tuple(
        _result(fault, affect, [a for a in alarms if belongs(a, fault)])
        for fault, affect in zip(faults, affects, strict=True)
        if scorable(fault)
    )
    false = [a for a in alarms if not any(belongs(a, fault) for fault in faults)]
    return Outcome(results, tuple(chorus(false)), steps, seconds, job)


def _result(fault: Fault, affects: bool, alarms: list[Alarm]) -> Result:  # noqa: FBT001 - a fact
    if not alarms:
        return Result(fault, None, frozenset(), None, None, affects)
    first = min(alarms, key=lambda alarm: alarm.raised)
    longest = max(alarms, key=lambda alarm: alarm.last - alarm.raised)
    named = frozenset[int]().union(*(alarm.ranks for alarm in alarms))
    delay = max(first.raised - fault.first + 1, 1)
    return Result(fault, delay, named, longest.cls, longest.scope, affects)


def chorus(alarms: Iterable[Alarm]) -> list[Alarm]:
    """The first of each run of alarms that come within 12 steps of the one before."""
    kept: list[Alarm] = []
    before: int | None = None
    for alarm in sorted(alarms, key=lambda alarm: alarm.raised):
        if before is None or alarm.raised - before > CHORUS_STEPS:
            kept.append(alarm)
        before = alarm.raised
    return kept


def episodes(flags: NDArray[np.bool_], gap: int = CHORUS_STEPS) -> list[Alarm]:
    """Alarms of a rule that flags ranks step by step; flags up to `gap` steps apart are one."""
    alarms: list[Alarm] = []
    for rank in np.flatnonzero(flags.any(axis=0)):
        at = np.flatnonzero(flags[:, rank])
        breaks = np.flatnonzero(np.diff(at) > gap)
        firsts = at[np.concatenate(([0], breaks + 1))]
        lasts = at[np.concatenate((breaks, [len(at) - 1]))]
        who = frozenset((int(rank),))
        alarms += [Alarm(who, int(a), int(b)) for a, b in zip(firsts, lasts, strict=True)]
    return alarms


@dataclass(frozen=True)
class Figures:
    """Precision, recall and F1 over jobs."""

    found: float
    asked: float
    false: float

    @property
    def precision(self) -> float:
        """Share of right alarms; 1 where nothing was said."""
        said = self.found + self.false
        return self.found / said if said else 1.0

    @property
    def recall(self) -> float:
        """Share of faults found; 0 where none was asked for."""
        return self.found / self.asked if self.asked else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Figures of all jobs together."""
    return Figures(*np.sum([np.zeros(3), *(outcome.counts for outcome in outcomes)], axis=0))
