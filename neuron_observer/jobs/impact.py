"""Whom a fault hits: the line that stands beside a finding, and who holds a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.jobs.ownership import ranges
from neuron_observer.model import Action, Confidence, Entity, Evidence, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.model import Job, Process, Rank

MOST_NAMED = 4  # jobs in one line
_NO_WORK = ("monitor",)  # they are not hit by a fault


def impact(entity: Entity, jobs: Sequence[Job]) -> str:
    """Which job and which ranks a finding on `entity` hits; empty where no job can be told.

    A core of an entity is physical, those of a job are logical, and nothing maps one to the other:
    a fault of a core is said to hit the ranks of its device.
    """
    work = [job for job in jobs if job.kind not in _NO_WORK]
    if entity.kind in ("job", "rank"):
        hit = [(job, _named(job, entity.rank)) for job in work if job.id == entity.job]
    elif entity.device is not None:
        hit = [(job, _on(job, entity.device)) for job in work if entity.device in job.devices]
    elif entity.kind == "port":
        hit = [(job, job.ranks) for job in work if _spans_nodes(job)]
    else:
        hit = [(job, job.ranks) for job in work]
    if not hit:
        return _nobody(entity, work)
    lines = [_line(job, ranks) for job, ranks in hit[:MOST_NAMED]]
    more = f"; and {len(hit) - MOST_NAMED} more jobs" if len(hit) > MOST_NAMED else ""
    return "; ".join(lines) + more


def _nobody(entity: Entity, work: Sequence[Job]) -> str:
    if entity.kind in ("job", "rank"):
        return ""
    if entity.device is not None:
        return f"no job holds neuron{entity.device}"
    return "no job here spans nodes" if entity.kind == "port" and work else "no job here"


def _named(job: Job, rank: int | None) -> tuple[Rank, ...]:
    return tuple(one for one in job.ranks if rank is None or one.rank == rank)


def _on(job: Job, device: int) -> tuple[Rank, ...]:
    return tuple(one for one in job.ranks if device in one.process.devices)


def _spans_nodes(job: Job) -> bool:
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
        action=Action.REBOOT if stuck else Action.RESTART_JOB,
        message=f"{message}: {job.why}; {how}",
        evidence=(
            Evidence("counter", "hearsay", f"proc/{process.pid}/fd", f"neuron{device}"),
            Evidence("counter", "hearsay", f"proc/{process.pid}/stat", process.state),
        ),
    )
