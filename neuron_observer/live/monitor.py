"""Reports of neuron-monitor while a host is read; imported only where they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.collectors.monitor import COMMAND, MonitorCollector, open_monitor
from neuron_observer.collectors.monitor_batches import MonitorBatches, has_full_period
from neuron_observer.sources.child import Children
from neuron_observer.sources.hostfs import RecordedHost
from neuron_observer.sources.tapped import tapped_lines

if TYPE_CHECKING:
    from neuron_observer.clock import Clock
    from neuron_observer.collectors.monitor import MonitorSample
    from neuron_observer.live import MonitorFeed
    from neuron_observer.model import Batch
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.lines import LineSource

_GAP = 0.1  # seconds between two looks while a one-shot waits


class MonitorReader:
    """neuron-monitor: its batches."""

    name = "monitor"

    def __init__(self, host: HostFs, clock: Clock, feed: MonitorFeed) -> None:
        self._host, self._clock = host, clock
        self.feed = feed
        self._children = Children(clock)
        self._collector = MonitorCollector(self._open, clock)
        self._batches = MonitorBatches()
        self.sample: MonitorSample | None = None  # the last one

    def _open(self) -> LineSource | None:
        """A capture stands for the child that ran when it was made."""
        mode, path, command = self.feed
        if mode == "child" and isinstance(self._host, RecordedHost):
            return self._host.lines("monitor")
        source = open_monitor(
            mode, self._clock, path=path, command=command or COMMAND, children=self._children
        )
        return source and tapped_lines(self._host, "monitor", source)

    def poll(self) -> list[Batch]:
        """The state of the tool, and its last report."""
        self.sample = self._collector.collect()
        return self._batches.of(self.sample, self._clock.monotonic())

    def wait(self, seconds: float) -> bool:
        """Wait for a report of a full period, for a one-shot; whether one came."""
        deadline = self._clock.monotonic() + seconds
        while True:
            self.sample = self._collector.collect()
            report = self.sample.report
            if report is not None and has_full_period(report):
                return True
            hopeless = self.feed.mode == "child" and self.sample.error
            if hopeless or self._collector.ended or self._clock.monotonic() >= deadline:
                return report is not None
            self._clock.wait(_GAP)

    def close(self) -> None:
        """Give the source up; a child ends."""
        self._collector.pause()
