"""What was read too long ago is no reading of now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.collectors.firmware import (
    ANSWERING,
    LONGEST_BACK_OFF,
    PERIOD,
    READ_SECONDS,
)
from neuron_observer.model import Missing, Why

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import Batch, Cell

STALE_AFTER = 3.0  # periods of its lane
_NEVER = float("inf")
_MADE_WITH = {"derive": "normal", "topology": "slow"}  # collector → the lane that it follows


def mark_stale(
    batches: tuple[Batch, ...], now: float, periods: Mapping[str, float]
) -> tuple[Batch, ...]:
    """Batches older than three periods of their lane with all their values missing.

    Lanes without a period are left as they are: what comes by itself ages by its own rules.
    """
    limits = {lane: STALE_AFTER * period for lane, period in periods.items()}
    earliest = now - min(limits.values(), default=_NEVER)
    late = [
        number
        for number, batch in enumerate(batches)
        if batch.read_at < earliest
        and now - batch.read_at > limits.get(_MADE_WITH.get(batch.collector, batch.lane), _NEVER)
    ]
    if not late:
        return batches
    marked = list(batches)
    for number in late:
        marked[number] = _stale(batches[number], now)
    return tuple(marked)


def _stale(batch: Batch, now: float) -> Batch:
    age = now - batch.read_at
    reason = Missing(Why.STALE, f"last read {age:.0f} s ago")
    cells: list[Cell] = [cell if isinstance(cell, Missing) else reason for cell in batch.cells]
    for row in _standing(batch, age):
        cells[row] = batch.cells[row]
    changed = tuple(row for row, cell in enumerate(cells) if cell is reason)
    return batch._replace(cells=cells, changed=changed)


def _standing(batch: Batch, age: float) -> list[int]:
    """Rows that say that a device does not answer: true while it is left alone."""
    columns = batch.layout.columns
    if ANSWERING.id not in columns or age > LONGEST_BACK_OFF + STALE_AFTER * PERIOD:
        return []
    rows = [columns[spec.id].start for spec in (ANSWERING, READ_SECONDS)]
    return rows if batch.cells[rows[0]] == 0 else []
