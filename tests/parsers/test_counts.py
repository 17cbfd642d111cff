"""Many counts parsed at once are what they are one by one."""

from __future__ import annotations

import errno

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.parsers.sysfs import COUNT_MAX, count, counts

NUMBERS = st.integers(0, COUNT_MAX)
ODD = st.binary(max_size=4) | st.sampled_from(
    [
        *(b"", b"\n", b"5", b"\n6\n", b"7\n\n", b" 8\n", b"+9\n", b"-1\n", b"1_0\n", b"busy\n"),
        *(b"%d\n" % (COUNT_MAX + 1), "٣\n".encode()),
    ]
)


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_plain_counts_are_parsed(numbers: list[int]) -> None:
    """Numbers as the driver prints them come back, each in its place."""
    assert counts([b"%d\n" % number for number in numbers]) == numbers


@given(st.lists(NUMBERS.map(lambda number: b"%d\n" % number) | ODD, max_size=6))
def test_never_another_value_than_one_by_one(contents: list[bytes]) -> None:
    """Where `counts` gives anything, `count` gives the same for each content."""
    found = counts(contents)
    assert found is None or found == [count(content) for content in contents]


@given(st.lists(NUMBERS.map(lambda number: b"%d\n" % number), max_size=4), ODD)
def test_whatever_is_no_count_is_left_to_others(plain: list[bytes], odd: bytes) -> None:
    """One content that `count` refuses makes all of them be looked at one by one."""
    if not isinstance(count(odd), int):
        assert counts([*plain, odd]) is None
        assert counts([odd, *plain]) is None


def test_an_error_among_them() -> None:
    """A file that could not be read stands as its error."""
    assert counts([b"1\n", OSError(errno.EIO, "x")]) is None
    assert counts([]) is None
