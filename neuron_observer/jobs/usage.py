"""How much of the devices a job uses at one instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import Missing
from neuron_observer.readings import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Job, Snapshot

BUSY = 0.01  # utilisation from which a core is not idle


class Use(NamedTuple):
    """What a job uses; None is unknown."""

    cores: int | None  # physical, allocated
    idle: int | None  # of these
    hbm: int | None  # bytes
    rss: int | None  # bytes


def use_of(job: Job, snapshot: Snapshot) -> Use:
    """Cores, idle ones and memory; devices that another job holds too tell nothing."""
    others = {d for one in snapshot.jobs if _works(one) and one.id != job.id for d in one.devices}
    alone = not others.intersection(job.devices)
    cores = _named_cores(job)
    physical = {device.index: len(device.cores) for device in snapshot.devices}
    if cores is None and alone and all(device in physical for device in job.devices):
        cores = sum(physical[device] for device in job.devices)
    idle = None
    if cores is not None and alone:
        busy = _busy(snapshot, job.devices)
        idle = None if busy is None else max(cores - busy, 0)
    resident = [rank.process.rss for rank in job.ranks if rank.process.rss is not None]
    return Use(
        cores=cores,
        idle=idle,
        hbm=_held(snapshot, job.devices) if alone else None,
        rss=sum(resident) if len(resident) == len(job.ranks) else None,
    )


def _works(job: Job) -> bool:
    return job.kind != "monitor"


def _named_cores(job: Job) -> int | None:
    """Physical cores by the logical ones that are known; None unless those of all ranks are."""
    found: set[int] = set()
    sizes = {rank.cores.size for rank in job.ranks}
    for rank in job.ranks:
        if not rank.cores.numbers:
            return None
        found.update(rank.cores.numbers)
    size = sizes.pop() if len(sizes) == 1 else None
    return None if size is None else len(found) * size


def _busy(snapshot: Snapshot, devices: Sequence[int]) -> int | None:
    """Cores of these devices that execute; None unless all tell."""
    found = [c for _, p, c in columns(snapshot.batches, "core.utilization") if p.device in devices]
    if not found or any(isinstance(cell, Missing | str) for cell in found):
        return None
    return sum(isinstance(cell, int | float) and cell >= BUSY for cell in found)


def _held(snapshot: Snapshot, devices: Sequence[int]) -> int | None:
    cells = [c for _, p, c in columns(snapshot.batches, "device.hbm.used") if p.device in devices]
    values = [int(cell) for cell in cells if isinstance(cell, int | float)]
    return sum(values) if values and len(values) == len(cells) else None
