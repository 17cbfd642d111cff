"""What a job had of its machine: hours of cores, idle ones, memory, faults, and a verdict.

A tally is fed with frames, by a command for some seconds or by a daemon for as long as it runs.
Physical cores are counted here, never named: which of them a job has cannot be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from neuron_observer.jobs.impact import RECENT, spans_nodes
from neuron_observer.jobs.usage import Use, use_of
from neuron_observer.model import Confidence, Severity, State, Verdict
from neuron_observer.readings import columns
from neuron_observer.weight import weight, worst_first

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.model import Entity, Finding, Frame, Job, Place, Snapshot

LONGEST_GAP = 30.0  # seconds between two frames over which nothing is assumed
LEAST_WATCHED = 10.0  # seconds: firmware's registers are read so often, and believed at the second
MOST_JOBS = 256  # remembered; of those that ended the oldest is forgotten first
RETRANSMITS = "efa.port.retransmitted_packets"

HardwareVerdict: TypeAlias = Literal[
    "hardware-clean", "hardware-suspect", "hardware-fault", "not-judged"
]


_NOT_THERE = (State.PENDING, State.RESOLVED)


class Sighting(NamedTuple):
    """A finding that concerns a job, and when it was there (wall clock)."""

    finding: Finding
    first: float
    last: float


class JobReport(NamedTuple):
    """None is unknown, and a note says why."""

    job: Job
    watched_from: float  # wall clock
    watched_until: float
    ended: bool
    watched: float  # seconds of it, gaps left out
    core_hours: float | None  # of physical cores
    idle_core_hours: float | None  # allocated, and executing nothing
    hbm_peak: int | None  # bytes on its devices
    rss_peak: int | None  # bytes of its processes
    retransmits: int | None  # packets that the node's adapters sent again meanwhile
    sightings: tuple[Sighting, ...]
    shadowed: tuple[Sighting, ...]  # of rules in shadow: told, and never counted
    verdict: HardwareVerdict
    why: str
    notes: tuple[str, ...]

    @property
    def slowest(self) -> str:
        """The rank that held it up longest, with its class; else why none is named."""
        found = [one for one in self.sightings if one.finding.id == "straggler"]
        if found:
            worst = min(found, key=lambda one: (weight(one.finding), one.first - one.last))
            return worst.finding.message
        pace = self.job.pace
        return f"none is named{f': {pace.detail}' if pace and pace.detail else ''}"


class _Account:
    """The sums of one job."""

    def __init__(self, job: Job, at: float) -> None:
        self.job = job
        self.first = self.last = at
        self.ended = False
        self.seconds = 0.0
        self.allocated: float | None = 0.0  # core seconds; None once unknown
        self.idle: float | None = 0.0
        self.hbm: int | None = None
        self.rss: int | None = None
        self.retransmits: int | None = None
        self.sightings: dict[tuple[str, Entity], Sighting] = {}
        self.shadowed: dict[tuple[str, Entity], Sighting] = {}
        self.unjudged = ""  # what was not known, of the first time that something was not
        self.notes: set[str] = set()

    def see(self, finding: Finding, at: float) -> None:
        """Note a finding that stands; it stays as it was at its worst and surest."""
        sightings = self.shadowed if finding.shadow else self.sightings
        key = finding.id, finding.entity._replace(serial=None)  # it may become known on the way
        before = sightings.get(key, Sighting(finding, at, at))
        worst = min(before.finding, finding, key=weight)
        sightings[key] = Sighting(worst, before.first, at)

    def lack(self) -> str:
        """Why it cannot be called clean; empty if it can."""
        if self.unjudged or self.seconds >= LEAST_WATCHED:
            return self.unjudged
        return f"watched for {self.seconds:.3g} s; a verdict takes {LEAST_WATCHED:.0f} s at least"

    def spend(self, use: Use, seconds: float) -> None:
        """Add a stretch of time."""
        self.seconds += seconds
        self.allocated = _plus(self.allocated, use.cores, seconds)
        self.idle = _plus(self.idle, use.idle, seconds)
        if use.cores is None:
            self.notes.add("how many cores it has is not known")
        elif use.idle is None:
            self.notes.add(
                "idle cores are not known: no utilisation, or devices that other jobs hold too"
            )


def _plus(total: float | None, cores: int | None, seconds: float) -> float | None:
    return None if total is None or cores is None else total + cores * seconds


class JobTally:
    """Frames in, reports out."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self._monotonic: float | None = None
        self._counters: dict[Place, int] = {}
        self.forgotten = 0

    @property
    def ids(self) -> tuple[str, ...]:
        """The jobs that a report can be had of."""
        return tuple(self._accounts)

    def add(self, frame: Frame) -> None:
        """Take in a frame; one that was taken while nobody looked for jobs says nothing."""
        snapshot = frame.snapshot
        if snapshot.job_scan is None:
            return
        passed = 0.0 if self._monotonic is None else snapshot.monotonic - self._monotonic
        self._monotonic = snapshot.monotonic
        resent = self._resent(snapshot)
        present = set()
        for job in snapshot.jobs:
            if job.kind != "monitor":
                present.add(job.id)
                self._add(job, frame, passed, resent)
        for one in self._accounts.values():
            one.ended = one.job.id not in present
            if one.ended and snapshot.at - one.last <= RECENT:
                self._look_back(one, frame)
        self._forget()

    @staticmethod
    def _look_back(account: _Account, frame: Frame) -> None:
        """A fault that ended a job is often told only then; not where others hold its devices."""
        held = {d for job in frame.snapshot.jobs if job.kind != "monitor" for d in job.devices}
        for finding in _standing(frame, account.job):
            if finding.entity.device not in held:
                account.see(finding, frame.snapshot.at)

    def _add(self, job: Job, frame: Frame, passed: float, resent: int | None) -> None:
        snapshot = frame.snapshot
        known = job.id in self._accounts
        account = self._accounts.setdefault(job.id, _Account(job, snapshot.at))
        use = use_of(job, snapshot)
        if known and not account.ended:
            if passed <= LONGEST_GAP:
                account.spend(use, passed)
            else:
                account.notes.add("it was not watched all the time; gaps are not counted")
            account.retransmits = _sum(account.retransmits, resent)
        account.job, account.last = job, snapshot.at
        account.hbm, account.rss = _peak(account.hbm, use.hbm), _peak(account.rss, use.rss)
        account.unjudged = account.unjudged or _unjudged(frame, job)
        for finding in _standing(frame, job):
            account.see(finding, snapshot.at)

    def _resent(self, snapshot: Snapshot) -> int | None:
        """Packets sent again since the frame before; a counter that fell began anew."""
        total: int | None = None
        for _, place, cell in columns(snapshot.batches, RETRANSMITS):
            if isinstance(cell, int):
                before = self._counters.get(place, cell)
                total = (total or 0) + (cell - before if cell >= before else cell)
                self._counters[place] = cell
        return total

    def _forget(self) -> None:
        while len(self._accounts) > MOST_JOBS:
            ended = [one for one in self._accounts.values() if one.ended]
            oldest = min(ended or self._accounts.values(), key=lambda one: one.last)
            del self._accounts[oldest.job.id]
            self.forgotten += 1

    def report(self, job_id: str) -> JobReport | None:
        """The report of a job; None if it was never seen, or is forgotten."""
        account = self._accounts.get(job_id)
        if account is None:
            return None
        sightings = _in_time(account.sightings.values())
        verdict, why = judge([one.finding for one in sightings], unjudged=account.lack())
        if account.retransmits is not None:
            account.notes.add("retransmits are the node's, of all its jobs")
        return JobReport(
            job=account.job,
            watched_from=account.first,
            watched_until=account.last,
            ended=account.ended,
            watched=account.seconds,
            core_hours=_hours(account.allocated),
            idle_core_hours=_hours(account.idle),
            hbm_peak=account.hbm,
            rss_peak=account.rss,
            retransmits=account.retransmits,
            sightings=sightings,
            shadowed=_in_time(account.shadowed.values()),
            verdict=verdict,
            why=why,
            notes=tuple(sorted(account.notes)),
        )


