"""What kind of slowness, from side columns on made-up jobs."""

from __future__ import annotations

import numpy as np
import pytest

from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.columns import Floats, SideColumns, TimeSource
from neuron_observer.stragglers.suspects import Kind, Scope, Suspect
from tests.stragglers.jobs import Job, slow

ONSET = 80
NORMAL = {"ecc": 0.0, "unhealthy": 0.0, "power": 0.7, "host_gap": 0.05, "host_wait": 0.01}


def watched(rank: int, name: str, value: float, size: int = 32) -> Job:
    """A job in which one rank becomes 30 % slower and one of its side columns changes."""

    def side(step: int) -> SideColumns:
        columns = {key: np.full(size, usual) for key, usual in NORMAL.items()}
        if step >= ONSET and name:
            columns[name][rank] = value
        return SideColumns(**columns)

    return Job(change=slow([rank], 1.3, ONSET), side=side)


def last(job: Job) -> Suspect:
    """The one suspect at the end."""
    (suspect,) = job.run()[-1].suspects
    return suspect


@pytest.mark.parametrize(
    ("name", "value", "kind", "hardware"),
    [
        ("", 0.0, Kind.COMPUTE, False),
        ("ecc", 3.0, Kind.CHIP, True),
        ("unhealthy", 1.0, Kind.CHIP, True),
        ("power", 0.98, Kind.THROTTLED, False),
        ("host_gap", 1.25, Kind.HOST, False),
        ("host_wait", 1.0, Kind.HOST, False),
        ("host_gap", 0.1, Kind.COMPUTE, False),
        ("ecc", 0.05, Kind.COMPUTE, False),
    ],
)
def test_kinds(name: str, value: float, kind: Kind, hardware: bool) -> None:
    """Counters, power and host explain the excess, or they do not."""
    suspect = last(watched(7, name, value))
    assert (suspect.kind, suspect.hardware) == (kind, hardware)
    assert suspect.basis


def test_one_ecc_event_at_the_wrong_time_is_no_cause() -> None:
    """A single corrected error in healthy memory happens."""

    def side(step: int) -> SideColumns:
        ecc = np.zeros(32)
        ecc[7] = 1.0 if step == ONSET + 8 else 0.0
        return SideColumns(ecc=ecc)

    assert last(Job(change=slow([7], 1.3, ONSET), side=side)).kind is Kind.COMPUTE


def test_without_a_hook_the_one_device_whose_counters_move_is_named() -> None:
    """The job slows and ECC events begin on one device: a suspect by hardware counters alone."""

    def side(step: int) -> SideColumns:
        ecc = np.zeros(32)
        ecc[4:8] = 2.0 if step >= ONSET else 0.0
        return SideColumns(ecc=ecc)

    job = Job(change=slow([5], 1.5, ONSET), side=side, source=TimeSource.NONE)
    suspect = last(job)
    assert (suspect.scope, suspect.kind, suspect.tier) == (Scope.DEVICE, Kind.CHIP, Tier.WARNING)
    assert suspect.hardware
    assert suspect.rows == (4, 5, 6, 7)


def test_counters_on_two_devices_name_neither() -> None:
    """Either could be it."""

    def side(step: int) -> SideColumns:
        ecc = np.zeros(32)
        ecc[[4, 20]] = 2.0 if step >= ONSET else 0.0
        return SideColumns(ecc=ecc)

    job = Job(change=slow([5], 1.5, ONSET), side=side, source=TimeSource.NONE)
    said = job.run()[-1]
    assert said.suspects == ()
    assert said.refusals


def _slower(rows: list[int], ratio: float, step: int, column: Floats) -> None:
    if step >= ONSET:
        column[rows] *= ratio


def test_slow_transfers_of_one_group_are_a_link() -> None:
    """The shortest collective of one stage doubles; nobody computes longer."""
    stage = list(range(16))
    said = Job(transfer=lambda step, column: _slower(stage, 2.0, step, column)).run()[-1]
    (suspect,) = said.suspects
    assert (suspect.kind, suspect.scope) == (Kind.NETWORK, Scope.LINK)
    assert suspect.ratio == pytest.approx(2.0, abs=0.1)


def test_slow_transfers_everywhere_are_the_fabric() -> None:
    """All groups: the job's network, no rank."""
    everybody = list(range(32))
    said = Job(transfer=lambda step, column: _slower(everybody, 2.0, step, column)).run()[-1]
    (suspect,) = said.suspects
    assert (suspect.kind, suspect.scope, suspect.group) == (Kind.NETWORK, Scope.JOB, "fabric")


def test_a_rank_that_nobody_sees_may_be_what_slows_transfers() -> None:
    """Its hook is missing: the network is not accused."""

    def gone(step: int, busy: Floats) -> None:
        if step >= ONSET:
            busy[3] = np.nan

    everybody = list(range(32))
    job = Job(change=gone, transfer=lambda step, column: _slower(everybody, 2.0, step, column))
    said = job.run()[-1]
    assert said.suspects == ()
    assert "nobody sees" in said.refusals[0]
