"""What flight recorders say of a job that stands still: where each rank is in one process group."""

from __future__ import annotations

from collections import Counter
from math import nan
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.parsers.flight_recorder import Group
    from neuron_observer.stragglers.ranks import Row


class Recorded(NamedTuple):
    """The counts of one group, by row; NaN of a rank that is not in it."""

    group: str
    entered: list[float]
    completed: list[float]
    operation: list[int] | None  # a code of what each is in; None where somebody does not tell
    name: str  # of what most are in


def recorded(
    rows: Sequence[Row], dumps: Mapping[int, Mapping[str, Group]], needed: frozenset[int]
) -> Recorded | None:
    """The group in which most ranks wait; None unless all of `needed` (rows) have a dump."""
    seen = [dumps.get(row.pid) for row in rows]
    if sum(one is not None for one in seen) < 2 or any(seen[at] is None for at in needed):
        return None
    waiting = Counter(
        name
        for groups in seen
        for name, group in (groups or {}).items()
        if group.enqueued > group.completed
    )
    if not waiting:
        return None
    most = max(waiting.values())
    name = min(one for one, count in waiting.items() if count == most)
    own = [(groups or {}).get(name) for groups in seen]
    inside = Counter(
        one.operation for one in own if one and one.operation and one.enqueued > one.completed
    )
    codes = {text: code for code, text in enumerate(inside)}
    told = all(one is None or one.operation in codes for one in own)
    return Recorded(
        name,
        [nan if one is None else float(one.enqueued) for one in own],
        [nan if one is None else float(one.completed) for one in own],
        [codes[one.operation] if one else 0 for one in own] if told else None,
        inside.most_common(1)[0][0] if inside else "",
    )
