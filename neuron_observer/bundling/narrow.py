"""A bundle about one finding or one job: what has to do with it stays, the rest is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.bundle.contents import Contents

_SHOWN = 12  # names in a message


class Narrow(NamedTuple):
    """What a bundle is about; None: everything."""

    finding: str | None = None
    job: str | None = None
    since: float | None = None  # wall clock


def only(
    document: Mapping[str, Any],
    narrow: Narrow,
    jobs: Sequence[Mapping[str, Any]],
    contents: Contents,
) -> dict[str, Any]:
    """The findings document with what was asked for; `UsageError` where there is none of it.

    Verdict and coverage stay the node's.
    """
    found = [one for one in document["findings"] if _is_recent(one, narrow.since)]
    if narrow.job is not None:
        found = _of_job(found, narrow.job, jobs)
    if narrow.finding is not None:
        known = sorted({str(one["id"]) for one in found})
        found = [one for one in found if one["id"] == narrow.finding]
        if not found:
            told = ", ".join(known[:_SHOWN]) or "none"
            raise UsageError(
                f"no finding {narrow.finding!r} stands, and none is kept",
                remedy=f"There is: {told}.",
            )
    count = len(document["findings"]) - len(found)
    if count:
        contents.leave_out(f"{count} findings", "not asked for: --finding, --job or --since")
    return {**document, "findings": found}


def _is_recent(finding: Mapping[str, Any], since: float | None) -> bool:
    """What stands always is; of what is over, whether it was seen after that time."""
    if since is None or finding["state"] != "resolved" or not finding["last_seen"]:
        return True
    from neuron_observer.client.frames import instant  # noqa: PLC0415 - rarely needed

    return (instant(finding["last_seen"]) or since) >= since


def _of_job(
    findings: Sequence[dict[str, Any]], name: str, jobs: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Those of a job, of its devices, and of the whole node."""
    mine = [
        one for one in jobs if name in (one["id"], one["name"], one["slurm_job"], one["run_id"])
    ]
    if not mine:
        told = ", ".join(str(one["id"]) for one in jobs[:_SHOWN]) or "no job holds a device"
        raise UsageError(f"there is no job {name!r}", remedy=f"There is: {told}.")
    ids = {one["id"] for one in mine}
    devices = {device for one in mine for device in one["devices"]}
    return [
        one
        for one in findings
        if one["entity"]["job"] in ids
        or (one["entity"]["job"] is None and one["entity"]["device"] in {*devices, None})
    ]


def chosen(
    findings: Mapping[str, Any], snapshot: Mapping[str, Any], narrow: Narrow
) -> frozenset[int] | None:
    """The devices that a narrowed bundle is about; None: all."""
    if narrow.finding is None and narrow.job is None:
        return None
    found = {one["entity"]["device"] for one in findings["findings"]}
    for job in snapshot["jobs"]:
        if narrow.job in (job["id"], job["name"], job["slurm_job"], job["run_id"]):
            found.update(job["devices"])
    return frozenset(found - {None}) or None
