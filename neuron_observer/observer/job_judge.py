"""Running jobs judged on each look at a host, and whether a compiler runs on it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from neuron_observer.jobs.kinds import NO_WORK
from neuron_observer.jobs.ownership import NodeShape
from neuron_observer.sources.hostfs import names_in_folder
from neuron_observer.stragglers.ranks import Clocks
from neuron_observer.stragglers.seen import Seen
from neuron_observer.stragglers.signs import Signs, Watcher
from neuron_observer.stragglers.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.heartbeats import HeartbeatCollector
    from neuron_observer.model import Batch, Device, Finding, Job
    from neuron_observer.sources.hostfs import HostFs

COMPILERS: Final = ("neuronx-cc", "neuron-cc", "walrus_driver", "hlo2penguin")
MOST_PROCESSES: Final = 8192  # whose names are looked at for a compiler
COMPILER_PERIOD: Final = 10.0  # seconds


def any_works(jobs: Sequence[Job]) -> bool:
    """Whether anything runs that can be judged."""
    return any(job.kind not in NO_WORK for job in jobs)


class JobJudge:
    """The watch over jobs, and what the host's counters say beside their ranks."""

    def __init__(self, host: HostFs, clock: Clock) -> None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: a thread costs megabytes
        self._host = host
        self._clock = clock
        self._watch = Watch()
        self._watcher = Watcher()
        self._compiling = (float("-inf"), False)

    def take(
        self,
        jobs: Sequence[Job],
        heard: HeartbeatCollector,
        devices: Sequence[Device],
        batches: Sequence[Batch],
        driver: str | None,
    ) -> tuple[Finding, ...]:
        """One look at all jobs; what stands then."""
        clocks = Clocks(self._clock.monotonic(), self._clock.wall())
        seen = Seen(
            clocks,
            jobs,
            NodeShape(
                {device.index: device.name for device in devices},
                {device.index: len(device.cores) for device in devices},
            ),
            batches,
            self._watcher.look(batches, clocks.monotonic) if any_works(jobs) else Signs(),
            driver,
            self._is_compiling,
            heard.dumps,
        )
        self._watch.take(seen, heard.beats, heard.gone)
        return self._watch.findings

    def marked(self, jobs: Sequence[Job]) -> tuple[Job, ...]:
        """The jobs of the map with how they get on."""
        return self._watch.marked(jobs)

    @property
    def calm(self) -> bool:
        """Whether every job here is known, trains, and nothing speaks against it."""
        return self._watch.calm

    def _is_compiling(self) -> bool:
        """Whether a compiler of the Neuron SDK runs; asked where a job seems to stand still."""
        now = self._clock.monotonic()
        at, found = self._compiling
        if now - at >= COMPILER_PERIOD:
            found = any(map(self._is_compiler, self._pids()))
            self._compiling = now, found
        return found

    def _pids(self) -> list[str]:
        try:
            names = names_in_folder(self._host, "proc")
        except OSError:
            return []
        return [name for name in names if name.isdecimal()][:MOST_PROCESSES]

    def _is_compiler(self, pid: str) -> bool:
        try:
            name = self._host.read(f"proc/{pid}/comm", 64).strip()
        except OSError:
            return False
        return name.decode("ascii", "replace").startswith(COMPILERS)
