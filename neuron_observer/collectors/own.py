"""What this program itself costs: processor time, memory, open files, threads.

psutil asks about our own process, so the figures are true whatever root the host is read from.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.catalogue.host import OWN_METRICS
from neuron_observer.collectors.batching import BatchName
from neuron_observer.collectors.figures import FigureBatch
from neuron_observer.model import Missing, Why

if TYPE_CHECKING:
    from collections.abc import Collection

    from neuron_observer.clock import Clock
    from neuron_observer.model import Batch, Cell


# Its size is the number of open files since Linux 6.2, and 0 before; listing thousands takes 4 ms.
_DESCRIPTORS = Path("/proc/self/fd")


class OwnCollector:
    """Our own cost, in the slow lane; processes that we started and that ended are counted in."""

    name = "own"
    kept = 0

    def __init__(self, clock: Clock) -> None:
        import psutil  # noqa: PLC0415 - half of what a one-shot command needs to start

        self._clock = clock
        self._process = psutil.Process()
        self._error: type[Exception] = psutil.Error
        self._batch = FigureBatch(BatchName(self.name, "slow"), OWN_METRICS, self._ask)

    def poll(self, lanes: Collection[str]) -> list[Batch]:
        """The figures of now, if the slow lane is due."""
        return [self._batch.poll(self._clock)] if "slow" in lanes else []

    def close(self) -> None:
        """Nothing is held."""

    def _ask(self) -> list[Cell]:
        try:
            with self._process.oneshot():
                times = self._process.cpu_times()
                return [
                    times.user + times.children_user,
                    times.system + times.children_system,
                    self._process.memory_info().rss,
                    _DESCRIPTORS.stat().st_size or self._process.num_fds(),
                    self._process.num_threads(),
                ]
        except (self._error, OSError) as error:
            return [Missing(Why.FAILED, str(error))] * len(OWN_METRICS)
