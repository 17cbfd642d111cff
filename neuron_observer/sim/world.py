"""A node in time: a queue of what is to happen, and the steps between.

State at an instant depends on the scenario and the seed alone, never on how often it was looked
at: everything random happens at an entry of the queue, everything between is a closed form.
"""

from __future__ import annotations

import heapq
import random
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.sim.kernel import INFO, KernelLog
from neuron_observer.sim.loading import idle_memory, make_node
from neuron_observer.sim.network import keep_alive
from neuron_observer.sim.registers import refresh
from neuron_observer.sim.sampling import PERIOD, sample_power
from neuron_observer.sim.work import work

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.sim.chips import Driver, Instance
    from neuron_observer.sim.job import RunningJob

FIRST_PID = 40_100
BOOTED = 3_600.0  # seconds that the host has been up at the beginning, unless a clock tells


class Clocks(NamedTuple):
    """What the clocks say at a simulated instant, and how fast simulated time goes by them."""

    now: float = 0.0  # simulated seconds
    wall: float = 0.0
    uptime: float = BOOTED
    speed: float = 1.0


class World:
    """One simulated node and its timeline; times are seconds since the beginning."""

    def __init__(self, instance: Instance, driver: Driver, *, seed: int = 0) -> None:
        self.random = random.Random(f"{seed}/{instance.name}/{driver.version}")  # noqa: S311
        self.node = make_node(instance, driver, self.random)
        self.log = KernelLog()
        self.jobs: list[RunningJob] = []
        self.now = 0.0
        self.clocks = Clocks()
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._order = count()
        self._pids = count(FIRST_PID, 7)
        idle_memory(self.node)
        self.every(PERIOD, lambda: sample_power(self))
        self.every(PERIOD, lambda: keep_alive(self.node.ports))

    @property
    def wall(self) -> float:
        """Wall clock of this instant."""
        return self.clocks.wall + (self.now - self.clocks.now) / self.clocks.speed

    @property
    def uptime(self) -> float:
        """Seconds since the host was booted, the clock of the kernel log."""
        uptime = self.clocks.uptime + (self.now - self.clocks.now) / self.clocks.speed
        return max(uptime, 0.0)

    @property
    def age(self) -> float:
        """Simulated seconds for which the host has been up."""
        return self.now + BOOTED

    def at(self, time: float, action: Callable[[], object]) -> None:
        """Have something happen; what is past happens with the next step."""
        heapq.heappush(self._queue, (max(time, self.now), next(self._order), action))

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        """Have something happen `seconds` from now."""
        self.at(self.now + seconds, action)

    def every(
        self, seconds: float, action: Callable[[], object], *, until: float | None = None
    ) -> None:
        """Have something happen again and again, first `seconds` from now."""
        begin, number = self.now, count(1)

        def again() -> None:
            if until is not None and self.now >= until:
                return
            action()
            self.at(begin + next(number) * seconds, again)

        self.at(begin + next(number) * seconds, again)

    def new_pid(self) -> int:
        """The number of a new process."""
        return next(self._pids)

    def say(self, text: str, level: int = INFO) -> None:
        """Print a kernel line now."""
        self.log.add(text, level, self.uptime)

    def advance(self, seconds: float) -> None:
        """Go on by `seconds`."""
        self.advance_to(self.now + seconds)

    def advance_to(self, time: float) -> None:
        """Go on to `time`: everything until then happens, in order."""
        while self._queue and self._queue[0][0] <= time:
            due, _, action = heapq.heappop(self._queue)
            self.now = max(due, self.now)
            action()
            refresh(self.node)
        self.now = max(time, self.now)
        self.settle()

    def settle(self) -> None:
        """Count what all cores have done until now.

        Whoever changes a core's load or clears a counter settles first; nobody else needs to.
        """
        for device in self.node.devices:
            for core in device.cores:
                if core.load is not None:
                    work(core, self.now)
