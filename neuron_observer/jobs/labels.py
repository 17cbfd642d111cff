"""Labels of jobs for series that are asked for: bounded in number, and what is left out counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from neuron_observer.model import Job

MOST = 128  # rows: 64 devices that two jobs share, or 16 jobs on 8 devices each


NAMES = ("neuron_job", "job_name", "job_kind", "slurm_job", "pod", "namespace", "hpc_job")


class JobLabels(NamedTuple):
    """A row a device and job: two jobs on one device are two rows."""

    rows: tuple[tuple[Place, Mapping[str, str]], ...]
    over: int  # rows that the bound left out


def job_labels(jobs: Iterable[Job], *, most: int = MOST) -> JobLabels:
    """Labels by device: `neuron_job`, `job_name`, `job_kind`; where known `slurm_job`, `pod`.

    Nothing in them changes while a job runs, so no series ends before its job does: no pid, no
    restart count. Monitors have none.
    """
    rows = [
        (Place(device), _labels(job))
        for job in jobs
        if job.kind != "monitor"
        for device in job.devices
    ]
    rows.sort(key=lambda row: (row[0].device or 0, row[1]["neuron_job"]))
    return JobLabels(tuple(rows[:most]), max(len(rows) - most, 0))


def _labels(job: Job) -> dict[str, str]:
    pods = [rank.process.pod for rank in job.ranks if rank.process.pod]
    pod = pods[0] if pods else None
    told = {
        "neuron_job": job.id,  # Prometheus has a label `job` of its own
        "job_name": job.name[:80],
        "job_kind": job.kind,
        "slurm_job": job.slurm_job,
        "pod": pod and (pod.name or pod.uid),
        "namespace": pod and pod.namespace,
        "hpc_job": ",".join(job.mapped[:4]) or None,
    }
    return {name: value for name, value in told.items() if value}
