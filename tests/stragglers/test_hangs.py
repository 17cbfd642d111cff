"""The state machine of progress: stalls, and what only looks like one (E51, E46)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.stragglers.hangs import Hang, Phase, advance
from neuron_observer.stragglers.stalls import HangKind, Progress

if TYPE_CHECKING:
    from collections.abc import Iterable

RANKS = 128
LOOK = 5.0


def look(at: float, done: float, ranks: int = RANKS) -> Progress:
    """What a passive observer sees: the same count on every rank."""
    return Progress(at, np.full(ranks, done))


def follow(samples: Iterable[Progress], state: Hang | None = None) -> Hang:
    """The state after these samples."""
    state = state or Hang()
    for sample in samples:
        state = advance(state, sample)
    return state


def trained(seconds: float = 4.0, steps: int = 200) -> tuple[Hang, float]:
    """A job that did steps of so many seconds, and the time after the last."""
    end = seconds * steps
    times = np.arange(0.0, end, LOOK)
    return follow(look(at, at // seconds) for at in times), float(times[-1])


def still(state: Hang, since: float, seconds: float, **seen: object) -> Hang:
    """Nothing moves for so long."""
    done = state.done
    assert done is not None
    times = np.arange(since + LOOK, since + seconds + LOOK, LOOK)
    return follow(
        (
            replace(Progress(float(at), done), **seen)  # type: ignore[arg-type]
            for at in times
        ),
        state,
    )


def test_a_hang_without_any_error_line_is_found_from_the_job_s_own_step_time() -> None:
    """E51: 128 processes, 200 steps of 4 s, then nothing: 16 minutes are not needed."""
    state, end = trained()
    assert state.phase is Phase.TRAINING
    assert state.limit() == 60.0
    assert still(state, end, 50.0).phase is Phase.TRAINING
    stalled = still(state, end, 75.0)
    assert stalled.phase is Phase.STALLED
    assert stalled.stall is not None
    assert stalled.stall.usual == pytest.approx(4.0, abs=1.0)
    assert stalled.stall.rows == ()
    assert stalled.stall.kind is HangKind.UNKNOWN


@pytest.mark.parametrize(("seconds", "limit"), [(1.0, 60.0), (20.0, 200.0), (120.0, 600.0)])
def test_the_limit_follows_the_step_period(seconds: float, limit: float) -> None:
    """Ten times the p99 period, between one minute and ten."""
    state, _ = trained(seconds, steps=60)
    assert state.limit() == pytest.approx(limit, rel=0.3)


def test_compilation_at_the_start_is_no_stall() -> None:
    """E51: forty minutes of compiling before the first step."""
    compiling = (replace(look(at, 0.0), loading=True) for at in np.arange(0.0, 2400.0, LOOK))
    state = follow(compiling)
    assert state.phase is Phase.COMPILE
    waiting = follow((look(at, 0.0) for at in np.arange(2400.0, 4000.0, LOOK)), state)
    assert waiting.stall is None


@pytest.mark.parametrize("seen", [{"checkpoint": True}, {"loading": True}])
def test_planned_pauses_are_no_stall(seen: dict[str, bool]) -> None:
    """E51: a checkpoint or a recompilation of half an hour, then the clock starts anew."""
    state, end = trained()
    paused = still(state, end, 1800.0, **seen)
    assert paused.phase is Phase.PAUSE
    assert still(paused, end + 1800.0, 50.0).stall is None
    assert still(paused, end + 1800.0, 80.0).stall is not None


def test_an_evaluation_enters_collectives_and_is_no_stall() -> None:
    """No training step for five minutes, but collectives go on."""
    state, end = trained()
    assert state.done is not None
    entered = (
        replace(Progress(at, state.done), entered=np.full(RANKS, at))
        for at in np.arange(end + LOOK, end + 300.0, LOOK)
    )
    assert follow(entered, state).stall is None


def test_counters_that_do_not_live_say_nothing() -> None:
    """Before driver 2.30.2 sysfs counts only when a process ends: never a stall by them."""
    samples = (replace(look(at, 0.0), live=False) for at in np.arange(0.0, 4000.0, LOOK))
    state = follow(samples)
    assert state.phase is Phase.UNKNOWN
    assert state.stall is None
    assert "let" in state.why


def test_no_answer_is_not_no_progress() -> None:
    """The monitor is silent for ten minutes: nobody knows."""
    state, end = trained()
    silent = np.full(RANKS, np.nan)
    later = follow((Progress(at, silent) for at in np.arange(end, end + 600.0, LOOK)), state)
    assert later.stall is None
    assert advance(later, look(end + 600.0, 201.0)).stall is None


def test_one_late_sample_is_not_enough() -> None:
    """After a gap in the samples one look without progress proves nothing."""
    state, end = trained()
    assert state.done is not None
    assert advance(state, Progress(end + 500.0, state.done)).stall is None


def test_a_counter_that_fell_is_a_restart() -> None:
    """Counts begin anew: no negative progress, no stall, and then it goes on."""
    state, end = trained()
    state = advance(state, look(end + LOOK, 0.0))
    assert state.stall is None
    state = advance(state, look(end + 2 * LOOK, 1.0))
    assert state.phase is Phase.TRAINING


def test_a_stall_that_ends() -> None:
    """The job goes on: training again, and the gap is no step period."""
    state, end = trained()
    stalled = still(state, end, 120.0)
    assert stalled.phase is Phase.STALLED
    going = follow((look(end + 120.0 + at, 200.0 + at) for at in (5.0, 10.0, 15.0)), stalled)
    assert going.phase is Phase.TRAINING
    assert going.stall is None
    assert max(going.periods) < 60.0


def test_a_process_that_waits_for_a_held_core_is_no_stall_and_blames_no_device() -> None:
    """E46: the new pod never gets its core and never does a step: that is not a device's fault."""
    waiting = (
        replace(
            look(at, 0.0, 2), device_busy=np.array([True, False]), blocked=np.array([False, True])
        )
        for at in np.arange(0.0, 3600.0, LOOK)
    )
    state = follow(waiting)
    assert state.phase is Phase.INIT
    assert state.stall is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0.1, 100.0),
            st.lists(st.sampled_from([float("nan"), 0.0, 5.0, 6.0, 1e9]), min_size=3, max_size=3),
            st.booleans(),
            st.booleans(),
        ),
        max_size=60,
    )
)
def test_any_samples_keep_the_machine_sound(
    samples: list[tuple[float, list[float], bool, bool]],
) -> None:
    """Whatever is fed: a stall only in STALLED, and only after the least limit without progress."""
    state, at = Hang(), 0.0
    for passed, done, loading, live in samples:
        at += passed
        state = advance(state, Progress(at, np.array(done), live=live, loading=loading))
        assert (state.stall is not None) == (state.phase is Phase.STALLED)
        if state.stall is not None:
            assert at - state.stall.since >= 60.0
