"""`job report`: watched for some seconds, or through a whole recording."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from neuron_observer.cli.job import ranks_text, watch
from neuron_observer.clock import ManualClock
from neuron_observer.errors import InputError
from neuron_observer.model import JobPace, RankPace
from neuron_observer.observer import HostReader
from neuron_observer.sources.hostfs import DirectoryFs
from tests.conftest import tree_file
from tests.jobs.makers import torch_job

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from neuron_observer.sources.listing import ListingFs
    from tests.cli.conftest import Result

ROOT = ("--host-root", str(tree_file("proc/torchrun")))


def test_report_of_a_recording(call: Callable[..., Result]) -> None:
    """From the first pass to the last: the job ran, and had ended at the third."""
    out = call("job", "report", "llama-7b", *ROOT).out
    lines = dict(line.split(maxsplit=1) for line in out.splitlines()[1:3])
    assert out.startswith("job llama-7b-3ffe5f  training  train.py llama-7b\n")
    assert lines["verdict"].startswith("not-judged:")
    assert "ended, last seen" in lines["state"]
    assert "watched         2 s from" in out
    assert "host memory     40.0 GiB at its peak" in out


def test_the_document(call: Callable[..., Result]) -> None:
    """The same as JSON; what no file told is null."""
    found = call("job", "report", "llama-7b", "--format", "json", *ROOT)
    document = json.loads(found.out)
    assert document["schema"] == "neuron-observer/job-report/1"
    assert (document["ended"], document["watched_seconds"]) == (True, 2.0)
    assert document["core_hours"] is None
    assert document["job"]["world_size"] == 4


@pytest.mark.parametrize("name", ["llama-7b-3ffe5f", "llama-7b-3", "llama-7b"])
def test_a_job_by_its_id_its_beginning_or_its_run(name: str, call: Callable[..., Result]) -> None:
    """What a person has at hand."""
    assert call("job", "report", name, *ROOT).code == 0


def test_a_slurm_job_by_its_number(call: Callable[..., Result]) -> None:
    """A number that squeue shows."""
    out = call("job", "report", "4242", "--host-root", str(tree_file("proc/slurm"))).out
    assert out.startswith("job slurm4242-")


@pytest.mark.parametrize(("name", "problem"), [("llama", "several jobs"), ("x", "no such job")])
def test_which_job_is_meant_must_be_clear(
    name: str, problem: str, call: Callable[..., Result]
) -> None:
    """The error names the jobs there are."""
    with pytest.raises(InputError, match=problem) as raised:
        call("job", "report", name, *ROOT)
    assert "llama-7b-3ffe5f" in raised.value.remedy
    assert "llama-old-" in raised.value.remedy


@pytest.mark.parametrize(("seconds", "times"), [(0.0, [0]), (2.0, [0, 2]), (5.0, [0, 2, 4, 6])])
def test_a_live_host(seconds: float, times: list[float], tmp_path: Path) -> None:
    """One read at once and one each period, until the time has passed."""
    (tmp_path / "sys").mkdir()
    clock = ManualClock()
    reader = HostReader(DirectoryFs(str(tmp_path)), clock)
    begin = clock.monotonic()
    found = [snapshot.monotonic - begin for snapshot in watch(reader, seconds, 2.0)]
    reader.close()
    assert found == times


def test_a_recording_ends_where_it_ends(tree: Callable[[str], ListingFs]) -> None:
    """Three passes, at their own times, however long was asked for."""
    reader = HostReader(tree("proc/torchrun"), ManualClock())
    found = list(watch(reader, 3600.0, 2.0))
    assert [round(one.monotonic - found[0].monotonic) for one in found] == [0, 2, 20]
    assert [len(one.jobs) for one in found] == [3, 3, 2]


def test_ranks_side_by_side() -> None:
    """What each spent its steps on; what is not known is a dash, a slow one is marked."""
    job = torch_job(3)
    paces = [
        RankPace("training", 200, 0.1, busy=0.15, wait=0.05, input=0.001),
        RankPace("training", 200, 0.1, busy=0.25, input=0.0, straggler="warning", ratio=1.667),
        None,
    ]
    ranks = tuple(rank._replace(pace=pace) for rank, pace in zip(job.ranks, paces, strict=True))
    pace = JobPace("training", detail="1 ranks have no step hook")
    told = list(ranks_text(job._replace(ranks=ranks, pace=pace)))
    assert told == [
        "ranks           RANK  STEPS     BUSY  COLLECTIVES    INPUT  SLOW",
        "                   0    200  0.150 s      0.050 s  0.001 s",
        "                   1    200  0.250 s            \u2014  0.000 s  warning, 1.67x",
        "note: who is slow can be told only in part: 1 ranks have no step hook",
    ]
    assert list(ranks_text(job)) == []
