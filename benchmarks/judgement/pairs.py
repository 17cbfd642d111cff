"""Runs that together have every pair of two factors' values."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

Row = TypeVar("Row", bound="tuple[Hashable, ...]")


def pairs_of(row: tuple[Hashable, ...]) -> set[tuple[int, Hashable, int, Hashable]]:
    """Each pair of values in a row, with their columns."""
    return {(i, row[i], j, row[j]) for i, j in combinations(range(len(row)), 2)}


def covering(rows: Sequence[Row], seed: int = 0) -> list[Row]:
    """Some of the rows, with every pair of values that stands in any of them.

    Greedy: first the rows that bring many pairs that were not there.
    """
    order = list(rows)
    Random(seed).shuffle(order)  # noqa: S311 - a sample, not a secret
    chosen: list[Row] = []
    covered: set[tuple[int, Hashable, int, Hashable]] = set()
    width = len(order[0]) if order else 0
    for gain in range(width * (width - 1) // 2, 0, -1):
        for row in order:
            fresh = pairs_of(row) - covered
            if len(fresh) >= gain:
                chosen.append(row)
                covered |= fresh
    return chosen
