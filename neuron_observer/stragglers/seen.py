"""One look at the jobs of a node, as it is handed to those that judge them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.stragglers.hangs import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from neuron_observer.jobs.ownership import NodeShape
    from neuron_observer.model import Batch, Job, JobPhase
    from neuron_observer.parsers.flight_recorder import Group
    from neuron_observer.stragglers.ranks import Clocks
    from neuron_observer.stragglers.signs import Signs

PHASES: dict[Phase, JobPhase] = {
    Phase.INIT: "init",
    Phase.COMPILE: "compile",
    Phase.TRAINING: "training",
    Phase.PAUSE: "pause",
    Phase.STALLED: "stalled",
    Phase.UNKNOWN: "unknown",
}
PRESSED = 0.10  # share of 10 s in which tasks waited, from which it is worth telling


class Seen(NamedTuple):
    """What a look gave, for all jobs."""

    clocks: Clocks
    jobs: Sequence[Job]
    shape: NodeShape
    batches: Sequence[Batch]
    signs: Signs
    driver: str | None  # version
    compiling: Callable[[], bool]  # whether a compiler runs on this node; costs a look at all
    dumps: Callable[[float], Mapping[int, Mapping[str, Group]]] = lambda _since: {}
    """Flight recorder dumps by pid, written since a time of the wall clock."""


def hints(seen: Seen, devices: Sequence[int] = ()) -> list[str]:
    """What of the node moves at the same time, where no rank can be blamed for it."""
    signs = seen.signs
    said = []
    faulty = [d for d, count in signs.ecc.items() if count and (not devices or d in devices)]
    if faulty:
        said.append(f"corrected memory errors rise on neuron{', '.join(map(str, sorted(faulty)))}")
    if signs.fabric:
        said.append(f"{signs.fabric + 1:.0f} EFA time-outs or bad remotes in the last minute")
    for word, share in (
        ("a processor", signs.cpu_pressure),
        ("storage", signs.io_pressure),
        ("memory", signs.memory_pressure),
    ):
        if share is not None and share >= PRESSED:
            said.append(f"tasks of this host wait for {word} {share:.0%} of the time")
    return said
