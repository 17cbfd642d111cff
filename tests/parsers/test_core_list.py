"""Which cores a process was given: the documented forms, and what is none of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.parsers.core_list import core_count, core_size, visible_cores


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        ("0", (0,)),
        ("1-3", (1, 2, 3)),
        ("5-5", (5,)),
        ("0,1", (0, 1)),
        ("0-1, 4", (0, 1, 4)),
        ("3,0-3", (0, 1, 2, 3)),
        ("", None),
        ("3-1", None),
        ("-1", None),
        ("0-", None),
        ("a", None),
        ("0-99999", None),
        ("0,,1", None),
        ("٣", None),
    ],
)
def test_visible_cores(text: str, cores: tuple[int, ...] | None) -> None:
    """One index, an inclusive range, or a list of these."""
    assert visible_cores(text) == cores


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 20)), min_size=1, max_size=5))
def test_ranges_round_trip(parts: list[tuple[int, int]]) -> None:
    """However a set of cores is written, it is read as that set."""
    text = ",".join(f"{first}-{first + more}" if more else str(first) for first, more in parts)
    expected = sorted({core for first, more in parts for core in range(first, first + more + 1)})
    assert visible_cores(text) == tuple(expected)


@given(st.text(max_size=20))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises, and numbers are few and not negative."""
    cores = visible_cores(text)
    assert cores is None or all(0 <= core < 4096 for core in cores)
    count = core_count(text)
    assert count is None or 0 <= count <= 4096


@pytest.mark.parametrize(
    ("text", "count"), [("4", 4), ("0", 0), ("1,1,2", 4), ("x", None), ("-1", None), ("", None)]
)
def test_core_count(text: str, count: int | None) -> None:
    """A number, or on Inf1 one a group; 0 means all and is no absence."""
    assert core_count(text) == count


@pytest.mark.parametrize(("text", "size"), [("1", 1), (" 2 ", 2), ("3", None), ("", None)])
def test_core_size(text: str, size: int | None) -> None:
    """Logical cores are made of one or two physical ones."""
    assert core_size(text) == size
