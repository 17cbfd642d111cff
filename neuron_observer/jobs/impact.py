"""Whom a fault hits: the line that stands beside a finding, and who holds a device."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING

from neuron_observer.jobs.kinds import NO_WORK
from neuron_observer.jobs.ownership import ranges
from neuron_observer.model import Action, Confidence, Entity, Evidence, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.model import Job, Process, Rank, Snapshot

MOST_NAMED = 4  # jobs in one line
RECENT = 60.0  # seconds; firmware registers are read each 10, and twice before they are believed


def impact(entity: Entity, jobs: Sequence[Job]) -> str:
    """Which job and which ranks a finding on `entity` hits; empty where no job can be told.

    A core of an entity is physical, those of a job are logical, and nothing maps one to the other:
    a fault of a core is said to hit the ranks of its device.
    """
    return _told(_hit(entity, jobs)) or _nobody(entity, jobs)


class Impacts:
    """Whom findings hit, with a memory: a fault often ends the job that it hits, before it is told.

    A job that ended is told for a finding that came up at most `RECENT` seconds after it.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Job, float]] = {}  # by id, when it was last there
        self._told: dict[tuple[str, Entity], str] = {}
        self._jobs: tuple[Job, ...] = ()  # as they were last
        self._hit: dict[Entity, str] = {}  # the texts of these jobs
        self._made: dict[int, tuple[Finding, Finding]] = {}  # by the identity of the one given

    def add(self, findings: Sequence[Finding], snapshot: Snapshot) -> tuple[Finding, ...]:
        """The findings with their impact; as they are where nobody could look for jobs."""
        if snapshot.job_scan is None:
            return tuple(findings)
        now = snapshot.monotonic
        self._seen |= {job.id: (job, now) for job in snapshot.jobs}
        self._seen = {id_: seen for id_, seen in self._seen.items() if now - seen[1] <= RECENT}
        self._look_at(snapshot.jobs)
        found = tuple([self._with(one, self._of(one, snapshot.jobs)) for one in findings])
        self._made = {id(one): (one, made) for one, made in zip(findings, found, strict=True)}
        keys = {_key(one) for one in found}
        self._told = {key: text for key, text in self._told.items() if key in keys}
        return found

    def _look_at(self, jobs: tuple[Job, ...]) -> None:
        """Texts hold as long as nobody comes or goes."""
        if len(jobs) == len(self._jobs) and all(map(is_, jobs, self._jobs)):
            return
        before, self._jobs = [*map(_members, self._jobs)], jobs
        if before != [*map(_members, jobs)]:
            self._hit.clear()

    def _with(self, finding: Finding, text: str) -> Finding:
        """The same object as before where nothing is new."""
        given, made = self._made.get(id(finding), (None, finding))
        if given is finding and made.impact == text:
            return made
        return finding._replace(impact=text)

    def _of(self, finding: Finding, jobs: Sequence[Job]) -> str:
        text, key = self._hit.get(finding.entity), _key(finding)
        if text is None:
            text = self._hit[finding.entity] = _told(_hit(finding.entity, jobs))
        if text:
            self._told[key] = text
            return text
        if key not in self._told:
            here = {job.id for job in jobs}
            gone = [job for job, _ in self._seen.values() if job.id not in here]
            self._told[key] = _told(_hit(finding.entity, gone))
        past = self._told[key]
        return f"{past}; no longer there" if past else _nobody(finding.entity, jobs)


def _members(job: Job) -> object:
    """What a text about it depends on."""
    ranks = [(one.rank, one.process.pid, one.process.devices) for one in job.ranks]
    return job.id, job.kind, job.name, job.world_size, job.devices, ranks


def _key(finding: Finding) -> tuple[str, Entity]:
    return finding.id, finding.entity._replace(serial=None)  # it may become known on the way


def _hit(entity: Entity, jobs: Iterable[Job]) -> list[tuple[Job, tuple[Rank, ...]]]:
    work = [job for job in jobs if job.kind not in NO_WORK]
    if entity.kind in ("job", "rank"):
        return [(job, _named(job, entity.rank)) for job in work if job.id == entity.job]
    if entity.device is not None:
        return [(job, _on(job, entity.device)) for job in work if entity.device in job.devices]
    if entity.kind == "port":
        return [(job, job.ranks) for job in work if spans_nodes(job)]
    return [(job, job.ranks) for job in work]


