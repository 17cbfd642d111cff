"""What a loop says of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.clock import ManualClock
from neuron_observer.history import History
from neuron_observer.loop import PERIODS, Loop
from neuron_observer.loop.own import OwnFigures
from neuron_observer.loop.schedule import Schedule
from neuron_observer.model import NODE, Missing, Value
from neuron_observer.observer import HostReader, Options
from neuron_observer.readings import reading
from tests.hosts import host_of

if TYPE_CHECKING:
    from neuron_observer.model import Frame

OPTIONS = Options(keep=True, wait_for_firmware=False, machine=False)


def told(frame: Frame | None, name: str) -> object:
    """A figure on a frame."""
    assert frame
    found = reading(frame.snapshot.batches, f"observer.{name}", NODE)
    assert isinstance(found, Value), found
    return found.value


def test_frames_their_time_and_their_lateness(clock: ManualClock) -> None:
    """Told with the slow lane, of all frames since the last time."""
    loop = Loop(HostReader(host_of({}), clock, OPTIONS))
    loop.subscribe(lambda _: clock.advance(0.125))  # each frame takes so long
    first = loop.tick()
    assert told(first, "loop.frames") == 0
    clock.advance(1.0)  # 0.875 after the next point
    second = loop.tick()
    assert told(second, "loop.frames") == 0
    clock.advance(9.0)
    third = loop.tick()
    assert told(third, "loop.frames") == 2
    assert told(third, "loop.seconds") == 0.25
    assert told(third, "loop.lateness") == 0.875
    assert told(third, "lane.fast.skipped") == 3 + 36
    assert [told(third, f"lane.{lane}.period") for lane in PERIODS] == list(PERIODS.values())
    clock.advance(10.0)
    assert told(loop.tick(), "loop.lateness") == 9.0


def test_a_lane_that_is_not_read() -> None:
    """It has no period: missing, not 0."""
    own = OwnFigures(Schedule({"fast": 0.25}), History())
    batch = own.batch(ManualClock(), due=True)
    cell = batch.cells[batch.layout.rows["observer.lane.jobs.period", NODE]]
    assert isinstance(cell, Missing)


def test_what_changes_is_told_at_once() -> None:
    """Profile, step and periods do not wait for the slow lane; else the batch is the last one."""
    schedule, clock = Schedule(PERIODS), ManualClock()
    own = OwnFigures(schedule, History())
    before = own.batch(clock, due=True)
    own.note(0.0, 0.5)
    assert own.batch(clock, due=False) is before
    own.profile = "quiet"
    quiet = own.batch(clock, due=False)
    assert quiet is not before
    schedule.change({"normal": 2.0}, clock.monotonic())
    assert own.batch(clock, due=False) is not quiet
