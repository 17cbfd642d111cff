"""Chunks into lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.sources.splitter import LineSplitter

chunks = st.lists(st.binary(max_size=12) | st.sampled_from([b"\n", b"\n\n", b"ab\ncd\n"]))


@given(chunks, st.integers(1, 20))
def test_lines_do_not_depend_on_the_chunks(pieces: list[bytes], bound: int) -> None:
    """Every cut of the stream gives the lines of the whole, shortened to the bound."""
    splitter = LineSplitter(bound)
    found = [line for piece in pieces for line in splitter.feed(piece)]
    *whole, rest = b"".join(pieces).split(b"\n")
    assert found == [line[:bound] for line in whole]
    assert splitter.cut == sum(len(line) > bound for line in whole)
    assert splitter.unfinished == bool(rest)
    assert splitter.flush() == [rest[:bound]]


@given(chunks, st.integers(1, 20))
def test_refused_lines_leave_the_others(pieces: list[bytes], bound: int) -> None:
    """Where a piece is of no use, a line that is too long is left out and counted."""
    splitter = LineSplitter(bound, keep_cut=False)
    found = [line for piece in pieces for line in splitter.feed(piece)]
    *whole, _ = b"".join(pieces).split(b"\n")
    assert found == [line for line in whole if len(line) <= bound]
    assert splitter.cut == sum(len(line) > bound for line in whole)


def test_fifty_megabytes_without_a_newline_are_not_held() -> None:
    """Memory stays at the bound, and the line after is whole."""
    splitter = LineSplitter(1000, keep_cut=False)
    for _ in range(800):
        assert splitter.feed(b"x" * 65_536) == []
        assert len(splitter._rest) <= 1000
    assert splitter.feed(b"\nnext\n") == [b"next"]
    assert splitter.cut == 1


def test_a_line_given_up_is_counted() -> None:
    """The beginning of a line whose writer died is no line."""
    splitter = LineSplitter()
    splitter.feed(b"half")
    splitter.discard()
    assert (splitter.cut, splitter.unfinished) == (1, False)
    assert splitter.feed(b"whole\n") == [b"whole"]
