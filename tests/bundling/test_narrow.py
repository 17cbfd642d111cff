"""What has to do with a finding, a job, a time."""

from __future__ import annotations

from typing import Any

import pytest

from neuron_observer.bundle.contents import Contents
from neuron_observer.bundling.narrow import Narrow, chosen, only
from neuron_observer.errors import UsageError

JOB = {"id": "llama-1a2b3c", "name": "train.py llama", "slurm_job": "4711", "run_id": "llama"}
JOBS = [{**JOB, "devices": [1, 2]}]


def finding(name: str, device: int | None, job: str | None = None, **more: Any) -> dict[str, Any]:
    """A finding as far as it matters here."""
    entity = {"device": device, "job": job}
    return {"id": name, "entity": entity, "state": "firing", "last_seen": None, **more}


DOCUMENT = {
    "verdict": "degraded",
    "findings": [
        finding("a", 0),
        finding("b", 1),
        finding("c", None),
        finding("d", None, JOB["id"]),
        finding("e", None, "other"),
        finding("f", 2, state="resolved", last_seen="2026-11-30T10:00:00.000Z"),
    ],
}


def ids(narrow: Narrow) -> str:
    """The findings that stay."""
    return "".join(one["id"] for one in only(DOCUMENT, narrow, JOBS, Contents())["findings"])


@pytest.mark.parametrize("name", JOB.values())
def test_of_a_job(name: str) -> None:
    """By any of its names: its own findings, those of its devices, those of the node."""
    assert ids(Narrow(job=name)) == "bcdf"
    assert chosen(
        only(DOCUMENT, Narrow(job=name), JOBS, Contents()), {"jobs": JOBS}, Narrow(job=name)
    ) == frozenset([1, 2])


def test_of_a_time() -> None:
    """What stands always is; what was over before then is not."""
    noon = 1_796_040_000.0  # 2026-11-30T12:00:00Z
    assert ids(Narrow(since=noon)) == "abcde"
    assert ids(Narrow(since=noon - 7200.0)) == "abcdef"


def test_what_is_not_there_is_said() -> None:
    """With what is."""
    with pytest.raises(UsageError, match="no job 'x'") as no_job:
        ids(Narrow(job="x"))
    assert JOB["id"] in no_job.value.remedy
    with pytest.raises(UsageError, match="no finding 'x'") as no_finding:
        ids(Narrow(finding="x", job="llama"))
    assert no_finding.value.remedy == "There is: b, c, d, f."


def test_what_was_left_out_is_counted() -> None:
    """Whoever reads it knows that there was more."""
    contents = Contents()
    only(DOCUMENT, Narrow(finding="a"), JOBS, contents)
    assert contents.left_out[0].what == "5 findings"
