"""What a loop says of itself: how often it reads, how late it was, how long a frame takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.own import LANES, LOOP_METRICS, PROFILES
from neuron_observer.collectors.batching import BatchName
from neuron_observer.collectors.figures import FigureBatch
from neuron_observer.model import Missing, Why

if TYPE_CHECKING:
    from neuron_observer.clock import Clock
    from neuron_observer.history import History
    from neuron_observer.loop.schedule import Schedule
    from neuron_observer.model import Batch, Cell

_NOT_READ = Missing(Why.UNSUPPORTED, "this lane is not read")


class OwnFigures:
    """The batch of a loop; `profile` and `step` are told by whoever chose its periods."""

    def __init__(self, schedule: Schedule, history: History) -> None:
        self.profile = PROFILES[0]
        self.step = 0
        self._schedule = schedule
        self._history = history
        self._frames, self._seconds, self._latest = 0, 0.0, 0.0
        self._batch = FigureBatch(BatchName("loop", "slow"), LOOP_METRICS, self._ask)
        self._last: Batch | None = None
        self._told: object = None

    def note(self, late: float, seconds: float) -> None:
        """A frame was made: so late it began, so long it took."""
        self._frames += 1
        self._seconds += seconds
        self._latest = max(self._latest, late)

    def batch(self, clock: Clock, *, due: bool) -> Batch:
        """The figures of now if the slow lane is due or periods changed, else those told last."""
        told = self.profile, self.step, self._schedule.periods
        if self._last is None or due or told != self._told:
            self._last, self._told = self._batch.poll(clock), told
        return self._last

    def _ask(self) -> list[Cell]:
        periods, skipped = self._schedule.periods, self._schedule.skipped
        late, self._latest = self._latest, 0.0
        cells: list[Cell] = []
        for lane in LANES:
            cells += [periods.get(lane, _NOT_READ), skipped.get(lane, _NOT_READ)]
        return [
            *cells,
            self._frames,
            round(self._seconds, 6),
            round(late, 6),
            round(self._history.seconds, 3),
            self.profile,
            self.step,
        ]
