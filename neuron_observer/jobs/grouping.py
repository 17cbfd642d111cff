"""Processes that hold devices → jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.jobs.identity import RANKING, Holder, Key, key_of, name_of, rank_of
from neuron_observer.jobs.kinds import is_launcher, kind_of, orphan_reason
from neuron_observer.jobs.ownership import NodeShape, Told, cores_of
from neuron_observer.model import Job, JobKind, Rank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BEST_KIND: tuple[JobKind, ...] = ("leftover", "server", "xla", "training", "notebook", "test")


class Around(NamedTuple):
    """What is known beside the processes themselves."""

    shape: NodeShape = NodeShape({}, {})
    told: Mapping[int, Told] = {}  # by pid, what neuron-monitor reports
    mapped: Mapping[int, tuple[str, ...]] = {}  # device → job ids of a scheduler's mapping folder
    booted: float | None = None  # wall clock


def group(holders: Sequence[Holder], around: Around) -> tuple[Job, ...]:
    """The jobs, by their first device."""
    by_pid = {holder.process.pid: holder for holder in holders}
    parts: dict[Key, list[tuple[Holder, JobKind, str]]] = {}
    for holder in holders:
        kind, why = _kind(holder, around.shape)
        parts.setdefault(key_of(holder, kind, by_pid), []).append((holder, kind, why))
    jobs = [_job(key, found, around) for key, found in parts.items()]
    return tuple(sorted(jobs, key=lambda job: (job.devices, job.id)))


def refresh(
    jobs: tuple[Job, ...], before: Sequence[Holder], holders: Sequence[Holder]
) -> tuple[Job, ...] | None:
    """The same jobs with the processes of now; None where anything but their figures changed."""
    if len(before) != len(holders) or not all(map(_same, before, holders)):
        return None
    now = {holder.process.pid: holder.process for holder in holders}
    return tuple(
        job._replace(ranks=tuple(r._replace(process=now[r.process.pid]) for r in job.ranks))
        for job in jobs
    )


def _same(one: Holder, other: Holder) -> bool:
    """What does not change of a process is kept as the same objects."""
    return (
        one.process.pid == other.process.pid
        and one.process.devices == other.process.devices
        and one.process.container == other.process.container
        and one.variables is other.variables
        and one.arguments is other.arguments
        and one.ancestors is other.ancestors
    )


def _kind(holder: Holder, shape: NodeShape) -> tuple[JobKind, str]:
    chips = {name for device in holder.process.devices if (name := shape.chips.get(device))}
    kind, why = kind_of(holder.arguments, holder.variables or (), chips)
    if kind == "unknown" and any(is_launcher(one.arguments) for one in holder.ancestors):
        kind, _ = kind_of((), ("RANK",), chips)
        why = "started by a training launcher"
    orphan = ""
    if holder.ancestors:
        pid, _, name, arguments = holder.ancestors[0]
        orphan = orphan_reason(holder.variables or (), name, pid, arguments)
    if holder.member.deleted and not orphan:
        orphan = "its pod, container or step is gone"
    return ("leftover", orphan) if orphan else (kind, why)


def _job(key: Key, found: Sequence[tuple[Holder, JobKind, str]], around: Around) -> Job:
    holders = [holder for holder, _, _ in found]
    kinds = {kind: why for _, kind, why in reversed(found)}
    kind: JobKind = next((one for one in _BEST_KIND if one in kinds), found[0][1])
    devices = tuple(sorted({d for holder in holders for d in holder.process.devices}))
    address = _first(holders, "MASTER_ADDR")
    port = _first(holders, "MASTER_PORT")
    run_id = _first(holders, "TORCHELASTIC_RUN_ID")
    ranked = key.launcher in RANKING
    starts = [holder.process.start for holder in holders]
    return Job(
        id=key.id,
        name=name_of(holders, run_id),
        kind=kind,
        why=kinds[kind],
        launcher=key.launcher,
        ranks=tuple(
            sorted((_rank(h, holders, around, ranked=ranked) for h in holders), key=_by_rank)
        ),
        devices=devices,
        world_size=_number(holders, "WORLD_SIZE", "SLURM_NTASKS") if ranked else None,
        run_id=run_id,
        master=f"{address}:{port}" if address and port else address,
        restarts=_number(holders, "TORCHELASTIC_RESTART_COUNT"),
        slurm_job=next((h.slurm_job for h in holders if h.slurm_job), None),
        slurm_step=next((h.slurm_step for h in holders if h.slurm_step), None),
        node_rank=_number(holders, "GROUP_RANK", "SLURM_NODEID") if ranked else None,
        tag=_first(holders, "NEURON_PROCESS_TAG"),
        started=None if around.booted is None else around.booted + min(starts),
        mapped=() if kind == "monitor" else _mapped(devices, around),
    )


def _mapped(devices: Sequence[int], around: Around) -> tuple[str, ...]:
    return tuple(sorted({one for device in devices for one in around.mapped.get(device, ())}))


def _first(holders: Sequence[Holder], name: str) -> str | None:
    return next((v for holder in holders if (v := holder.variable(name))), None)


def _number(holders: Sequence[Holder], *names: str) -> int | None:
    return next((n for h in holders if (n := h.number(*names)) is not None), None)


def _rank(holder: Holder, job: Sequence[Holder], around: Around, *, ranked: bool) -> Rank:
    rank, local = rank_of(holder, ranked=ranked)
    told = around.told.get(holder.process.pid)
    return Rank(holder.process, rank, local, cores_of(holder, job, around.shape, told))


def _by_rank(rank: Rank) -> tuple[float, int]:
    return (float("inf") if rank.rank is None else rank.rank, rank.process.pid)
