"""Which signs a terminal gets; bars and charts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.tui.signs import ASCII, UNICODE, Signs, bar, chart, signs_for

SIGNS = st.sampled_from([UNICODE, ASCII])


@pytest.mark.parametrize(
    ("environment", "encoding", "expected"),
    [
        ({"LANG": "en_US.UTF-8"}, "utf-8", UNICODE),
        ({"LANG": "C.UTF-8"}, "utf-8", UNICODE),
        ({}, "utf-8", UNICODE),
        ({"LANG": "C"}, "utf-8", ASCII),
        ({"LANG": "POSIX"}, "utf-8", ASCII),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", ASCII),
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, "utf-8", UNICODE),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, "utf-8", ASCII),
        ({"LC_CTYPE": "C.UTF-8"}, "utf-8", UNICODE),
        ({"LANG": "de_DE"}, "iso8859-1", ASCII),
        ({"LANG": "C"}, "ascii", ASCII),
        ({}, None, ASCII),
        ({}, "no such encoding", ASCII),
    ],
)
def test_the_locale_decides(
    environment: dict[str, str], encoding: str | None, expected: Signs
) -> None:
    """A locale that is said to be C gets ASCII although Python itself would speak UTF-8."""
    assert signs_for(environment, encoding) is expected


@pytest.mark.parametrize("signs", [UNICODE, ASCII])
def test_every_sign_is_one_cell(signs: Signs) -> None:
    """Nothing in a set of signs is wider or narrower than a letter."""
    assert all(len(sign) == 1 for sign in (signs.empty, signs.dash, signs.dot, signs.chosen))
    assert "".join(ASCII).isascii()


@given(st.floats(0, 1), st.integers(0, 60), SIGNS)
def test_a_bar_is_as_wide_as_asked(share: float, width: int, signs: Signs) -> None:
    """Filled and empty part together; it is empty for nothing and for nothing else."""
    filled, rest = bar(share, width, signs)
    assert len(filled) + len(rest) == width
    if width:
        assert bool(filled) == (share > 0)
    assert abs(len(filled) - share * width) <= 1


@given(st.lists(st.none() | st.floats(0, 1), max_size=30), st.integers(1, 5), SIGNS)
def test_a_chart_has_gaps_where_nothing_was_read(
    shares: list[float | None], rows: int, signs: Signs
) -> None:
    """A gap is blank on every row; 0 is not a gap."""
    lines = chart(shares, rows, signs)
    assert len(lines) == rows
    for column, share in enumerate(shares):
        cells = {row[column] for row in lines}
        assert (cells == {" "}) == (share is None)


def test_a_chart_rises_with_its_values() -> None:
    """The whole height is for 1, half of it for one half."""
    assert chart([0.0, 0.5, 1.0], 2, UNICODE) == ["  █", "▁██"]
