"""A node in a storm of findings, for the store alone: its judge is a real engine's memory and more.

The engine looks at a simulated trn2.48xlarge, so that there are as many counters and instances as
on a real one; the findings of the storm come and go beside it.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from neuron_observer.checks.judging import judge_by, load_rules
from neuron_observer.clock import ManualClock
from neuron_observer.model import (
    Action,
    Confidence,
    Driver,
    Entity,
    Event,
    Evidence,
    Finding,
    Frame,
    Health,
    Place,
    Severity,
    Snapshot,
    State,
    Verdict,
)
from neuron_observer.observer import HostReader, Options
from neuron_observer.rules.lifecycle import Life
from neuron_observer.rules.memory import Kept, Mark, Memory
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.listing import Listing, ListingFs, Pass

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Scalar
    from neuron_observer.sources.hostfs import HostFs

FRAME = 0.25  # seconds
LIVES = 120.0  # seconds that a finding stands
_GOOD = Health(Verdict.DEGRADED, "a storm")


def real_memory(instance: str = "trn2.48xlarge") -> Callable[[], Memory]:
    """The memory of an engine that has looked at a simulated node twice."""
    clock = ManualClock()
    host = simulate(load("healthy", instance=instance), clock)
    reader = HostReader(host, clock, Options(thorough=False, jobs=False, machine=False))
    judge = judge_by(load_rules())
    for _ in range(2):
        clock.advance(10.0)
        judge(reader.poll())
    reader.close()
    return judge.memory


def empty_host() -> HostFs:
    """A host that tells nothing of itself."""
    return ListingFs(Listing({}, [Pass(nodes={})]), "made up")


class Storm:
    """Findings that begin at a rate, stand for a while and are resolved; the judge of them."""

    def __init__(
        self,
        clock: ManualClock,
        beside: Callable[[], Memory],
        a_minute: float,
        frame: float = FRAME,
    ) -> None:
        self.clock, self.beside, self._frame = clock, beside, frame
        self.keys = {index: f"{index:016x}" for index in range(16)}
        self.standing: dict[Mark, Finding] = {}
        self._every = 60.0 / a_minute
        self._next = clock.monotonic()
        self._numbers = count()

    def frame(self) -> Frame:
        """The next frame."""
        self.clock.advance(self._frame)
        now = self.clock.wall()
        events = []
        while self._next <= self.clock.monotonic():
            self._next += self._every
            events.append(self._begin(now))
        over = [mark for mark, one in self.standing.items() if now - (one.first_seen or 0) > LIVES]
        resolved = [self.standing.pop(mark)._replace(state=State.RESOLVED) for mark in over]
        standing = [one._replace(last_seen=now) for one in self.standing.values()]
        self.standing = dict(zip(self.standing, standing, strict=True))
        snapshot = Snapshot(
            now,
            self.clock.monotonic(),
            "/",
            "trn2.48xlarge",
            Driver("2.30.2.0", "live"),
            (),
            (),
            events=tuple(events),
        )
        return Frame(snapshot, (*standing, *resolved), _GOOD)

    def _begin(self, now: float) -> Event:
        number = next(self._numbers)
        device, core, rule = number % 16, number // 16 % 8, f"rule-{number // 128 % 40}"
        serial = self.keys[device]
        sight = Evidence("counter", "hardware", f"neuron{device}/total", number, number - 1, now)
        finding = Finding(
            rule,
            Entity("core", device=device, core=core, serial=serial),
            Severity.WARNING,
            Confidence.CONFIRMED,
            Action.WATCH,
            f"core {core} of device {device}: an error of the storm, number {number}",
            evidence=(sight,),
            first_seen=now,
            last_seen=now,
        )
        self.standing[Mark(rule, serial, Place(None, core))] = finding
        line = f"NEURON_HW_ERR=storm device {device} core {core} number {number}"
        fields: dict[str, Scalar] = {"finding": rule, "sequence": number}
        return Event("hw-err", Place(device, core), now, line, fields)

    def memory(self) -> Memory:
        """What a later run must know."""
        memory = self.beside()
        found = {
            mark: Kept(Life(one.state, 0.0, one.first_seen or 0.0, one.last_seen or 0.0), told=one)
            for mark, one in self.standing.items()
        }
        return memory._replace(findings={**memory.findings, **found}, keys=self.keys)

    # Nobody says anything in a storm; what the port names and finds nothing for is told so.

    def acknowledge(self, *_: object) -> int:
        """No finding of that name stands."""
        return 0

    def suppress(self, *_: object) -> bool:
        """There is no such rule."""
        return False

    def unsuppress(self, *_: object) -> bool:
        """Nothing is suppressed."""
        return False

    def set_healthy(self, *_: object) -> bool:
        """There is no such device."""
        return False
