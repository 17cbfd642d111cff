"""The name of layouts: of what they are, not of the objects that they are told by."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.daemon.layouts import ID, Layouts, layout
from neuron_observer.derive import make_batch
from neuron_observer.model import Layout, Place

PLACES = st.builds(Place, st.none() | st.integers(0, 3), st.none() | st.integers(0, 1), st.text())
ROWS = st.dictionaries(st.sampled_from(["a", "b"]), st.sets(PLACES, min_size=1, max_size=3))


def made(rows: dict[str, set[Place]]) -> Layout:
    """A layout of these rows, as a new object."""
    return make_batch(
        "x", {m: [(p, 1) for p in sorted(s, key=str)] for m, s in rows.items()}, 0
    ).layout


@settings(max_examples=40)
@given(st.lists(ROWS, max_size=3), st.lists(ROWS, max_size=3))
def test_equal_for_equal_layouts(
    some: list[dict[str, set[Place]]], more: list[dict[str, set[Place]]]
) -> None:
    """Whatever was named before; other layouts, or another order of them, have another name."""
    known = Layouts()
    first = known.id(list(map(made, some)))
    assert re.fullmatch(ID, first)
    other = known.id(list(map(made, more)))
    assert known.id(list(map(made, some))) == Layouts().id(list(map(made, some))) == first
    told = [[layout(made(rows)) for rows in of] for of in (some, more)]
    assert (first == other) == (
        [list(one.items()) for one in told[0]] == [list(one.items()) for one in told[1]]
    )
