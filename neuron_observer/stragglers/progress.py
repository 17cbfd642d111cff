"""What of a job's progress can be seen at one instant, and what is said of a job that stands still.

Nothing here needs numpy: whether a job moves is asked all the time, who holds it up only once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.stragglers.columns import Floats, Ints, Mask
    from neuron_observer.stragglers.names import HangKind

Counts: TypeAlias = "Floats | Sequence[float]"
Codes: TypeAlias = "Ints | Sequence[int]"
Masks: TypeAlias = "Mask | Sequence[bool]"


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """One sample of a job; a value a rank (arrays of numpy to say who), None where nobody knows.

    `done` counts steps or executions, NaN if a rank did not answer. `live` is False where these
    counters do not move during a run (sysfs before driver 2.30.2). `entered` and `completed` are
    the numbers of the last collective that a rank went into and came out of (hook, flight
    recorder); `operation` a code of what that collective is. `role` tells which ranks count their
    collectives alike (pipeline stages count their own); None: all do.
    """

    at: float  # seconds on a clock that never goes back
    done: Counts
    live: bool = True
    loading: bool = False  # model load count rises, or a compiler process is alive
    checkpoint: bool = False  # checkpoint files grow
    alive: Masks | None = None  # the process is there and no zombie
    entered: Counts | None = None
    completed: Counts | None = None
    operation: Codes | None = None
    role: Codes | None = None
    device_busy: Masks | None = None  # the core was active since the last sample
    blocked: Masks | None = None  # the process is in state D
    in_input: Masks | None = None  # the process is in next(dataloader)
    timed_out: Masks | None = None  # an execution timed out or failed since progress stopped
    link_error: Masks | None = None  # hw_collectives_error, EFA or link flag since then

    @property
    def paused(self) -> bool:
        """Whether standing still is planned."""
        return self.loading or self.checkpoint


class Stall(NamedTuple):
    """A job that stands still. `rows` is empty where nobody can be named, and `why` says so."""

    kind: HangKind
    rows: tuple[int, ...]
    since: float  # of the last progress
    usual: float  # s, the usual step period
    why: str
    hardware: bool = False  # a hardware counter says so
