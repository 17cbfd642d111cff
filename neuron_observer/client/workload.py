"""From documents of jobs back to jobs: fields as in the model, lists as tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_observer.model import Cores, Job, JobPace, JobScan, Pod, Process, Rank, RankPace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Document = Mapping[str, Any]


def job(of: Document, instant: Callable[[str | None], float | None]) -> Job:
    """JOB; `instant` reads a time."""
    fields = _known(of, Job._fields)
    pace = of.get("pace")
    return Job(
        **fields
        | {
            "ranks": tuple(map(_rank, of["ranks"])),
            "started": instant(of["started"]),
            "pace": pace
            and JobPace(**_known(pace, JobPace._fields) | {"since": instant(pace["since"])}),
        }
    )


def _rank(of: Document) -> Rank:
    process = _known(of["process"], Process._fields)
    pod = of["process"]["pod"]
    process["pod"] = Pod(**_known(pod, Pod._fields)) if pod else None
    cores = Cores(**_known(of["cores"], Cores._fields))
    pace = of.get("pace")
    told = RankPace(**_known(pace, RankPace._fields)) if pace else None
    return Rank(Process(**process), of["rank"], of["local_rank"], cores, told)


def scan(of: Document | None) -> JobScan | None:
    """What the job map rests on."""
    if of is None:
        return None
    mapped = tuple((int(device), tuple(ids)) for device, ids in of["mapped"].items())
    return JobScan(**(_known(of, JobScan._fields) | {"mapped": mapped}))


def _known(of: Document, names: tuple[str, ...]) -> dict[str, Any]:
    """The fields that are known here: a newer daemon may tell more, an older one less."""
    return {
        name: tuple(v) if isinstance(v := of[name], list) else v for name in names if name in of
    }
