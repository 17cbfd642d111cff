"""From documents of jobs back to jobs: fields as in the model, lists as tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_observer.model import Cores, Job, JobScan, Pod, Process, Rank

if TYPE_CHECKING:
    from collections.abc import Mapping

    Document = Mapping[str, Any]


def job(of: Document, started: float | None) -> Job:
    """JOB."""
    fields = _known(of, Job._fields)
    return Job(**(fields | {"ranks": tuple(map(_rank, of["ranks"])), "started": started}))


def _rank(of: Document) -> Rank:
    process = _known(of["process"], Process._fields)
    pod = of["process"]["pod"]
    process["pod"] = Pod(**_known(pod, Pod._fields)) if pod else None
    cores = Cores(**_known(of["cores"], Cores._fields))
    return Rank(Process(**process), of["rank"], of["local_rank"], cores)


def scan(of: Document | None) -> JobScan | None:
    """What the job map rests on."""
    if of is None:
        return None
    mapped = tuple((int(device), tuple(ids)) for device, ids in of["mapped"].items())
    return JobScan(**(_known(of, JobScan._fields) | {"mapped": mapped}))


def _known(of: Document, names: tuple[str, ...]) -> dict[str, Any]:
    """The fields that are known here: a newer daemon may tell more."""
    return {name: tuple(v) if isinstance(v := of[name], list) else v for name in names}
