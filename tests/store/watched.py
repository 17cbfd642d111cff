"""A daemon's reader, loop, rules and store on a simulated host, killed and started again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.checks.judging import judge_by
from neuron_observer.clock import ManualClock
from neuron_observer.loop import Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.workers import DirectWorkers
from neuron_observer.store import open_store
from tests.daemon.daemons import WALL, rules

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.model import Frame
    from neuron_observer.store import Store

TICK = 0.25  # seconds


class Watched:
    """A node of one device that plays a scenario."""

    def __init__(
        self, state: Path, scenario: str, begin: float, instance: str = "trn2.3xlarge"
    ) -> None:
        self.state = state
        self.clock = ManualClock(WALL)
        self.host = simulate(load(scenario, instance=instance), self.clock, begin=begin)
        self.start()

    def start(self) -> None:
        """Begin to watch, with what was kept; all frames from now on are remembered."""
        self.store: Store = open_store(self.state, self.host, self.clock)
        self.judge = judge_by(rules(), memory=self.store.load())
        self.reader = HostReader(
            self.host,
            self.clock,
            Options(kernel_log=True, kernel_cursor=self.store.cursor, wait_for_firmware=False),
            workers=lambda host, clock, _: DirectWorkers(host, clock),
        )
        self.loop = Loop(self.reader, judge=self.judge, explain=self.judge.explain)
        self.keeper = self.store.keep(
            self.judge, tell=self.loop.tell, cursor=lambda: self.reader.kernel_cursor
        )
        self.frames: list[Frame] = []
        self.loop.subscribe(self.keeper.note)
        self.loop.subscribe(self.frames.append)

    def go(self, seconds: float) -> Frame:
        """Watch for so long; the last frame. What is due is written at the end."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            self.clock.advance(TICK)
            self.loop.tick()
        self.keeper._writer.flush()
        return self.frames[-1]

    def kill(self) -> None:
        """End without a last word."""
        self.keeper._writer.close()
        self.reader.close()

    def again(self, after: float = 5.0) -> None:
        """Killed, and started again after some seconds."""
        self.kill()
        self.clock.advance(after)
        self.start()
