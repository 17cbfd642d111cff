"""Rows that cover all pairs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.judgement.pairs import covering, pairs_of

rows = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.sampled_from("ab"), st.booleans()),
    min_size=1,
    max_size=60,
)


@given(rows, st.integers(0, 3))
@settings(max_examples=60)
def test_each_pair_that_is_possible_is_there(
    rows: list[tuple[int, int, str, bool]], seed: int
) -> None:
    """And nothing that is not."""
    chosen = covering(rows, seed)
    assert set(chosen) <= set(rows)
    assert set().union(*map(pairs_of, chosen)) == set().union(*map(pairs_of, rows))


def test_far_fewer_than_all() -> None:
    """Ten values against ten need a hundred rows; the other factors come along for nothing."""
    every = [(a, b, c, d) for a in range(10) for b in range(10) for c in range(3) for d in range(2)]
    assert len(covering(every)) <= 115


def test_the_same_seed_chooses_the_same() -> None:
    """A run in CI can be repeated."""
    every = [(a, b, c) for a in range(5) for b in range(4) for c in range(3)]
    assert covering(every, 3) == covering(every, 3) != covering(every, 4)
