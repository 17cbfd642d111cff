"""How often the lanes are read: at their configured periods, less often while a job runs here, and
less often still while the observer costs more than its budget.

What the quiet profile costs in time (docs/adr/0010-own-cost.md): a change in the fast lane is seen
within 0.5 s instead of 0.25 s, or at once where the driver announces it; one in the normal lane
within 2 s instead of 1 s. Registers of the firmware are read as before, and kernel lines are heard
at once as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from neuron_observer.daemon.budget import Budget, Cost, Keeper, lengthened
from neuron_observer.jobs.kinds import NO_WORK
from neuron_observer.model import NODE, Event, Value
from neuron_observer.readings import reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.clock import Clock
    from neuron_observer.daemon.budget import Change
    from neuron_observer.log import Log
    from neuron_observer.loop.own import OwnFigures
    from neuron_observer.loop.schedule import Schedule
    from neuron_observer.model import Batch, Frame, Snapshot

QUIET = {"fast": 0.5, "normal": 2.0, "slow": 20.0, "jobs": 5.0}  # seconds, at least
CALM = 30.0  # seconds without a job until the lanes are read as often as before
_CPU = ("observer.cpu_user", "observer.cpu_system")
_MEMORY = "observer.resident_memory"


class Paced(Protocol):
    """What is needed of a loop."""

    schedule: Schedule
    own: OwnFigures

    def tell(self, event: Event) -> None:
        """Have an event in the next frame."""
        ...


class Pace:
    """Listens to a loop and sets its periods."""

    def __init__(
        self,
        loop: Paced,
        clock: Clock,
        log: Log,
        *,
        quiet: bool = True,
        budget: Budget | None = None,
    ) -> None:
        """`quiet`: read less often while a job runs here."""
        self._loop, self._clock, self._log = loop, clock, log
        self._periods = loop.schedule.configured
        self._may_be_quiet = quiet
        self._keeper = Keeper(budget or Budget())
        self._weighed: float | None = None  # read time of the figures weighed last
        self._busy_at: float | None = None  # monotonic, when a job was last seen

    @property
    def quiet(self) -> bool:
        """Whether the quiet profile is in force."""
        return self._loop.own.profile == "quiet"

    def note(self, frame: Frame) -> None:
        """Take a frame; call it with every one, in the loop's thread."""
        snapshot = frame.snapshot
        profile = "quiet" if self._mind(snapshot) else "full"
        change = self._weigh(snapshot.batches)
        if profile == self._loop.own.profile and change is None:
            return
        if profile != self._loop.own.profile:
            self._loop.own.profile = profile
            self._tell_profile(profile, snapshot)
        if change:
            self._loop.own.step = change.step
            self._tell_budget(change)
        self._apply()

    def configure(self, periods: Mapping[str, float], *, quiet: bool, budget: Budget) -> None:
        """Other settings from the next frame on; in the loop's thread, or before it runs."""
        self._periods = dict(periods)
        self._may_be_quiet = quiet
        self._keeper.budget = budget
        self._apply()

    def _apply(self) -> None:
        periods = dict(self._periods)
        if self.quiet:
            periods = {lane: max(period, QUIET.get(lane, 0.0)) for lane, period in periods.items()}
        periods = lengthened(periods, self._keeper.step)
        self._loop.schedule.change(periods, self._clock.monotonic())

    def _mind(self, snapshot: Snapshot) -> bool:
        """Whether a job runs here, or one did a moment ago: short jobs in a row are one.

        A node that cannot see its processes is not quiet: nobody can say that a job runs.
        """
        if not self._may_be_quiet:
            return False
        now = snapshot.monotonic
        if any(job.kind not in NO_WORK for job in snapshot.jobs):
            self._busy_at = now
        return self._busy_at is not None and now - self._busy_at < CALM

    def _weigh(self, batches: tuple[Batch, ...]) -> Change | None:
        own = [batch for batch in batches if batch.collector == "own"]
        if not own or own[-1].read_at == self._weighed:
            return None
        self._weighed = own[-1].read_at
        cells = [reading(own, metric, NODE) for metric in (*_CPU, _MEMORY)]
        figures = [float(cell.value) for cell in cells if isinstance(cell, Value)]
        if len(figures) < len(cells):
            return None
        *cpu, memory = figures
        return self._keeper.note(Cost(self._weighed, sum(cpu), memory))

    def _tell_profile(self, profile: str, snapshot: Snapshot) -> None:
        jobs = len(snapshot.jobs)
        why = f"jobs on this node: {jobs}" if profile == "quiet" else "no job on this node"
        self._tell("profile_changed", f"profile {profile}: {why}", profile=profile)

    def _tell_budget(self, change: Change) -> None:
        most = self._keeper.budget
        cost = f"{change.cpu:.1%} of a core and {change.memory / 1e6:.0f} MB"
        allowed = f"{most.cpu:.1%} and {most.memory / 1e6:.0f} MB"
        what = "over the budget, lanes get longer" if change.risen else "below it, they get shorter"
        message = f"{what}: {cost} of {allowed}, step {change.step}"
        self._tell("budget_step", message, step=change.step)

    def _tell(self, event: str, message: str, **fields: str | int) -> None:
        self._loop.tell(Event(event, NODE, self._clock.wall(), message, fields))
        self._log.info(event, message, **fields)
