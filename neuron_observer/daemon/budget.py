"""When the observer costs more than it may: a pure decision over figures of its own process.

Over the budget for a while, lanes are read less often by one step; well below it for a longer
while, more often again by one. Each step halves the reads, about, so a step back is taken only
where twice the cost would still be within the budget: else it would be undone at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

CPU = 0.05  # of one core
MEMORY = 80e6  # bytes, resident: 19 MB of it for numpy, while hooked jobs are judged
OVER = 60.0  # seconds over the budget before a step
UNDER = 300.0  # seconds well below it before a step back
_BACK = 0.45  # of the budget: the cost below which twice as much is still within it
_MEMORY_BACK = 0.9  # of the budget: memory does not double with the reads

# What each step multiplies the periods by; lanes that are not named stay as they are.
FACTORS: tuple[Mapping[str, float], ...] = (
    {},
    {"normal": 2.0, "slow": 2.0, "jobs": 3.0},
    {"fast": 2.0, "normal": 4.0, "slow": 3.0, "jobs": 8.0},
    {"fast": 4.0, "normal": 4.0, "slow": 3.0, "jobs": 15.0},
)
STEPS = len(FACTORS) - 1
MEMORY_STEPS = 1  # fewer reads fill the history slower, and free nothing: more steps would not help
# No lane gets longer than this (seconds): a rule over a minute needs two reads of it, the rules
# take a pause of 5 s for one in which nobody looked, and registers are what faults are told by.
LONGEST = {"fast": 1.0, "normal": 4.0, "slow": 30.0, "jobs": 30.0}


class Budget(NamedTuple):
    """What the observer may cost; 0: no limit."""

    cpu: float = CPU  # share of one core
    memory: float = MEMORY  # bytes of resident memory


class Cost(NamedTuple):
    """What it has cost so far."""

    at: float  # monotonic
    cpu_seconds: float  # since the process began
    memory: float  # bytes, now


class Change(NamedTuple):
    """A step that was taken, and what for."""

    step: int
    risen: bool  # it was over its budget; else well below
    cpu: float  # share of one core, since the figures before
    memory: float  # bytes


class Keeper:
    """Weighs cost against a budget; `step` is the one in force."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.step = 0
        self._last: Cost | None = None
        self._over_since: float | None = None
        self._under_since: float | None = None

    def note(self, cost: Cost) -> Change | None:
        """Take figures, in the order of their times; the step that they led to."""
        last, self._last = self._last, cost
        if last is None or cost.at <= last.at:
            return None
        used = (cost.cpu_seconds - last.cpu_seconds) / (cost.at - last.at)
        most = self._most(used, cost.memory)
        over, under = most > 0, self._under(used, cost.memory)
        # what holds at both ends of an interval is taken to have held since its beginning
        self._over_since = _since(self._over_since, last.at) if over else None
        self._under_since = _since(self._under_since, last.at) if under else None
        return self._step(cost, used, most)

    def _step(self, cost: Cost, used: float, most: int) -> Change | None:
        now = cost.at
        risen = self._over_since is not None and now - self._over_since >= OVER
        fallen = self._under_since is not None and now - self._under_since >= UNDER
        step = min(self.step + 1, max(most, self.step)) if risen else max(self.step - fallen, 0)
        if step == self.step:
            return None
        self.step = step
        self._over_since = self._under_since = None
        return Change(step, risen, used, cost.memory)

    def _most(self, used: float, memory: float) -> int:
        """The highest step that such a cost may lead to; 0: it is within the budget."""
        cpu, most = self.budget
        if cpu > 0 and used > cpu:
            return STEPS
        return MEMORY_STEPS if most > 0 and memory > most else 0

    def _under(self, used: float, memory: float) -> bool:
        cpu, most = self.budget
        return not ((cpu > 0 and used > _BACK * cpu) or (most > 0 and memory > _MEMORY_BACK * most))


def _since(before: float | None, now: float) -> float:
    return now if before is None else before


def lengthened(periods: Mapping[str, float], step: int) -> dict[str, float]:
    """Periods by lane at a step: never shorter than they are, never beyond `LONGEST`."""
    factors = FACTORS[step]
    return {
        lane: max(period, min(period * factors.get(lane, 1.0), LONGEST.get(lane, period)))
        for lane, period in periods.items()
    }
