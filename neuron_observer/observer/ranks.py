"""The ranks of running jobs: their heartbeat files read, their jobs judged, on each look at a host.

Which processes there are is the job map's to say; a file only says what its own process does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.collectors.heartbeats import HeartbeatCollector
from neuron_observer.jobs.kinds import NO_WORK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.job_reader import JobReader
    from neuron_observer.model import Batch, Device, Event, Finding, Job
    from neuron_observer.observer.job_judge import JobJudge
    from neuron_observer.sources.hostfs import HostFs

    Member: TypeAlias = tuple[str, str, int, float, bool]


class RankReader:
    """Heartbeats and the judgement of jobs, behind the job map."""

    def __init__(self, host: HostFs, clock: Clock, jobs: JobReader, folder: str) -> None:
        self.heartbeats = HeartbeatCollector(host, clock, folder)
        self._host = host
        self._clock = clock
        self._jobs = jobs
        self._judge: JobJudge | None = None  # made with the first job: a node without costs none
        self.findings: tuple[Finding, ...] = ()
        self._heard: list[Member] = []  # of the job map of the last hearing
        self._may_pass = False  # the next hearing

    def look(self) -> None:
        """See which processes the hook writes for, before the job map is read."""
        self.heartbeats.look()
        self._jobs.hear(self.heartbeats.marks)

    def poll(
        self, devices: Sequence[Device], batches: Sequence[Batch], driver: str | None
    ) -> list[Event]:
        """Read what the ranks say, and judge their jobs; after the job map was read.

        While all is calm and nobody comes or goes every other time is passed over: no step is lost,
        their files hold many.
        """
        jobs = self._jobs.jobs
        members = _members(jobs)
        if self._may_pass and members == self._heard:
            self._may_pass = False
            return []
        self._heard = members
        events = self.heartbeats.read(jobs, certain=self._jobs.scan is not None)
        if self._judge is None and any(job.kind not in NO_WORK for job in jobs):
            from neuron_observer.observer.job_judge import JobJudge  # noqa: PLC0415 - see above

            self._judge = JobJudge(self._host, self._clock)
        if self._judge:
            self.findings = self._judge.take(jobs, self.heartbeats, devices, batches, driver)
            self._may_pass = self._judge.calm
        return events

    def marked(self, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
        """The jobs of the map with how they get on."""
        return self._judge.marked(jobs) if self._judge else jobs


def _members(jobs: Sequence[Job]) -> list[Member]:
    """Who works in which job; their figures differ each time that the map is read."""
    return [
        (job.id, job.kind, rank.process.pid, rank.process.start, rank.process.state == "Z")
        for job in jobs
        for rank in job.ranks
    ]
