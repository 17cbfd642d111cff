"""The flight recorder's figures as a batch of readings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.recorder import RECORDER_METRICS
from neuron_observer.collectors.batching import BatchName
from neuron_observer.collectors.figures import FigureBatch
from neuron_observer.model import Missing, Why

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.clock import Clock
    from neuron_observer.model import Batch, Cell
    from neuron_observer.recording.flight import Status

_NO_DISK = Missing(Why.UNSUPPORTED, "no state directory was given, so nothing is written")


class RecorderFigures:
    """Asks a flight recorder how it does."""

    name = "recorder"

    def __init__(self, status: Callable[[], Status], clock: Clock) -> None:
        self._status, self._clock = status, clock
        self._batch = FigureBatch(BatchName(self.name, "slow"), RECORDER_METRICS, self._ask)

    def poll(self) -> list[Batch]:
        """The figures of now."""
        return [self._batch.poll(self._clock)]

    def _ask(self) -> list[Cell]:
        now = self._status()
        disk: Cell = _NO_DISK if now.disk_bytes is None else now.disk_bytes
        return [now.bytes, round(now.seconds, 3), now.dumps, now.failed, disk]
