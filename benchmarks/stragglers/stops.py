"""The hang detector under test, on jobs that stop and on jobs that only look so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers import hangs
from benchmarks.stragglers.topology import TOPOLOGIES
from neuron_observer.stragglers.hangs import Hang, advance
from neuron_observer.stragglers.stalls import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.stragglers.hangs import Case, Look

ANSWERS = {
    "crashed peer": "crashed_peer",
    "host deadlock": "host_deadlock",
    "input hang": "input_hang",
    "compute hang": "compute_hang",
    "collective": "collective_hang",
    "desync": "desync",
}
SIZES = (8, 64, 512)
VIEWS = ("hook", "hook, one rank silent", "passive", "passive, stale counters")


@dataclass(frozen=True)
class Verdict:
    """One case: seconds until it was called a stall and what D was; None if it was not."""

    case: Case
    view: str
    seconds: float | None
    limit: float
    ranks: frozenset[int]
    cls: str

    @property
    def right_rank(self) -> bool:
        """Whether exactly the culprit is named; for a lost link its device, or nobody."""
        if self.case.name == "collective":
            faulty = self.case.topology.on_device(self.case.faulty_device)
            return self.ranks <= frozenset(faulty)
        return self.ranks == frozenset(self.case.culprits)

    @property
    def right_class(self) -> bool:
        """Whether the cause is named."""
        return self.cls == ANSWERS.get(self.case.name)

    @property
    def in_time(self) -> bool:
        """Whether it was called within D + 15 s."""
        return self.seconds is not None and self.seconds <= self.limit + 15.0


def run(repeats: int, seed: int) -> list[Verdict]:
    """All hangs and pauses, in all views, `repeats` times each."""
    verdicts = []
    for name in (*hangs.HANGS, *hangs.PAUSES):
        for index in range(repeats):
            topology = TOPOLOGIES[SIZES[index % len(SIZES)]]
            case = hangs.draw(name, topology, seed + 100 * index + 7)
            verdicts += [_verdict(case, view) for view in VIEWS]
    return verdicts


def _verdict(case: Case, view: str) -> Verdict:
    state = Hang()
    for look in hangs.looks(case, stale="stale" in view):
        state = advance(state, _progress(look, view, case.topology.stage.astype(np.int64)))
        if state.stall is not None:
            seconds = look.at - hangs.STARTED_AT - case.stops_after
            said = state.stall
            ranks = frozenset(said.rows)
            return Verdict(case, view, seconds, state.limit(), ranks, said.kind.value)
    return Verdict(case, view, None, state.limit(), frozenset(), "")


def _progress(look: Look, view: str, stage: NDArray[np.int64]) -> Progress:
    hooked = view.startswith("hook")
    heard = np.ones(len(look.step))
    heard[-1] = np.nan if "silent" in view else 1.0
    return Progress(
        at=look.at,
        done=look.step * heard if hooked else look.executions.astype(np.float64),
        live="stale" not in view,
        loading=look.compiling,
        checkpoint=look.checkpointing,
        alive=look.alive,
        entered=look.entered * heard if hooked else None,
        completed=look.completed * heard if hooked else None,
        operation=look.shape if hooked else None,
        role=stage if hooked else None,
        device_busy=look.device_busy,
        blocked=look.blocked,
        in_input=look.in_loader if hooked else None,
        link_error=look.link_error,
    )
