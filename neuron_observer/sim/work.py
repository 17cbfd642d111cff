"""What a core does while a job runs on it: closed forms of time, so that steps may be of any size.

A core at a share `s` of its time is busy for `s·t` seconds plus a slow ripple; executions and
operations follow from the busy time. What was handed on is remembered, so nothing is counted
twice and two short steps count what a long one does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuron_observer.sim.state import Core

RIPPLE = 0.12  # of the share, at most
SECOND = 1_000_000  # microseconds


@dataclass(slots=True)
class Load:
    """The work of one core since `since`."""

    since: float  # simulated seconds
    share: float  # of its time that the core executes
    executions: float  # a second
    flops: float  # a second
    phase: float  # of the ripple
    period: float = 47.0  # seconds of the ripple
    busy: float = 0.0  # seconds, handed on
    executed: int = 0
    operated: int = 0
    microseconds: int = 0

    def _amplitude(self) -> float:
        return min(RIPPLE, max(0.0, 1 / self.share - 1)) if self.share else 0.0

    def share_at(self, now: float) -> float:
        """Share of the time that the core is busy just now."""
        turn = 2 * math.pi * (now - self.since) / self.period + self.phase
        return self.share * (1 + self._amplitude() * math.sin(turn))

    def progress(self, now: float) -> float:
        """Seconds at the mean share that were worked off since `since`."""
        rate = 2 * math.pi / self.period
        elapsed = max(now - self.since, 0.0)
        ripple = math.cos(self.phase) - math.cos(rate * elapsed + self.phase)
        return elapsed + self._amplitude() / rate * ripple


def work(core: Core, now: float) -> None:
    """Count what a core has done until `now`."""
    load = core.load
    if load is None:
        return
    progress = load.progress(now)
    counters = core.counters
    executed = max(int(progress * load.executions), load.executed)
    if executed > load.executed:
        counters["success"].count(executed - load.executed)
        counters["inference_count"].count(executed - load.executed)
        load.executed = executed
    operated = max(int(progress * load.flops), load.operated)
    counters["flop_count"].count(2 * (operated // 2 - load.operated // 2))
    load.operated = operated
    busy = max(progress * load.share, load.busy)
    microseconds = int(busy * SECOND)
    counters["nc_time_in_use"].count(microseconds - load.microseconds)
    load.microseconds = microseconds
    core.busy += busy - load.busy
    load.busy = busy
