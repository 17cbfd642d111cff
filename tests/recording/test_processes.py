"""Processes in a capture: the same job map comes out again, and no secret goes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.collectors.jobs import JobCollector
from neuron_observer.recording.capture import Capture, write_rows
from neuron_observer.sources.listing import ListingFs
from neuron_observer.sources.workers import DirectWorkers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from neuron_observer.model import Job


def recorded(host: ListingFs, file: Path, passes: int = 1, *, jobs: bool = True) -> ListingFs:
    """A capture of a host, read back."""
    clock = ManualClock()
    capture = Capture(host, clock, DirectWorkers(host, clock), jobs=jobs)
    rows = [capture.header()]
    for number in range(passes):
        if number:
            host.advance()
            clock.advance(2.0)
        rows += capture.one_pass()
    write_rows(str(file), rows)
    return ListingFs.open(str(file))


def jobs_of(host: ListingFs) -> tuple[Job, ...]:
    """The job map of a host."""
    collector = JobCollector(host, ManualClock())
    collector.poll(())
    return collector.jobs


@pytest.mark.parametrize("name", ["torchrun", "slurm", "pods", "vllm", "notebook"])
def test_the_same_map_comes_out(
    name: str, tree: Callable[[str], ListingFs], tmp_path: Path
) -> None:
    """Ids, kinds, ranks, cores, devices and processes; names of users and pods are not captured."""
    host = tree(f"proc/{name}")
    back = jobs_of(recorded(host, tmp_path / "c.tsv.gz"))
    assert _known(back) == _known(jobs_of(tree(f"proc/{name}")))
    assert back


def _known(jobs: tuple[Job, ...]) -> list[object]:
    return [
        (
            job._replace(ranks=(), started=None),
            [
                rank._replace(
                    process=rank.process._replace(
                        user=None,
                        hook=None,
                        pod=rank.process.pod
                        and rank.process.pod._replace(name=None, namespace=None),
                    )
                )
                for rank in job.ranks
            ],
        )
        for job in jobs
    ]


def test_no_secret_goes_in(tree: Callable[[str], ListingFs], tmp_path: Path) -> None:
    """Neither other variables nor secrets of command lines."""
    for name in ("torchrun", "slurm", "pods", "vllm"):
        host = tree(f"proc/{name}")
        recorded(host, tmp_path / f"{name}.tsv")
        text = (tmp_path / f"{name}.tsv").read_text("utf-8")
        for secret in ("not-to-be", "hf_", "AWS_SECRET", "HF_TOKEN", "JWT", "/home/ana/dev"):
            assert secret not in text


def test_processes_are_left_out_unless_asked_for(
    tree: Callable[[str], ListingFs], tmp_path: Path
) -> None:
    """A capture is handed to others; command lines may tell what somebody trains."""
    host = tree("proc/torchrun")
    recorded(host, tmp_path / "c.tsv", jobs=False)
    assert "proc/4110" not in (tmp_path / "c.tsv").read_text("utf-8")


def test_a_job_that_ends_is_gone_in_the_capture(
    tree: Callable[[str], ListingFs], tmp_path: Path
) -> None:
    """Three passes: what vanished is told, and what may not be looked into."""
    host = tree("proc/torchrun")
    back = recorded(host, tmp_path / "c.tsv", passes=3)
    collector = JobCollector(back, ManualClock())
    kinds = []
    for _ in range(3):
        collector.poll(())
        kinds.append({job.kind for job in collector.jobs})
        assert collector.scan is not None
        assert collector.scan.denied == 1
        back.advance()
    assert kinds == [{"training", "leftover", "monitor"}] * 2 + [{"leftover", "monitor"}]
