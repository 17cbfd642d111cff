"""A custom collector of `prometheus_client`, for programs that have a registry of their own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from neuron_observer.catalogue.families import FamilyType
from neuron_observer.exporters.judged import (
    JUDGED,
    STALE_AFTER,
    Memory,
    count_missing,
    jobs_told,
    judged,
)
from neuron_observer.exporters.own import tail
from neuron_observer.exporters.ranks import ranks_told
from neuron_observer.exporters.series import blocks, samples, shown
from neuron_observer.model import Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.catalogue.families import Family
    from neuron_observer.catalogue.spec import Detail
    from neuron_observer.clock import Clock
    from neuron_observer.exporters.series import Sample
    from neuron_observer.feed import Feed
    from neuron_observer.model import Frame

_NO_UNIT = (FamilyType.INFO, FamilyType.STATESET)


class NeuronCollector(Collector):
    """The families of a feed's last frame, as the page of `neuron-observer daemon` has them.

    Values go through `float` in prometheus_client: counts above 2⁵³ lose digits there.

    Example::

        loop = Loop(HostReader(DirectoryFs("/"), SystemClock()))
        with running(loop) as feed:
            registry.register(NeuronCollector(feed, SystemClock()))
            start_http_server(9100, registry=registry)
            ...
    """

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        *,
        detail: Detail = "core",
        job_labels: bool = False,
        stale_after: float = STALE_AFTER,
    ) -> None:
        self._feed = feed
        self._clock = clock
        self._stale_after = stale_after
        self._detail = detail
        self._shown = shown(detail)
        self._job_labels = job_labels
        self._memory = Memory()  # of the frames that were collected

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that registering reads nothing."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All families that have a series, by name."""
        frame = self._feed.latest()
        age = None if frame is None else self._clock.monotonic() - frame.snapshot.monotonic
        told = self._told(frame, too_old=age is not None and age > self._stale_after)
        found = sorted(((family, of) for family, of in told if of), key=lambda pair: pair[0].name)
        for family, of in found:
            yield _metric(family, of)
        for family, sample in tail(age, sum(len(of) for _, of in found)):
            yield _metric(family, [sample])

    def _told(self, frame: Frame | None, *, too_old: bool) -> list[tuple[Family, list[Sample]]]:
        missing = Counter[Why]()
        read: dict[str, list[Sample]] = {family.name: [] for family in self._shown}
        if frame is not None:
            self._memory.note(frame)
            batches = () if too_old else frame.snapshot.batches
            for batch, found in zip(batches, blocks(batches, self._shown), strict=True):
                missing += count_missing(batch.cells)
                for block in found:
                    cells = [batch.cells[row] for row in block.rows]
                    read[block.family.name] += samples(block, cells)
        others = judged(frame, missing, self._memory, too_old=too_old)
        if frame and self._job_labels and not too_old:
            others |= jobs_told(frame)
        if frame and not too_old:
            others |= ranks_told(frame, self._detail)
        return [
            *((family, read[family.name]) for family in self._shown),
            *((family, others.get(family.name, [])) for family in JUDGED),
        ]


def _metric(family: Family, of: Iterable[Sample]) -> Metric:
    unit = "" if family.type in _NO_UNIT else family.unit
    metric = Metric(family.name, family.help, family.type.value, unit)
    for sample in of:
        metric.add_sample(family.sample_name, dict(sample.labels), sample.value)
    return metric
