from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st

from neuron_observer.model import State
from neuron_observer.rules.lifecycle import Life, Tempo, due, step

if TYPE_CHECKING:
    from collections.abc import Sequence

TEMPO = Tempo(hold=10.0, clear=20.0)
TRUTHS = st.lists(st.sampled_from([True, False, None]), max_size=60)


def live(truths: Sequence[bool | None], tempo: Tempo) -> list[Life | None]:
    """The life after each second."""
    lives: list[Life | None] = []
    life: Life | None = None
    for second, truth in enumerate(truths):
        life = step(life, truth, float(second), 1000.0 + second, tempo)
        lives.append(life)
    return lives


def states(truths: Sequence[bool | None], tempo: Tempo = TEMPO) -> list[State | None]:
    """The state after each second."""
    return [life.state if life else None for life in live(truths, tempo)]


def test_it_fires_once_it_was_true_for_the_hold_time() -> None:
    """Pending for 10 s, then firing."""
    found = states([True] * 12)
    assert found[9] is State.PENDING
    assert found[10] is State.FIRING


def test_it_is_resolved_once_it_was_false_for_the_clear_time() -> None:
    """Recovering for 20 s, resolved for one look, then forgotten."""
    found = states([True] * 11 + [False] * 23)
    assert found[11] is State.RECOVERING
    assert found[30] is State.RECOVERING
    assert found[31:] == [State.RESOLVED, None, None]


def test_flapping_is_one_finding() -> None:
    """True again while recovering: the same finding, first seen when it was."""
    lives = live([True] * 11 + [False] * 5 + [True], TEMPO)
    last = lives[-1]
    assert last is not None
    assert (last.state, last.first_seen, last.last_seen) == (State.FIRING, 1000.0, 1016.0)


def test_a_latched_finding_stays() -> None:
    """False for ever does not end it."""
    found = states([True] + [False] * 50, Tempo(latched=True))
    assert set(found) == {State.FIRING}


def test_unknown_lets_nothing_run_out() -> None:
    """A pending finding begins to wait anew, a recovering one too, a firing one stays."""
    assert states([True] * 9 + [None] + [True] * 5)[-1] is State.PENDING
    assert states([True] * 11 + [None] * 50)[-1] is State.FIRING
    assert states([True] * 11 + [False] * 19 + [None] + [False] * 19)[-1] is State.RECOVERING


def test_due_tells_when_time_alone_changes_the_state() -> None:
    """The end of the hold and of the clear time; nothing while it fires."""
    assert due(Life(State.PENDING, 5.0, 0.0, 0.0), TEMPO) == 15.0
    assert due(Life(State.RECOVERING, 5.0, 0.0, 0.0), TEMPO) == 25.0
    assert due(Life(State.FIRING, 5.0, 0.0, 0.0), TEMPO) is None
    assert due(None, TEMPO) is None


@settings(max_examples=60)
@example([True, None, *[True] * 10])
@given(TRUTHS)
def test_nothing_fires_without_a_whole_hold_of_truth(truths: list[bool | None]) -> None:
    """A new finding fires only after `hold` seconds of nothing but true."""
    found = states(truths)
    for second, state in enumerate(found):
        began = second and found[second - 1] in (None, State.PENDING, State.RESOLVED)
        if state is State.FIRING and began:
            assert truths[second - 10 : second + 1] == [True] * 11


@settings(max_examples=60)
@example([True, False, None, False, False, False, False, False])
@given(TRUTHS)
def test_nothing_is_resolved_without_a_whole_clear_of_falsehood(
    truths: list[bool | None],
) -> None:
    """A finding is resolved only after `clear` seconds of nothing but false."""
    for second, state in enumerate(states(truths, Tempo(clear=5.0))):
        if state is State.RESOLVED:
            assert truths[second - 5 : second + 1] == [False] * 6
