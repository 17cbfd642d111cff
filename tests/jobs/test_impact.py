"""Whom a finding hits, who holds a device, and what is said of leftovers."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_observer.jobs.grouping import Around, group
from neuron_observer.jobs.impact import (
    MOST_NAMED,
    RECENT,
    Impacts,
    holder_text,
    impact,
    leftovers,
)
from neuron_observer.model import (
    Action,
    Confidence,
    Driver,
    Entity,
    Finding,
    Job,
    JobScan,
    Pod,
    Severity,
    Snapshot,
)
from neuron_observer.parsers.cgroup import Membership
from neuron_observer.parsers.neuron_ls import parse
from tests.jobs.makers import TRN2, holder, rank_variables, torch_job

CASES = Path(__file__).parent.parent / "cases"
JOB = torch_job(64)


@pytest.mark.parametrize(
    ("entity", "ranks"),
    [
        (Entity("device", device=3), "ranks 12-15 of 64"),
        (Entity("core", device=3, core=1), "ranks 12-15 of 64"),
        (Entity("link", device=0), "ranks 0-3 of 64"),
        (Entity("node"), "ranks 0-63 of 64"),
        (Entity("rank", job=JOB.id, rank=7), "rank 7 of 64"),
        (Entity("job", job=JOB.id), "ranks 0-63 of 64"),
    ],
)
def test_ranks_that_are_hit(entity: Entity, ranks: str) -> None:
    """A core of a device is physical and a rank's logical: all ranks of the device are named."""
    assert impact(entity, [JOB]) == f"job {JOB.id} (training, train.py run): {ranks}"


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        (Entity("device", device=15), "no job holds neuron15 now"),
        (Entity("job", job="other"), ""),
        (Entity("port", port="rdmap0"), "no job here spans nodes"),
    ],
)
def test_nobody_is_hit(entity: Entity, text: str) -> None:
    """What no job uses hits no job, and that is said."""
    assert impact(entity, [torch_job(4)]) == text


def test_no_job_at_all() -> None:
    """An idle node."""
    assert impact(Entity("node"), []) == "no job here"


def test_a_port_hits_jobs_that_span_nodes() -> None:
    """64 ranks of which 4 are here."""
    part = torch_job(4)._replace(world_size=64)
    assert "ranks 0-3 of 64" in impact(Entity("port", port="rdmap0"), [part])


def test_two_jobs_on_one_device_are_both_named() -> None:
    """Nobody can say which of them a fault of the device hits."""
    other = holder(7, (0,), "python3 serve.py")
    text = impact(Entity("device", device=0), [torch_job(4), *group([other], Around())])
    assert "ranks 0-3 of 4" in text
    assert "pid 7" in text


def test_monitors_are_not_hit() -> None:
    """A tool that reads a device loses nothing."""
    tool = group([holder(7, (0,), "neuron-top")], Around())
    assert impact(Entity("device", device=0), tool) == "no job holds neuron0 now"


def test_the_line_is_bounded() -> None:
    """A hundred jobs on a node are counted, not listed."""
    jobs = group([holder(n, (0,), f"python3 a{n}.py") for n in range(100)], Around())
    text = impact(Entity("node"), jobs)
    assert text.count("job ") == MOST_NAMED
    assert text.endswith("and 96 more jobs")


def test_a_pid_of_another_namespace_is_said_to_be_one() -> None:
    """Cases B11 and C08: neuron-ls in a pod names a pid that this /proc does not have."""
    text = (CASES / "B/B11-inf2.xlarge-in-pod-foreign-pid.txt").read_text("utf-8")
    table = "".join(line + "\n" for line in text.splitlines() if not line.startswith("#"))
    listing = parse(table, status=0, stderr="")
    (process,) = listing.devices[0].processes or ()
    assert process.pid == 19047
    assert holder_text(process.pid, []).startswith("pid 19047, which holds no device in this /proc")


def test_a_holder_is_named_with_its_pod() -> None:
    """Case E46: a core held by a pid, and which pod that is."""
    pod = Pod("0aa5bd3c", "worker-0", "ml-team")
    jobs = group([holder(19047, (0,), "python3 serve.py", pod=pod)], Around())
    assert holder_text(19047, jobs) == (
        f"pid 19047 (python3, pod ml-team/worker-0, job {jobs[0].id})"
    )


@pytest.mark.parametrize(
    ("state", "action", "how"),
    [
        ("S", Action.FIX_PROGRAM, "ending it frees it"),
        ("D", Action.REBOOT, "only a reboot frees the device"),
    ],
)
def test_a_leftover_is_a_finding_that_blames_no_hardware(
    state: str, action: Action, how: str
) -> None:
    """A process of a dead job keeps a device from the next one: never a replacement."""
    gone = Membership("/kubepods/pod", pod="p", container="3f" * 32, deleted=True)
    left = holder(7, (2, 3), variables=rank_variables(0, 1), member=gone, state=state)
    found = leftovers(group([left, holder(8, (4,))], Around(TRN2)))
    assert [finding.entity.device for finding in found] == [2, 3]
    assert {finding.action for finding in found} == {action}
    assert all(how in finding.message and "pid 7" in finding.message for finding in found)
    assert not any(finding.blames_hardware for finding in found)
    assert all(finding.severity is Severity.WARNING for finding in found)
    assert all((CASES.parent.parent / finding.runbook).is_file() for finding in found)


def test_a_leftover_is_hit_by_nothing() -> None:
    """Its job is dead already; that it holds the device is said."""
    gone = Membership("/kubepods/pod", deleted=True)
    (left,) = group([holder(7, (0,), variables=rank_variables(0, 1), member=gone)], Around(TRN2))
    text = f"no job holds neuron0 now, only what is left of {left.id}"
    assert impact(Entity("device", device=0), [left]) == text
    assert impact(Entity("node"), [left]) == "no job here"


FAULT = Finding(
    "sram", Entity("device", device=0), Severity.CRITICAL, Confidence.PROBABLE, Action.NONE, "x"
)
HIT = f"job {JOB.id} (training, train.py run): ranks 0-3 of 64"


def seen(*jobs: Job, at: float, scan: bool = True) -> Snapshot:
    """What was read `at` some second."""
    found = JobScan(10, len(jobs), 0, 0) if scan else None
    return Snapshot(at, at, "/", None, Driver(None, "live"), (), (), jobs=jobs, job_scan=found)


def test_a_job_that_its_fault_ended_is_still_named() -> None:
    """Whether it ended before the finding came up or after; a later job takes its place."""
    late, early = Impacts(), Impacts()
    late.add((), seen(JOB, at=0.0))
    assert late.add((FAULT,), seen(at=20.0))[0].impact == f"{HIT}; no longer there"
    assert early.add((FAULT,), seen(JOB, at=0.0))[0].impact == HIT
    for at in (10.0, 500.0):
        assert early.add((FAULT,), seen(at=at))[0].impact == f"{HIT}; no longer there"
    other = torch_job(4)._replace(id="other")
    assert "job other" in early.add((FAULT,), seen(other, at=510.0))[0].impact


def test_a_job_that_ended_long_before_is_not_blamed_on_a_fault() -> None:
    """A minute later nobody can say that it was hit."""
    impacts = Impacts()
    impacts.add((), seen(JOB, at=0.0))
    found = impacts.add((FAULT,), seen(at=RECENT + 1))
    assert found[0].impact == "no job holds neuron0 now"


def test_where_nobody_could_look_nothing_is_said() -> None:
    """An unknown map is no empty one."""
    assert Impacts().add((FAULT,), seen(at=0.0, scan=False)) == (FAULT,)
