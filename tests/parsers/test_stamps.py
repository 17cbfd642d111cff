"""Time stamps at the start of a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.parsers.stamps import match


@pytest.mark.parametrize(
    ("text", "wall", "zoned"),
    [
        ("2026-11-23T22:35:01Z x", 1795473301.0, True),
        ("2026-11-23 22:35:01 x", 1795473301.0, False),
        ("2026-11-23T22:35:01.250-0800 x", 1795502101.25, True),
        ("Nov 23 22:35:01 x", 1795473301.0, False),
        ("[Mon Nov 23 22:35:01 2026] x", 1795473301.0, False),
        ("Feb 30 22:35:01 x", None, False),
    ],
)
def test_stamps_give_an_instant(text: str, wall: float | None, *, zoned: bool) -> None:
    """With the zone that they name, else as UTC and marked so; an impossible day has none."""
    stamp = match(text, year=2026)
    assert stamp is not None
    assert (stamp.wall, stamp.zoned) == (wall, zoned)
    assert text[stamp.length :] == "x"


@pytest.mark.parametrize("text", ["[ND 3] HBM", "[0]", "nd0: x", "12.5 x", "", "[12] x", "Total 1"])
def test_words_are_no_stamps(text: str) -> None:
    """Brackets and numbers of messages are left alone."""
    assert match(text) is None


@given(st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    """A stamp never claims more text than there is."""
    stamp = match(text, year=2024)
    assert stamp is None or 0 < stamp.length <= len(text)
