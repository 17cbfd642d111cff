"""What of the frames stands in the log."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.daemon.reporting import FrameLog
from neuron_observer.log import Log
from neuron_observer.model import (
    NODE,
    Action,
    Confidence,
    Entity,
    Event,
    Finding,
    Frame,
    Health,
    Run,
    Severity,
    State,
    Verdict,
)
from tests.exporters.feeds import frame_of

if TYPE_CHECKING:
    from collections.abc import Callable

WELL = Health(Verdict.HEALTHY, "nothing found")
HOT = Finding(
    "hbm-unrepairable",
    Entity("device", device=3),
    Severity.CRITICAL,
    Confidence.CONFIRMED,
    Action.REPLACE_INSTANCE,
    "device 3 has errors",
)


class Said:
    """The lines of a log, as events, and what they are about."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: bytes) -> bool:
        """Take one."""
        self.lines.append(line.decode())
        return True

    def take(self) -> list[str]:
        """The events since the last time."""
        found = [re.findall(r"event=(\w+)", line)[0] for line in self.lines]
        self.lines.clear()
        return found


@pytest.fixture
def said() -> Said:
    """An empty log."""
    return Said()


@pytest.fixture
def note(said: Said) -> Callable[..., None]:
    """Give a frame of runs, events, findings and a verdict to the listener."""
    listener = FrameLog(Log(ManualClock(), said))

    def give(
        *runs: Run,
        events: tuple[Event, ...] = (),
        findings: tuple[Finding, ...] = (),
        health: Health = WELL,
    ) -> None:
        frame = frame_of(health=health)
        listener.note(Frame(frame.snapshot._replace(runs=runs, events=events), findings, health))

    return give


def test_nothing_a_tick(note: Callable[..., None], said: Said) -> None:
    """A day of frames in which nothing happens is one line: the verdict."""
    for _ in range(1000):
        note(Run("sysfs", ok=True, seconds=0.01))
    assert said.take() == ["verdict"]


def test_a_collector_that_fails(note: Callable[..., None], said: Said) -> None:
    """Once, however often it fails; and when it works again, with how often."""
    note()
    said.take()
    for _ in range(100):
        note(Run("efa", ok=False, seconds=0.0, error="OSError: broken"))
    note(Run("efa", ok=True, seconds=0.0))
    note(Run("efa", ok=True, seconds=0.0))
    assert "collector efa failed: OSError: broken" in said.lines[0]
    assert "repeated=99" in said.lines[1]
    assert said.take() == ["collector_failed", "collector_works"]
    note(Run("efa", ok=False, seconds=0.0, error="OSError: broken"))
    assert said.take() == ["collector_failed"]


def test_findings_as_they_begin_and_end(note: Callable[..., None], said: Said) -> None:
    """Not while they last, whatever their state; information is no warning; shadow is silent."""
    note()
    said.take()
    note(findings=(HOT._replace(state=State.PENDING),))
    assert said.take() == []
    note(findings=(HOT,))
    for name in ("level=warning", "finding=hbm-unrepairable", "severity=critical", "device=3"):
        assert name in said.lines[0]
    assert said.take() == ["finding"]
    note(findings=(HOT._replace(state=State.RECOVERING, message="less"),))
    assert said.take() == []
    note()
    assert said.take() == ["finding_over"]
    note(findings=(HOT._replace(shadow=True),))
    assert said.take() == []
    note(findings=(HOT._replace(id="info", severity=Severity.INFO),))
    assert "level=info" in said.lines[0]


def test_events_of_our_own(note: Callable[..., None], said: Said) -> None:
    """A reload and a clock that was set are told; jobs and kernel lines stand elsewhere."""
    note()
    said.take()
    kinds = ("driver_reloaded", "clock_stepped", "job_started", "hbm-scrub-failed")
    note(events=tuple(Event(kind, NODE, 0.0, "m") for kind in kinds))
    assert said.take() == ["driver_reloaded", "clock_stepped"]


def test_the_verdict_when_it_changes(note: Callable[..., None], said: Said) -> None:
    """With its reason; a new reason alone is not told."""
    note()
    note(health=Health(Verdict.UNKNOWN, "stale"))
    note(health=Health(Verdict.UNKNOWN, "staler"))
    note()
    assert [re.findall(r"verdict=(\w+)", line)[0] for line in said.lines] == [
        *("healthy", "unknown", "healthy"),
    ]
