"""The median, without the megabyte that `statistics` takes with it (fractions, decimal, random)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def median(values: Iterable[float]) -> float:
    """The middle one, or the mean of the two in the middle; `ValueError` of nothing."""
    found = sorted(values)
    middle = len(found) // 2
    if not found:
        raise ValueError("no median of nothing")
    return found[middle] if len(found) % 2 else (found[middle - 1] + found[middle]) / 2
