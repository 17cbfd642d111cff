"""A daemon's answers over a simulated host, in this process, at the pace of its test."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from neuron_observer.checks.judging import judge_by, load_rules
from neuron_observer.clock import ManualClock
from neuron_observer.daemon.answers import Answers
from neuron_observer.exporters.message import Request, Response, Stream
from neuron_observer.exporters.routes import answer
from neuron_observer.loop import Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.workers import DirectWorkers
from neuron_observer.store import open_store
from tests.exporters.feeds import OneFrame

if TYPE_CHECKING:
    from neuron_observer.model import Frame
    from neuron_observer.rules.rule import Rule

WALL = 1_788_000_000.0  # a whole minute


@cache
def rules() -> tuple[Rule, ...]:
    """The shipped rules, loaded once a run."""
    return load_rules()


def asked(answers: Answers, target: str, method: str = "GET", **headers: str) -> Response | Stream:
    """What is answered; `_` stands for `-` in names of headers."""
    path, _, query = target.partition("?")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return answer(answers.routes(), Request(method, path, query, named))


def got(answers: Answers, target: str, **headers: str) -> Response:
    """The same where the answer has an end."""
    response = asked(answers, target, **headers)
    assert isinstance(response, Response)
    return response


def document(answers: Answers, target: str) -> dict[str, Any]:
    """The JSON of an answer that succeeds."""
    response = got(answers, target)
    assert response.status == 200, response.body
    found: dict[str, Any] = json.loads(response.body)
    return found


class Still:
    """Answers over a frame that a test sets."""

    def __init__(self, frame: Frame | None = None) -> None:
        self.clock = ManualClock(WALL, monotonic=0.0)
        self.feed = OneFrame()
        self.answers = Answers(self.feed, self.clock)
        if frame:
            self.take(frame)

    def take(self, frame: Frame) -> None:
        """This is the last frame."""
        self.feed.frame = frame
        self.answers.note(frame)


class Simulated:
    """A loop over a simulated host of one device, and the answers over it."""

    def __init__(
        self, scenario: str = "healthy", begin: float = 99.0, instance: str = "trn2.3xlarge"
    ) -> None:
        self.clock = ManualClock(WALL)
        self.host = simulate(load(scenario, instance=instance), self.clock, begin=begin)
        self.reader = HostReader(
            self.host,
            self.clock,
            Options(kernel_log=True),
            workers=lambda host, clock, _: DirectWorkers(host, clock),
        )
        judge = judge_by(rules())
        self.loop = Loop(self.reader, judge=judge, explain=judge.explain)
        keeper = open_store(None, self.host, self.clock).keep(judge, tell=self.loop.tell)
        self.loop.subscribe(keeper.note)
        self.answers = Answers(
            self.loop.feed,
            self.clock,
            submit=keeper.submit,
            period=lambda: self.loop.schedule.periods["normal"],
            topology=lambda: self.reader.topology,
        )
        self.loop.subscribe(self.answers.note)
        self.loop.tick()

    def go(self, seconds: float) -> None:
        """Let the loop run for so long."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            self.clock.advance(0.25)
            self.loop.tick()

    def get(self, target: str) -> dict[str, Any]:
        """A document."""
        return document(self.answers, target)

    def close(self) -> None:
        """Give back what the reader holds."""
        self.loop.close()


@cache
def faulty() -> Simulated:
    """A host with an SRAM error that is confirmed; shared, so nobody lets its time pass."""
    made = Simulated("sram-error")
    made.go(25.0)
    return made
