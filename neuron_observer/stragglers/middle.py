"""Medians and quantiles of a few numbers, for what is asked all the time: numpy costs 19 MB."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def middle(values: Iterable[float]) -> float:
    """The median; NaN of none. Give it no NaN."""
    return quantile(values, 0.5)


def quantile(values: Iterable[float], share: float) -> float:
    """The value below which this share lies, between neighbours in proportion; NaN of none."""
    ordered = sorted(values)
    if not ordered:
        return float("nan")
    at = share * (len(ordered) - 1)
    low = int(at)
    above = ordered[min(low + 1, len(ordered) - 1)]
    return ordered[low] + (above - ordered[low]) * (at - low)
