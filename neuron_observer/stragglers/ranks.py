"""The ranks of one job on this node, as the watch of a job hands them on. Without numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from neuron_observer.model import Process
    from neuron_observer.parsers.heartbeat import Head


class Row(NamedTuple):
    """A rank; `number` is its rank, or minus its pid where it has none."""

    pid: int
    number: int
    device: int | None = None
    core: int | None = None  # logical
    role: str | None = None
    replica: str | None = None


class Now(NamedTuple):
    """A rank at one instant; None is unknown."""

    process: Process | None  # None: it is gone
    head: Head | None  # None: no hook writes for it
    ended: bool = False  # of one that is gone: it said that it ended


class Clocks(NamedTuple):
    """One instant on both clocks of ours."""

    monotonic: float
    wall: float

    def wall_of(self, monotonic: float) -> float:
        """The wall clock of a monotonic time of this node."""
        return self.wall - (self.monotonic - monotonic)
