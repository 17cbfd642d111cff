"""Items of a sequence by their numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.picking import picker


@given(st.data())
def test_picks_what_is_asked_for(data: st.DataObject) -> None:
    """None, one or many of them, in that order."""
    items = data.draw(st.lists(st.integers(), max_size=8))
    numbers = data.draw(st.lists(st.integers(0, len(items) - 1), max_size=6)) if items else []
    assert picker(numbers)(items) == tuple(items[number] for number in numbers)
