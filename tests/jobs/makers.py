"""Holders as the collector gives them, made up in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.jobs.grouping import Around, group
from neuron_observer.jobs.identity import Ancestor, Holder
from neuron_observer.jobs.ownership import NodeShape
from neuron_observer.model import Job, Pod, Process
from neuron_observer.parsers.cgroup import Membership

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TORCHRUN = Ancestor(90, 9.0, "torchrun", ("python3", "/usr/bin/torchrun", "train.py"))
TRN2 = NodeShape(dict.fromkeys(range(16), "Trainium2"), dict.fromkeys(range(16), 8))
TRN1 = NodeShape(dict.fromkeys(range(16), "Trainium1"), dict.fromkeys(range(16), 2))
NOWHERE = Membership()


def holder(
    pid: int = 100,
    devices: Sequence[int] = (0,),
    command: str = "python3 train.py",
    variables: Mapping[str, str] | None = None,
    *,
    member: Membership = NOWHERE,
    above: Sequence[Ancestor] = (),
    pod: Pod | None = None,
    own_pid: int | None = None,
    state: str = "S",
    start: float = 50.0,
    rss: int | None = 1024,
) -> Holder:
    """A process that holds devices; an environment of None is one that could not be read."""
    arguments = tuple(command.split())
    process = Process(
        pid=pid,
        start=start,
        name=arguments[0] if arguments else "x",
        command=command,
        devices=tuple(devices),
        state=state,
        rss=rss,
        container=member.container,
        pod=pod,
        own_pid=own_pid,
    )
    return Holder(process, arguments, variables, member, tuple(above))


def rank_variables(rank: int, world: int, **more: str) -> dict[str, str]:
    """What torchrun sets, on one node."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": "node-0",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "run",
        "TORCHELASTIC_RESTART_COUNT": "0",
        **more,
    }


def torch_job(world: int, shape: NodeShape = TRN2, **more: str) -> Job:
    """A job of so many ranks, four on a device."""
    ranks = [
        holder(100 + r, (r // 4,), variables=rank_variables(r, world, **more), above=(TORCHRUN,))
        for r in range(world)
    ]
    return group(ranks, Around(shape))[0]
