"""Lanes on their grid: nothing drifts, nothing piles up, nothing is lost unseen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.loop.schedule import Schedule

PERIODS = {"fast": 0.25, "normal": 1.0, "slow": 10.0}


def test_all_lanes_are_due_at_first() -> None:
    """And at once: nobody waits for the first frame."""
    schedule = Schedule(PERIODS)
    assert schedule.until_next(500.0) == 0.0
    assert schedule.due(500.0) == {"fast": 0, "normal": 0, "slow": 0}
    assert schedule.due(500.0) == {}
    assert schedule.until_next(500.1) == 0.25 - (500.1 - 500.0)


def test_lanes_meet_on_one_grid() -> None:
    """Where a slower lane is due the faster ones are too: one tick reads them all."""
    schedule = Schedule(PERIODS)
    seen = [schedule.due(1000.0 + 0.25 * number) for number in range(41)]
    assert all("fast" in due for due in seen)
    assert ["normal" in due for due in seen] == [number % 4 == 0 for number in range(41)]
    assert [number for number, due in enumerate(seen) if "slow" in due] == [0, 40]


def test_a_lane_with_another_period_is_due_within_it() -> None:
    """On the grid that began with the first question; a lane that follows goes on to."""
    schedule = Schedule(PERIODS)
    schedule.follow({"fast": "normal"})
    schedule.due(500.0)
    schedule.change(PERIODS | {"normal": 3.0, "slow": 7.0}, 501.0)
    assert schedule.periods == {"fast": 3.0, "normal": 3.0, "slow": 7.0}
    assert schedule.until_next(501.0) == 2.0
    assert schedule.due(503.0) == {"normal": 0, "fast": 0}
    assert "slow" in schedule.due(507.0)
    assert schedule.skipped == dict.fromkeys(PERIODS, 0)


@given(st.lists(st.floats(0.0, 0.2), min_size=1, max_size=200))
def test_late_ticks_do_not_drift(delays: list[float]) -> None:
    """However late each tick is, the grid stays; a period is never skipped by small delays."""
    schedule, begin = Schedule({"fast": 0.25}), 1000.0
    schedule.due(begin)
    now = begin
    for number, delay in enumerate(delays, 1):
        now += schedule.until_next(now) + delay
        assert schedule.due(now) == {"fast": 0}
        assert -1e-6 < now - (begin + 0.25 * number) < 0.2001
    assert schedule.skipped == {"fast": 0}


@given(st.lists(st.floats(0.0, 100.0), max_size=20))
def test_every_point_of_the_grid_is_read_or_counted(steps: list[float]) -> None:
    """A late tick is one read; the points that passed before it are told."""
    schedule, now = Schedule(PERIODS), 1000.0
    reads = dict.fromkeys(PERIODS, 0)
    for step in [0.0, *steps]:
        now += step
        for lane, missed in schedule.due(now).items():
            reads[lane] += 1
            assert missed >= 0
    for lane, period in PERIODS.items():
        passed = int((now - 1000.0) / period + 1e-6) + 1
        assert reads[lane] + schedule.skipped[lane] == passed
        assert reads[lane] <= len(steps) + 1


@given(
    st.lists(
        st.tuples(st.floats(0.0, 20.0), st.sampled_from(sorted(PERIODS)), st.floats(0.05, 60.0)),
        max_size=30,
    )
)
def test_other_periods_at_any_time(changes: list[tuple[float, str, float]]) -> None:
    """A lane is next due within its new period; nothing counts as skipped that was not due."""
    schedule, now = Schedule(PERIODS), 1000.0
    schedule.due(now)
    for wait, lane, period in changes:
        until = now + wait
        while (rest := schedule.until_next(now)) <= until - now:
            now += rest
            assert schedule.late(now) < 1e-3
            assert set(schedule.due(now).values()) <= {0}
        now = until
        schedule.change({lane: period, "unknown": 1.0}, now)
        assert schedule.periods[lane] == schedule.configured[lane] == period
        assert schedule.late(now) == 0.0
        assert schedule.until_next(now) <= min(schedule.periods.values()) + 1e-6
    assert schedule.skipped == dict.fromkeys(PERIODS, 0)
    assert "unknown" not in schedule.periods


def test_how_late_it_is() -> None:
    """Since the first point of the grid that was not taken."""
    schedule = Schedule(PERIODS)
    assert schedule.late(7.0) == 0.0
    schedule.due(1000.0)
    assert schedule.late(1000.2) == 0.0
    assert round(schedule.late(1000.75), 6) == 0.5


def test_periods_set_before_the_first_read() -> None:
    """The grid begins with the first question, at the periods of then."""
    schedule = Schedule(PERIODS)
    schedule.change({"slow": 2.0}, 900.0)
    assert schedule.due(1000.0) == {"fast": 0, "normal": 0, "slow": 0}
    assert "slow" in schedule.due(1002.0)
