"""Durations, sizes and shares: `250ms`, `8MB`, `16KiB`, `5%`. A number without its unit is refused.

Both ways: what `…_text` writes, the reader reads as the same value.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DURATIONS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}  # milliseconds
SIZES = {  # bytes
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_NUMBER = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,6})?)(?P<unit>[^0-9.].*)?", re.DOTALL)
_MOST_SHARE_DIGITS = 10


class UnitError(ValueError):
    """What was written is no such quantity; the second argument is the remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy


def duration(text: str) -> float:
    """Seconds, of whole milliseconds; `UnitError` for anything else."""
    return _whole(text, DURATIONS, "a duration", "Write 500ms, 10s, 5m, 1h or 30d.") / 1000


def size(text: str) -> int:
    """Bytes; `UnitError` for anything that is no whole number of them."""
    return _whole(text, SIZES, "a size", "Write 500kB, 8MB, 1GB (10³) or 16KiB, 8MiB, 1GiB (2¹⁰).")


def share(text: str) -> float:
    """A ratio, of a percentage; `UnitError` for anything else."""
    number, unit = _split(text, "a percentage", "Write 5%.")
    if unit != "%":
        raise UnitError(_strange(text, unit, "a percentage"), "Write 5%.")
    return float(number / 100)


def _split(text: str, what: str, remedy: str) -> tuple[Decimal, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise UnitError(f"{text!r} is not {what}", remedy)
    return Decimal(match["number"]), match["unit"] or ""


def _strange(text: str, unit: str, what: str) -> str:
    if not unit:
        return f"{text!r} is not {what}: its unit is missing"
    return f"{text!r} is not {what}: unknown unit {unit!r}"


def _whole(text: str, units: Mapping[str, int], what: str, remedy: str) -> int:
    number, unit = _split(text, what, remedy)
    if unit not in units:
        nearest = [one for one in units if one.lower() == unit.lower()]
        hint = f"Did you mean {nearest[0]!r}? {remedy}" if nearest else remedy
        raise UnitError(_strange(text, unit, what), hint)
    found = number * units[unit]
    if found != int(found):
        smallest = next(iter(units))
        raise UnitError(f"{text!r} is no whole number of {smallest}", remedy)
    return int(found)


def _shortest(number: int, units: Mapping[str, int], zero: str) -> str:
    """The unit in which a number is whole and smallest."""
    if number == 0:
        return f"0{zero}"
    fitting = [(number // factor, unit) for unit, factor in units.items() if number % factor == 0]
    found, unit = min(fitting, key=lambda pair: pair[0])
    return f"{found}{unit}"


def duration_text(seconds: float) -> str:
    """As it is written in a file."""
    return _shortest(round(seconds * 1000), DURATIONS, "s")


def size_text(number: int) -> str:
    """As it is written in a file."""
    return _shortest(number, SIZES, "B")


def share_text(ratio: float) -> str:
    """As it is written in a file."""
    return f"{Decimal(f'{ratio * 100:.{_MOST_SHARE_DIGITS}g}'):f}%"
