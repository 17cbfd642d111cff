"""Environment variables of the runtime that say which cores a process takes, and how many.

The runtime's configuration guide: NEURON_RT_VISIBLE_CORES is one index or an inclusive range of
*logical* cores of the node (lists with commas are in use too), NEURON_RT_NUM_CORES a number, 0
meaning all; NEURON_RT_VISIBLE_CORES takes precedence. On Inf1 the number may be a list with
commas, one a group (application note on parallel execution).
"""

from __future__ import annotations

import re
from typing import Final

MOST: Final = 4096  # cores of any node, with room
_RANGE: Final = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_COUNTS: Final = re.compile(r"\d{1,5}(?:,\d{1,5})*", re.ASCII)
_SIZES: Final = {"1": 1, "2": 2}


def visible_cores(text: str) -> tuple[int, ...] | None:
    """`3`, `0-7`, `0,1`, `0-3,8`: core numbers, sorted; None where it is none of these."""
    cores: set[int] = set()
    for part in text.replace(" ", "").split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        first = int(match.group(1))
        last = int(match.group(2)) if match.group(2) else first
        if not first <= last < MOST:
            return None
        cores.update(range(first, last + 1))
    return tuple(sorted(cores))


def core_count(text: str) -> int | None:
    """How many cores; 0 means all; None where it is no number."""
    counts = text.replace(" ", "")
    if not _COUNTS.fullmatch(counts):
        return None
    count = sum(map(int, counts.split(",")))
    return count if count <= MOST else None


def core_size(text: str) -> int | None:
    """Physical cores in a logical one: 1 or 2; None for anything else."""
    return _SIZES.get(text.strip())
