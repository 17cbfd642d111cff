"""The clock that tests move by hand keeps the promises of the machine's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock, SystemClock

SECONDS = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(st.sampled_from(["wait", "step"]), SECONDS), max_size=20))
def test_the_monotonic_reading_never_goes_back(steps: list[tuple[str, float]]) -> None:
    """Whatever is waited and however the wall clock is set, monotonic time only grows."""
    clock = ManualClock()
    for kind, seconds in steps:
        before = clock.monotonic()
        if kind == "wait":
            clock.wait(seconds)
        else:
            clock.step_wall(seconds)
        assert clock.monotonic() >= before


def test_waiting_moves_both_readings() -> None:
    """Who waits finds the time passed on both."""
    clock = ManualClock(wall=100.0, monotonic=5.0)
    clock.wait(2.5)
    assert (clock.wall(), clock.monotonic()) == (102.5, 7.5)


def test_waiting_for_a_negative_time_does_nothing() -> None:
    """A deadline that is over is not waited for."""
    clock = ManualClock(wall=100.0, monotonic=5.0)
    clock.wait(-1.0)
    assert (clock.wall(), clock.monotonic()) == (100.0, 5.0)


def test_setting_the_wall_clock_leaves_monotonic_time() -> None:
    """NTP may move the wall clock either way."""
    clock = ManualClock(wall=100.0, monotonic=5.0)
    clock.step_wall(-50.0)
    assert (clock.wall(), clock.monotonic()) == (50.0, 5.0)


def test_time_cannot_be_moved_back() -> None:
    """A test that tries to go back in monotonic time is wrong."""
    with pytest.raises(ValueError, match="does not go back"):
        ManualClock().advance(-0.1)


def test_the_machines_clock_tells_wall_and_monotonic_time() -> None:
    """Wall time is of this century; monotonic time does not fall; no wait for what is over."""
    clock = SystemClock()
    first = clock.monotonic()
    clock.wait(0.0)
    clock.wait(-5.0)
    assert clock.monotonic() >= first
    assert 946_684_800 < clock.wall() < 4_102_444_800
