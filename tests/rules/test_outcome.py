from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.model import Missing, Why
from neuron_observer.rules.outcome import (
    FALSE,
    Outcome,
    Sight,
    every,
    false,
    opposite,
    some,
    unless,
)

LOST = Outcome(None, holes=(Missing(Why.FAILED, "x"),))
NEVER = Outcome(None, holes=(Missing(Why.UNSUPPORTED, "x"),), open=True)
OUTCOMES = st.lists(
    st.sampled_from([Outcome(truth=True), false(None), LOST, NEVER]), min_size=1, max_size=5
)


def shown(*, hard: bool, read_at: float) -> Outcome:
    """True, by hardware or by hearsay."""
    sight = Sight("register", "hardware" if hard else "hearsay", "m", "path")
    return Outcome(truth=True, sights=(sight,), hard=hard, read_at=read_at)


@settings(max_examples=60)
@given(OUTCOMES)
def test_every_is_kleene_and(parts: list[Outcome]) -> None:
    """False if one is false, unknown if one is unknown, else true."""
    truths = [part.truth for part in parts]
    expected = False if False in truths else None if None in truths else True
    assert every(parts).truth is expected


@settings(max_examples=60)
@given(OUTCOMES)
def test_some_is_kleene_or_over_what_can_be_had(parts: list[Outcome]) -> None:
    """What will never come is left out as long as something else is there."""
    truths = [part.truth for part in parts if not part.open] or [None]
    expected = True if True in truths else None if None in truths else False
    assert some(parts).truth is expected


def test_what_is_left_out_is_told() -> None:
    """A false `any` tells which readings it had to do without."""
    outcome = some([false(None), NEVER])
    assert (outcome.truth, outcome.holes) == (False, NEVER.holes)


def test_every_is_hard_only_if_all_that_is_shown_is() -> None:
    """One hearsay part makes the whole hearsay; the oldest read counts."""
    both = every([shown(hard=True, read_at=5.0), shown(hard=True, read_at=3.0)])
    assert (both.hard, both.read_at) == (True, 3.0)
    assert not every([shown(hard=True, read_at=5.0), shown(hard=False, read_at=3.0)]).hard


def test_some_shows_hardware_first() -> None:
    """One hard part is enough, and it leads."""
    either = some([shown(hard=False, read_at=9.0), shown(hard=True, read_at=3.0)])
    assert (either.hard, either.read_at, either.sights[0].trust) == (True, 3.0, "hardware")


def test_the_opposite_shows_nothing() -> None:
    """Not is no evidence, and of what is unknown still unknown."""
    assert opposite(shown(hard=True, read_at=1.0)) == Outcome(truth=False)
    assert opposite(LOST) is LOST


def test_the_earliest_look_counts() -> None:
    """A combination is looked at again when its first part may change."""
    assert every([false(7.0), false(5.0)]).again == 5.0
    assert some([false(7.0), false(None)]).again == 7.0


def test_unless_is_true_where_nothing_can_be_known() -> None:
    """Unknown for ever does not block; unknown for now does."""
    assert unless(Outcome(None, open=True)).truth is True
    assert unless(Outcome(None)).truth is None
    assert unless(FALSE).truth is True
    assert unless(Outcome(truth=True)).truth is False


def test_a_condition_is_deaf_if_only_a_line_could_make_it_true() -> None:
    """The counter cannot be had, and no line came; with a counter that reads it is not."""
    lost, line = Outcome(None, open=True), Outcome(truth=False, deaf=True)
    assert some((lost, line)).deaf
    assert not some((lost, line, FALSE)).deaf
