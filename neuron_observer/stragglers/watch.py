"""All running jobs of this node, judged as they go: what stands against whom, how each gets on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.jobs.kinds import NO_WORK
from neuron_observer.stragglers.job_watch import JobWatch
from neuron_observer.stragglers.parameters import ONLINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.jobs.beats import Beat, Gone
    from neuron_observer.model import Finding, Job
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.seen import Seen

FORGOTTEN_AFTER = 30.0  # seconds without it: an elastic restart takes some
MOST_JOBS = 64


class Watch:
    """Takes looks; `findings` and `marked` tell what follows."""

    def __init__(self, parameters: Parameters = ONLINE) -> None:
        self._p = parameters
        self._jobs: dict[str, JobWatch] = {}

    def take(self, seen: Seen, beats: Sequence[Beat], gone: Sequence[Gone]) -> None:
        """One look at all jobs."""
        of_pid = {rank.process.pid: job.id for job in seen.jobs for rank in job.ranks}
        for job in seen.jobs:
            if job.kind in NO_WORK:
                continue
            watch = self._jobs.get(job.id)
            if watch is None:
                if len(self._jobs) >= MOST_JOBS:
                    continue
                watch = self._jobs[job.id] = JobWatch(job, self._p)
            own = [beat for beat in beats if of_pid.get(beat.pid) == job.id]
            watch.take(job, own, [one for one in gone if watch.knows(one.pid)], seen)
        for job_id, watch in list(self._jobs.items()):
            passed = seen.clocks.monotonic - watch.seen_at
            if passed > 0:
                watch.findings = ()
            if passed > FORGOTTEN_AFTER:
                del self._jobs[job_id]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What stands now."""
        return tuple(finding for watch in self._jobs.values() for finding in watch.findings)

    @property
    def calm(self) -> bool:
        """Whether every job is known, trains, and nothing speaks against it."""
        return all(watch.calm for watch in self._jobs.values())

    def marked(self, jobs: Sequence[Job]) -> tuple[Job, ...]:
        """The jobs with how they and their ranks get on."""
        return tuple(map(self._marked, jobs))

    def _marked(self, job: Job) -> Job:
        watch = self._jobs.get(job.id)
        return job if watch is None or watch.pace is None else watch.with_paces(job, watch.pace)
