"""Figures in tables say no more than was measured."""

import pytest

from benchmarks.stragglers.tables import delays, share, table


@pytest.mark.parametrize(
    ("hits", "of", "text"),
    [
        (50, 50, "1.00 (0.92-1.00), 50/50"),
        (999, 1000, "0.999 (0.994-0.999), 999/1000"),
        (98, 100, "0.98 (0.92-0.994), 98/100"),
        (0, 0, "none asked"),
    ],
)
def test_shares_are_rounded_down(hits: int, of: int, text: str) -> None:
    """What is not 1 never reads 1."""
    assert share(hits, of) == text


def test_delays_are_median_and_ninetieth_percentile() -> None:
    """Of the faults found; nothing where none was."""
    assert delays([4, 4, 4, 4, 14]) == "4 / 10"
    assert delays([]) == "—"


def test_a_table_is_markdown() -> None:
    """Head, rule, rows."""
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
