"""Labels of jobs: by device, bounded, and still while a job runs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.jobs.grouping import Around, group
from neuron_observer.jobs.labels import MOST, job_labels
from neuron_observer.model import Place, Pod
from tests.jobs.makers import holder, rank_variables, torch_job


def test_a_row_a_device() -> None:
    """Each device of a job carries the job's labels."""
    job = torch_job(8, SLURM_JOB_ID="42")
    found = job_labels([job])
    assert [place for place, _ in found.rows] == [Place(0), Place(1)]
    expected = {
        "neuron_job": job.id,
        "job_name": job.name,
        "job_kind": "training",
        "slurm_job": "42",
    }
    assert found.rows[0][1] == expected
    assert found.over == 0


def test_two_jobs_on_a_device_are_two_rows() -> None:
    """As dcgm-exporter does: a series a job, not a list in a label."""
    jobs = group([holder(7, (0,), "python3 a.py"), holder(8, (0,), "python3 b.py")], Around())
    assert [labels["job_name"] for _, labels in job_labels(jobs).rows] in (
        ["a.py", "b.py"],
        ["b.py", "a.py"],
    )


def test_pod_and_mapping_are_labels() -> None:
    """What Kubernetes and a scheduler's mapping folder say of it."""
    one = holder(7, (3,), "python3 a.py", pod=Pod("u", "worker-0", "ml"))
    jobs = group([one], Around(mapped={3: ("4242", "4243")}))
    labels = dict(job_labels(jobs).rows)[Place(3)]
    assert (labels["pod"], labels["namespace"]) == ("worker-0", "ml")
    assert labels["hpc_job"] == "4242,4243"


def test_monitors_have_no_labels() -> None:
    """A monitor is no job."""
    assert job_labels(group([holder(7, (0,), "neuron-top")], Around())).rows == ()


def test_a_restart_begins_no_new_series() -> None:
    """New pids and a higher restart count change no label (case E02)."""
    before = group([holder(7, variables=rank_variables(0, 1))], Around())
    again = rank_variables(0, 1, TORCHELASTIC_RESTART_COUNT="3")
    after = group([holder(99, variables=again, start=90.0)], Around())
    assert job_labels(before) == job_labels(after)


@given(st.integers(0, 60), st.integers(1, 5), st.integers(0, 200))
def test_rows_are_bounded_and_the_rest_is_counted(number: int, devices: int, most: int) -> None:
    """However many jobs, no more rows than asked for, and none is lost without a count."""
    jobs = group(
        [holder(n + 1, range(devices), f"python3 a{n}.py") for n in range(number)], Around()
    )
    found = job_labels(jobs, most=most)
    assert len(found.rows) == min(number * devices, most)
    assert len(found.rows) + found.over == number * devices
    assert len(job_labels(jobs).rows) <= MOST