def _in_time(sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
    return tuple(sorted(sightings, key=lambda one: one.first))


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600


def _peak(one: int | None, other: int | None) -> int | None:
    return (
        max(one, other)
        if one is not None and other is not None
        else one
        if other is None
        else other
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return one if other is None else (one or 0) + other


def concerns(finding: Finding, job: Job) -> bool:
    """Whether a finding may have hit a job: its own, of its devices, or of the whole node.

    A port concerns only jobs that have ranks on other nodes.
    """
    entity = finding.entity
    if entity.job is not None:
        return entity.job == job.id
    if entity.kind == "port":
        return spans_nodes(job)
    return entity.device is None or entity.device in job.devices


def _standing(frame: Frame, job: Job) -> list[Finding]:
    return [one for one in frame.findings if one.state not in _NOT_THERE and concerns(one, job)]


def _unjudged(frame: Frame, job: Job) -> str:
    """What was not known of the node's health or of the job's devices; empty if all was."""
    known = {one.index: one for one in frame.health.devices}
    for index in job.devices:
        if index not in known:
            return f"neuron{index} was not judged all the time"
        if known[index].verdict is Verdict.UNKNOWN:
            return f"neuron{index} was not known all the time: {known[index].reason}"
    if frame.health.verdict is Verdict.UNKNOWN:
        return f"the node's health was not known all the time: {frame.health.reason}"
    return ""


def judge(findings: Iterable[Finding], *, unjudged: str) -> tuple[HardwareVerdict, str]:
    """Fault: confirmed and critical; suspect: anything else that blames the hardware.

    `unjudged` says why nobody can call it clean; empty if somebody can.
    """
    blaming = [
        finding
        for finding in sorted(findings, key=worst_first)
        if finding.blames_hardware
        and finding.confidence is not Confidence.CONTRADICTED
        and finding.severity is not Severity.INFO
    ]
    for finding in blaming:
        sure = finding.confidence is Confidence.CONFIRMED
        if sure and finding.severity is Severity.CRITICAL:
            return "hardware-fault", finding.message
    if blaming:
        return "hardware-suspect", blaming[0].message
    if unjudged:
        return "not-judged", unjudged
    return "hardware-clean", "no finding blames the hardware"
