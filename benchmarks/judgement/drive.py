"""A simulated node with the real reader, loop and rules, under a clock that is moved by hand.

Nothing takes time but waiting: from the fault to the frame that holds its finding passes what the
schedule makes pass, not what this machine needs for a read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.clock import ManualClock
from neuron_observer.loop import PERIODS, Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.rules.engine import Engine
from neuron_observer.sim.play import simulate
from neuron_observer.sources.workers import read_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.model import Frame
    from neuron_observer.rules.memory import Memory
    from neuron_observer.rules.rule import Rule
    from neuron_observer.sim.fs import SimulatedFs
    from neuron_observer.sim.scenario import Scenario
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.workers import Answer, Request


class HostClock:
    """The clock as the host sees it: a read that hangs stops its reader, not the world."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.waited = 0.0

    def wall(self) -> float:
        """Wall clock."""
        return self._clock.wall()

    def monotonic(self) -> float:
        """Seconds."""
        return self._clock.monotonic()

    def wait(self, seconds: float) -> None:
        """Note how long the reader would have waited."""
        self.waited += seconds


class _ReadersClock(HostClock):
    """The clock of one who reads: what was waited has passed."""

    def __init__(self, host: HostClock) -> None:
        super().__init__(host)
        self._host = host

    def monotonic(self) -> float:
        """Seconds, with those of the reads so far."""
        return self._host.monotonic() + self._host.waited


class HandWorkers:
    """A worker a device, as threads are, under a clock that is moved by hand."""

    def __init__(self, host: HostFs, clock: HostClock) -> None:
        self._host, self._clock = host, clock
        self._owed: dict[int, tuple[float, Answer]] = {}

    def submit(self, device: int, request: Request) -> bool:
        """Read now; the answer is there when the reads are through."""
        if device in self._owed:
            return False
        self._clock.waited = 0.0
        answer = read_files(self._host, _ReadersClock(self._clock), request)
        self._owed[device] = (self._clock.monotonic() + self._clock.waited, answer)
        return True

    def gather(
        self,
        devices: Collection[int],
        seconds: float,  # noqa: ARG002 - nobody waits in a loop
    ) -> dict[int, Answer]:
        """What is through."""
        now = self._clock.monotonic()
        there = [d for d in devices if d in self._owed and self._owed[d][0] <= now]
        return {device: self._owed.pop(device)[1] for device in there}

    def close(self) -> None:
        """Nothing runs."""


class Drive:
    """One node from the first read on; times are seconds of its scenario."""

    def __init__(
        self,
        scenario: Scenario,
        rules: Sequence[Rule],
        *,
        periods: Mapping[str, float] = PERIODS,
    ) -> None:
        self.clock = ManualClock()
        self._host_clock = HostClock(self.clock)
        self.host: SimulatedFs = simulate(scenario, self._host_clock)
        self._began = self.clock.monotonic() - scenario.warm_up
        self._rules, self._periods = rules, periods
        self.engine = Engine(rules)
        self.loop = self._loop()

    def _loop(self) -> Loop:
        options = Options(thorough=False, keep=True, wait_for_firmware=False, kernel_log=True)
        clock = self._host_clock
        reader = HostReader(
            self.host, self.clock, options, lambda host, _clock, _blocking: HandWorkers(host, clock)
        )
        return Loop(reader, schedule=self._periods, judge=self.engine)

    @property
    def now(self) -> float:
        """Seconds since the scenario began."""
        return self.clock.monotonic() - self._began

    def restart(self) -> None:
        """The program ends and starts again; what its store holds is kept."""
        self.loop.close()
        memory: Memory = self.engine.memory()
        self.engine = Engine(self._rules, memory=memory)
        self.loop = self._loop()

    def frames(self, until: float) -> Iterator[tuple[float, Frame]]:
        """Each frame up to a time, and when it was."""
        while self.now <= until:
            frame = self.loop.tick()
            if frame:
                yield self.now, frame
            rest = self.loop.schedule.until_next(self.clock.monotonic())
            self.clock.advance(max(rest, 1e-9))

    def close(self) -> None:
        """Give the reader back."""
        self.loop.close()
