"""The job map behind a fence, so that a process that is stuck in the kernel costs only the map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from neuron_observer.collectors.jobs import PERIOD, JobCollector
from neuron_observer.sources.background import Background

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.kubelet import PodNames
    from neuron_observer.collectors.monitor import MonitorSample
    from neuron_observer.jobs.beats import Mark
    from neuron_observer.model import Device, Event, Job, JobScan
    from neuron_observer.sources.hostfs import HostFs

LATE: Final = 3 * PERIOD  # seconds after which a map that is owed is not known


class JobReader:
    """The job map behind a fence.

    Reading the command line or environment of a process waits for its memory's lock, which one
    that is stuck in the kernel may hold for ever: then the map is not known, and nothing waits.
    """

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        mapping: str | None = None,
        pods: PodNames | None = None,
        *,
        fenced: bool,
    ) -> None:
        self._collector = JobCollector(host, clock, mapping, pods)
        self._clock = clock
        self._background: Background[list[Event]] | None = Background("jobs") if fenced else None
        self._owed_since: float | None = None
        self.jobs: tuple[Job, ...] = ()
        self.scan: JobScan | None = None

    def hear(self, hooked: Mapping[Mark, int | None] | None) -> None:
        """Whom the step hook writes for, from the next read on; None: that is not known."""
        self._collector.hooked = hooked

    def poll(
        self, devices: Sequence[Device], monitored: MonitorSample | None, patience: float
    ) -> list[Event]:
        """Read anew within `patience` seconds; a late map is shown as it was for three periods."""
        begin = self._clock.monotonic()
        try:
            events = self._read(devices, monitored, patience)
        except OSError:
            self.jobs, self.scan = (), None
            raise
        if events is not None:
            self._owed_since = None
            self.jobs, self.scan = self._collector.jobs, self._collector.scan
            return events
        self._owed_since = begin if self._owed_since is None else self._owed_since
        waited = self._clock.monotonic() - self._owed_since
        if waited >= LATE:
            self.jobs, self.scan = (), None
            raise TimeoutError(f"a process in /proc did not let itself be read for {waited:.0f} s")
        return []

    def _read(
        self, devices: Sequence[Device], monitored: MonitorSample | None, patience: float
    ) -> list[Event] | None:
        if self._background is None:
            return self._collector.poll(devices, monitored)
        return self._background.run(lambda: self._collector.poll(devices, monitored), patience)