def _told(hit: Sequence[tuple[Job, Sequence[Rank]]]) -> str:
    lines = [_line(job, ranks) for job, ranks in hit[:MOST_NAMED]]
    if len(hit) > MOST_NAMED:
        lines.append(f"and {len(hit) - MOST_NAMED} more jobs")
    return "; ".join(lines)


def _nobody(entity: Entity, jobs: Sequence[Job]) -> str:
    if entity.kind in ("job", "rank"):
        return ""
    if entity.device is not None:
        left = [job.id for job in jobs if job.kind == "leftover" and entity.device in job.devices]
        more = f", only what is left of {', '.join(left[:MOST_NAMED])}" if left else ""
        return f"no job holds neuron{entity.device} now{more}"
    works = any(job.kind not in NO_WORK for job in jobs)
    return "no job here spans nodes" if entity.kind == "port" and works else "no job here"


def _named(job: Job, rank: int | None) -> tuple[Rank, ...]:
    return tuple(one for one in job.ranks if rank is None or one.rank == rank)


def _on(job: Job, device: int) -> tuple[Rank, ...]:
    return tuple(one for one in job.ranks if device in one.process.devices)


def spans_nodes(job: Job) -> bool:
    """Whether it has ranks elsewhere."""
    return job.world_size is not None and job.world_size > len(job.ranks)


def _line(job: Job, ranks: Sequence[Rank]) -> str:
    numbers = [one.rank for one in ranks if one.rank is not None]
    head = f"job {job.id} ({job.kind}, {job.name})"
    if not numbers:
        return f"{head}: pid {ranges([one.process.pid for one in ranks])}" if ranks else head
    of = f" of {job.world_size}" if job.world_size is not None else ""
    plural = "s" if len(numbers) > 1 else ""
    return f"{head}: rank{plural} {ranges(numbers)}{of}"


def holder_text(pid: int, jobs: Iterable[Job]) -> str:
    """Who a pid is that the driver or a tool names as the holder of a core."""
    for job in jobs:
        for rank in job.ranks:
            if rank.process.pid == pid:
                return f"pid {pid} ({rank.process.name}, {_home(rank.process)}, job {job.id})"
    return f"pid {pid}, which holds no device in this /proc: a process of another pid namespace"


def _home(process: Process) -> str:
    if process.pod:
        name = process.pod.name or process.pod.uid
        return f"pod {process.pod.namespace}/{name}" if process.pod.namespace else f"pod {name}"
    return f"container {process.container[:12]}" if process.container else "no container"


def leftovers(jobs: Iterable[Job]) -> tuple[Finding, ...]:
    """One finding a device that a process of a dead job still holds; never a fault of hardware."""
    return tuple(
        _leftover(job, rank, device)
        for job in jobs
        if job.kind == "leftover"
        for rank in job.ranks
        for device in rank.process.devices
    )


def _leftover(job: Job, rank: Rank, device: int) -> Finding:
    process = rank.process
    stuck = process.state in ("D", "Z")
    how = "it cannot be ended: only a reboot frees the device" if stuck else "ending it frees it"
    message = f"neuron{device} is held by pid {process.pid} ({process.name}, {_home(process)})"
    return Finding(
        id="device-held",
        entity=Entity("device", device=device, job=job.id),
        severity=Severity.WARNING,
        confidence=Confidence.PROBABLE,
        action=Action.REBOOT if stuck else Action.FIX_PROGRAM,
        message=f"{message}: {job.why}; {how}",
        evidence=(
            Evidence("counter", "hearsay", f"proc/{process.pid}/fd", f"neuron{device}"),
            Evidence("counter", "hearsay", f"proc/{process.pid}/stat", process.state),
        ),
        confirm_by=(f"ps -o pid,ppid,state,lstart,args -p {process.pid}",),
        runbook="docs/runbooks/device-held.md",
    )
