"""Series of running jobs and their ranks: what each tells, and how many there may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.exporters.page import Page
from neuron_observer.exporters.ranks import MOST, ranks_told
from neuron_observer.model import JobPace, RankPace
from tests.exporters.feeds import OneFrame, frame_of
from tests.jobs.makers import torch_job

if TYPE_CHECKING:
    from neuron_observer.catalogue.spec import Detail
    from neuron_observer.model import Frame


def values(page: str, name: str) -> dict[str, str]:
    """Labels → value of one family."""
    found = [line.removeprefix(name) for line in page.splitlines() if line.startswith(f"{name}{{")]
    return dict(line.rsplit(" ", 1) for line in found)


PACE = RankPace("training", 700, 0.5, 1.0, 0.6, 0.3, None, entered=70, straggler="warning")


def frame(ranks: int, job: JobPace | None = None) -> Frame:
    """A job of so many ranks that tell."""
    found = torch_job(ranks)
    told = tuple(rank._replace(pace=PACE) for rank in found.ranks)
    pace = job or JobPace("training", 1.0, "hook", 1.0, heard=ranks)
    one = frame_of()
    return one._replace(
        snapshot=one.snapshot._replace(jobs=(found._replace(ranks=told, pace=pace),))
    )


def page(of: Frame, detail: Detail = "core") -> str:
    """The page of it."""
    shown = Page(OneFrame(of), ManualClock(monotonic=0.0), detail=detail)
    return shown.render().decode()


def test_a_rank_tells_its_step_and_what_it_waits_for() -> None:
    """Medians and counts by job and rank; what is not known is no series."""
    text = page(frame(2))
    labels = [f'{{neuron_device="0",neuron_job="run-0d9d79",neuron_rank="{r}"}}' for r in (0, 1)]
    assert list(values(text, "neuron_rank_steps_total")) == labels
    for name, value in (
        ("steps_total", "700"),
        ("busy_seconds", "0.6"),
        ("wait_seconds", "0.3"),
        ("collective_seq", "70"),
        ("straggler", "2"),
    ):
        assert set(values(text, f"neuron_rank_{name}").values()) == {value}
    assert not values(text, "neuron_rank_input_seconds")
    phases = values(text, "neuron_job_phase")
    assert [labels for labels, value in phases.items() if value == "1"] == [
        '{neuron_job="run-0d9d79",neuron_job_phase="training"}'
    ]


@pytest.mark.parametrize("detail", ["node", "device"])
def test_lower_details_have_jobs_only(detail: Detail) -> None:
    """How the job gets on, not each rank."""
    text = page(frame(8), detail)
    assert list(values(text, "neuron_job_ranks_heard").values()) == ["8"]
    assert "neuron_rank_" not in text


def test_ranks_are_bounded_and_what_is_left_out_is_counted() -> None:
    """A node has no more than that, and nobody may make more."""
    told = ranks_told(frame(MOST + 7), "core")
    assert len(told["neuron_rank_steps"]) == MOST
    assert [sample.value for sample in told["neuron_observer_ranks_left_out"]] == [7]


def test_a_job_without_the_hook_tells_its_executions() -> None:
    """The period of an execution with its source, the slowdown, no rank."""
    of = frame(1, JobPace("stalled", 1.0, "driver", 0.25, 1.2))
    job = torch_job(1)._replace(pace=of.snapshot.jobs[0].pace)
    text = page(of._replace(snapshot=of.snapshot._replace(jobs=(job,))))
    assert values(text, "neuron_job_step_period_seconds") == {
        '{neuron_job="run-0d9d79",source="driver"}': "0.25"
    }
    assert list(values(text, "neuron_job_slowdown_ratio").values()) == ["1.2"]
    assert not values(text, "neuron_job_ranks_heard")
    assert "neuron_rank_" not in text
