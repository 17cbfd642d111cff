"""Jobs that stop, one for each cause, and jobs that only look so.

A job runs steps of 1, 5 or 20 s with about ten collectives each; every pipeline stage counts its
own. At the hang the culprit does not enter the next collective (or all enter and it does not
complete); everybody else enters it and waits. Nodes and hooks are looked at every 5 s, up to 15
minutes after the stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from benchmarks.stragglers.topology import Topology

HangClass = Literal[
    "crashed peer", "host deadlock", "input hang", "compute hang", "collective", "desync"
]
Pause = Literal["first compile", "recompile", "checkpoint", "slow steps", "evaluation"]
HANGS: tuple[HangClass, ...] = get_args(HangClass)
PAUSES: tuple[Pause, ...] = get_args(Pause)

LOOK_S = 5.0
COLLECTIVES = 10
AFTER_S = 900.0
STARTED_AT = 1_790_000_000.0


@dataclass(frozen=True)
class Look:
    """What hooks and nodes show at one instant; rows have one entry a rank.

    `entered` and `completed` count collectives and `shape` is a fingerprint of the one entered last
    (operation and sizes): only with a hook, as is `in_loader`. `executions` are counted from
    outside. A host that deadlocks is in state D in half of the cases; the others look idle.
    """

    at: float
    step: NDArray[np.int64]
    entered: NDArray[np.int64]
    completed: NDArray[np.int64]
    shape: NDArray[np.int64]
    executions: NDArray[np.int64]
    alive: NDArray[np.bool_]
    device_busy: NDArray[np.bool_]
    blocked: NDArray[np.bool_]
    in_loader: NDArray[np.bool_]
    link_error: NDArray[np.bool_]
    compiling: bool
    checkpointing: bool


@dataclass(frozen=True)
class Case:
    """One job: how long it ran, what stopped it, and who did; no culprits where nobody did."""

    name: HangClass | Pause
    topology: Topology
    seed: int
    stops_after: float
    culprits: tuple[int, ...]
    step_s: float
    pause_s: float = 0.0

    @property
    def faulty_device(self) -> int:
        """The device whose link is lost in a collective hang."""
        return self.seed % (self.topology.ranks // self.topology.ranks_per_device)

    @property
    def hangs(self) -> bool:
        """Whether it never goes on."""
        return self.name in HANGS


def draw(name: HangClass | Pause, topology: Topology, seed: int) -> Case:
    """One case of this name."""
    rng = np.random.default_rng(seed)
    stops = 0.0 if name == "first compile" else float(rng.uniform(600, 1800))
    culprit = (int(rng.integers(topology.ranks)),)
    nobody = name in PAUSES or name == "collective"
    seconds = {
        "first compile": float(rng.uniform(300, 1500)),
        "recompile": float(rng.uniform(90, 600)),
        "checkpoint": float(rng.uniform(70, 240)),
        "evaluation": float(rng.uniform(100, 300)),
    }.get(name, 0.0)
    step_s = float(rng.choice([1.0, 5.0, 20.0]))
    return Case(name, topology, seed, stops, () if nobody else culprit, step_s, seconds)


def looks(case: Case, *, hooked: bool = True, stale: bool = False) -> Iterator[Look]:
    """The job as it is seen, every 5 s. With stale counters executions stand still all the time."""
    rng = np.random.default_rng((case.seed, 1))
    ranks = case.topology.ranks
    end = case.stops_after + (AFTER_S if case.hangs else case.pause_s + 600)
    offset = rng.uniform(0, LOOK_S)
    for index in range(int(end / LOOK_S)):
        now = offset + index * LOOK_S
        stopped = case.hangs and now > case.stops_after
        paused = not case.hangs and 0 <= now - case.stops_after < case.pause_s
        done = int(_running_seconds(case, now) / case.step_s * COLLECTIVES)
        # An evaluation goes through collectives and executions, but through no training step.
        trained = _running_seconds(case, min(now, case.stops_after)) if paused else None
        steps = done // COLLECTIVES if trained is None else int(trained / case.step_s)
        completed = done + done // COLLECTIVES * case.topology.stage.astype(np.int64)
        entered = completed + 1
        waiting = np.ones(ranks, bool)
        waiting[list(case.culprits)] = not stopped
        if stopped and case.name != "desync":
            entered[list(case.culprits)] -= 1
        yield Look(
            at=STARTED_AT + now,
            step=np.full(ranks, steps),
            entered=entered if hooked else np.full(ranks, -1),
            completed=completed if hooked else np.full(ranks, -1),
            shape=np.where(waiting | (case.name != "desync"), done % 7, 99),
            executions=np.full(ranks, 0 if stale else done * 2),
            alive=waiting | (case.name != "crashed peer"),
            device_busy=_device_busy(case, waiting, stopped=stopped, paused=paused),
            blocked=~waiting & (case.name == "host deadlock") & (case.seed % 2 == 0),
            in_loader=~waiting & (case.name == "input hang"),
            link_error=_errors(case, stopped=stopped),
            compiling=paused and case.name in ("first compile", "recompile"),
            checkpointing=paused and case.name == "checkpoint",
        )


def _running_seconds(case: Case, now: float) -> float:
    """Seconds of training until now; slow steps take five times as long after the stop."""
    before = min(now, case.stops_after)
    after = max(now - case.stops_after, 0.0)
    if case.hangs:
        return before
    if case.name == "slow steps":
        return before + after / 5
    if case.name == "evaluation":
        return before + after
    return before + max(after - case.pause_s, 0.0)


def _device_busy(
    case: Case, waiting: NDArray[np.bool_], *, stopped: bool, paused: bool
) -> NDArray[np.bool_]:
    """Whose tensor engine moves: all in training, the hung core in a compute hang."""
    if stopped:
        return ~waiting & (case.name == "compute hang")
    return np.full(len(waiting), not paused or case.name == "evaluation")


def _errors(case: Case, *, stopped: bool) -> NDArray[np.bool_]:
    """hw_collectives_error: raised on one device of a group whose link is lost."""
    flags = np.zeros(case.topology.ranks, bool)
    if stopped and case.name == "collective":
        flags[list(case.topology.on_device(case.faulty_device))] = True
    return flags
