"""Pieces of lines: cut, filled up, put side by side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.tui.lines import BLANK, Span, apart, beside, fit, joined, length, line, plain

LINES = st.lists(
    st.builds(Span, st.text("abc —", max_size=6), st.sampled_from(["plain", "dim", "bad"])),
    max_size=5,
).map(tuple)


@given(LINES, st.integers(0, 30))
def test_a_line_fits_exactly(of: tuple[Span, ...], width: int) -> None:
    """As wide as asked for, and what is kept is the beginning."""
    fitted = fit(of, width)
    assert length(fitted) == width
    assert plain(fitted) == plain(of)[:width].ljust(width)


@given(LINES, LINES, st.integers(0, 30))
def test_two_ends_fill_the_width(left: tuple[Span, ...], right: tuple[Span, ...], n: int) -> None:
    """The right end is kept as long as there is room for it."""
    text = plain(apart(left, right, n))
    assert len(text) == n
    if n > length(right):
        assert text.endswith(plain(right))


@given(st.lists(st.tuples(st.lists(LINES, max_size=4), st.integers(0, 9)), max_size=4))
def test_blocks_side_by_side(blocks: list[tuple[list[tuple[Span, ...]], int]]) -> None:
    """Each block keeps its width on every line, also where it has no line."""
    rows = beside(blocks, 5)
    assert len(rows) == 5
    assert {length(row) for row in rows} == {sum(width for _, width in blocks)}


def test_empty_pieces_are_left_out() -> None:
    """Nothing stands between a piece and one that is not there."""
    assert plain(joined([BLANK, line("a"), BLANK, line("b")], Span(" | "))) == "a | b"
