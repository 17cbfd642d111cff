"""Lists of numbers as a person writes them: `0,3-5`."""

from __future__ import annotations

import re
from typing import Final

from neuron_observer.errors import UsageError
from neuron_observer.parsers.core_list import MOST, visible_cores

_LIST: Final = "Write numbers and ranges, as in 0,3-5."
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)


def listed(text: str, option: str) -> tuple[int, ...]:
    """`0,3-5` → (0, 3, 4, 5); UsageError that says what is wrong for anything else."""
    numbers = visible_cores(text)
    if numbers is None:
        raise UsageError(f"{option} {text}: {_wrong(text)}", remedy=_LIST)
    return numbers


def _wrong(text: str) -> str:
    ranges = [_RANGE.fullmatch(part) for part in text.replace(" ", "").split(",")]
    for found in ranges:
        if found is None:
            return "no list of numbers"
        first, last = (_size(found.group(n) or found.group(1)) for n in (1, 2))
        if first > last:
            return f"{found.group()} goes down; a range goes from the lower number to the higher"
    return f"no node has so many; the highest number is {MOST - 1}"


def _size(digits: str) -> tuple[int, str]:
    """What numbers are compared by, however long somebody makes them."""
    plain = digits.lstrip("0")
    return len(plain), plain
