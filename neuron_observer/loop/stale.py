"""What was read too long ago is no reading of now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.collectors.firmware import STANDING
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
    late = [
        number
        for number, batch in enumerate(batches)
        if now - batch.read_at > limits.get(_MADE_WITH.get(batch.collector, batch.lane), _NEVER)
    ]
    if not late:
        return batches
    marked = list(batches)
    for number in late:
        marked[number] = _stale(batches[number], now)
    return tuple(marked)


def _stale(batch: Batch, now: float) -> Batch:
    reason = Missing(Why.STALE, f"last read {now - batch.read_at:.0f} s ago")
    cells: list[Cell] = [cell if isinstance(cell, Missing) else reason for cell in batch.cells]
    for metric in STANDING:
        column = batch.layout.columns.get(metric)
        if column:
            rows = slice(column.start, column.start + len(column.places))
            cells[rows] = batch.cells[rows]
    changed = tuple(row for row, cell in enumerate(cells) if cell is reason)
    return batch._replace(cells=cells, changed=changed)
