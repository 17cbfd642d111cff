"""A job without the step hook: how fast it executes, seen from its devices and the node.

In a compiled graph the collectives lie inside an execution, so executions, utilisation and latency
are alike on all ranks: they tell that a job is slower or stands still, hardly ever because of whom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.stragglers.hangs import Hang, Phase, advance
from neuron_observer.stragglers.parameters import ONLINE
from neuron_observer.stragglers.progress import Progress
from neuron_observer.stragglers.slowdown import JobSlowdown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import PaceSource
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.ranks import Clocks
    from neuron_observer.stragglers.slowdown import Slowdown

SAMPLE = 15.0  # seconds of executions that make one period
STILL = 100.0  # EFA packets a second from which the node does something all the same
WRITING = 10e6  # bytes a second to its disks: a checkpoint


class Counted(NamedTuple):
    """Totals of one instant: executions by core or process, and what else moves with a job."""

    done: Mapping[object, float]
    read_at: float  # monotonic
    loads: int = 0  # models loaded
    held: float = 0.0  # bytes on its devices
    packets: float | None = None  # of the node's EFA ports
    written: float | None = None  # by the node's disks


class Outside:
    """One job, by what its devices count."""

    def __init__(self, source: PaceSource, parameters: Parameters = ONLINE) -> None:
        self.source: PaceSource = source
        self._slowdown = JobSlowdown(parameters)
        self._sample: Counted | None = None  # where the running sample began
        self._last: Counted | None = None
        self._number = 0
        self.hang = Hang()
        self.period: float | None = None  # s an execution, of the last sample

    @property
    def slowdown(self) -> Slowdown | None:
        """While the job is slower than it was."""
        return self._slowdown.current

    @property
    def usual(self) -> float | None:
        """The usual period; None while it is learned."""
        usual = self._slowdown.usual
        return usual if usual > 0 else None

    @property
    def quiet(self) -> float | None:
        """Seconds since an execution ended or a pause did, where that is longer than a sample."""
        if self._last is None or self.hang.moved is None:
            return None
        passed = self._last.read_at - self.hang.moved
        return passed if passed >= SAMPLE else None

    def take(self, now: Counted, clocks: Clocks, *, compiling: bool) -> None:
        """Take totals; of one read only once."""
        before = self._last
        if before is not None and now.read_at <= before.read_at:
            return
        self._last = now
        if before is None or now.done.keys() != before.done.keys():
            self._sample = now
            return
        self._move(before, now, compiling=compiling)
        self._count(now, clocks)

    def _count(self, now: Counted, clocks: Clocks) -> None:
        """Close the running sample, if it is long enough."""
        begin = self._sample
        if begin is None or _fell(begin, now):
            self._sample = now
            return
        passed = now.read_at - begin.read_at
        if passed < SAMPLE:
            return
        self._sample = now
        gained = [now.done[key] - begin.done[key] for key in now.done]
        busiest = max(gained, default=0)
        self.period = passed / busiest if busiest > 0 else None
        if self.period is None or now.loads != begin.loads:
            return
        self._number += 1
        if not self._slowdown.is_pause(self.period, blind=True):
            self._slowdown.update(self._number, clocks.wall_of(now.read_at), self.period)

    def _move(self, before: Counted, now: Counted, *, compiling: bool) -> None:
        """The state machine of progress; samples in which only something else moved are pauses.

        A job that executes also sends, allocates and writes: its collectives are traffic.
        """
        passed = now.read_at - before.read_at
        packets = _rate(before.packets, now.packets, passed)
        written = _rate(before.written, now.written, passed)
        keys = sorted(now.done, key=str)
        still = all(now.done[key] <= before.done[key] for key in keys)
        prepares = compiling or now.loads != before.loads or now.held != before.held
        self.hang = advance(
            self.hang,
            Progress(
                now.read_at,
                [now.done[key] for key in keys],
                loading=still and prepares,
                checkpoint=still and (packets >= STILL or written >= WRITING),
            ),
        )

    @property
    def stalled(self) -> bool:
        """Whether nothing moves for too long."""
        return self.hang.phase is Phase.STALLED

    @property
    def suspected(self) -> bool:
        """Whether a stall is near, so that it is worth to look for a compiler."""
        moved = self.hang.moved
        return (
            moved is not None
            and self._last is not None
            and self._last.read_at - moved > self.hang.limit() / 2
        )


def _fell(before: Counted, now: Counted) -> bool:
    return any(now.done[key] < value for key, value in before.done.items() if key in now.done)


def _rate(before: float | None, now: float | None, passed: float) -> float:
    if before is None or now is None or passed <= 0:
        return 0.0
    return max(now - before, 0.0) / passed
