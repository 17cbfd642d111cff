"""The store's figures as a batch of readings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.store import STORE_METRICS
from neuron_observer.collectors.batching import BatchName
from neuron_observer.collectors.figures import FigureBatch
from neuron_observer.model import Missing, Why

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import Clock
    from neuron_observer.model import Batch, Cell
    from neuron_observer.store.writer import Status

_NEVER = Missing(Why.NOT_YET, "nothing was written yet")


class StoreFigures:
    """Asks a writer how it does."""

    name = "store"

    def __init__(self, status: Callable[[], Status], clock: Clock) -> None:
        self._status, self._clock = status, clock
        self._batch = FigureBatch(BatchName(self.name, "slow"), STORE_METRICS, self._ask)

    def poll(self) -> list[Batch]:
        """The figures of now."""
        return [self._batch.poll(self._clock)]

    def _ask(self) -> list[Cell]:
        now = self._status()
        return [
            int(now.writable),
            now.bytes,
            _NEVER if now.written_at is None else round(now.written_at, 3),
            now.waiting,
            now.dropped,
        ]
