"""Jobs that stop leave the traces that they should."""

import numpy as np
import pytest

from benchmarks.stragglers.hangs import HANGS, PAUSES, Case, HangClass, Look, Pause, draw, looks
from benchmarks.stragglers.topology import TOPOLOGIES

TOPOLOGY = TOPOLOGIES[64]


def _last(case: Case) -> Look:
    *_, last = looks(case)
    return last


@pytest.mark.parametrize("name", HANGS)
def test_nothing_moves_after_a_hang(name: HangClass) -> None:
    """Steps, collectives and executions of all ranks stand still to the end."""
    case = draw(name, TOPOLOGY, 4)
    seen = [look for look in looks(case) if look.at - 1_790_000_000.0 > case.stops_after + 20]
    assert len(seen) > 100
    for column in ("step", "entered", "completed", "executions"):
        assert (getattr(seen[0], column) == getattr(seen[-1], column)).all()


@pytest.mark.parametrize("name", ["crashed peer", "host deadlock", "input hang", "compute hang"])
def test_the_culprit_is_in_no_collective_and_all_others_are(name: HangClass) -> None:
    """Only it has completed all that it entered."""
    case = draw(name, TOPOLOGY, 4)
    last = _last(case)
    assert tuple(np.flatnonzero(last.entered == last.completed)) == case.culprits


def test_ranks_of_a_desync_are_all_inside_with_another_operation() -> None:
    """The culprit entered something else than everybody."""
    case = draw("desync", TOPOLOGY, 4)
    last = _last(case)
    assert (last.entered == last.completed + 1).all()
    assert tuple(np.flatnonzero(last.shape != np.median(last.shape))) == case.culprits


def test_a_lost_link_leaves_its_flag_and_no_culprit() -> None:
    """All are inside; one device reports the error."""
    case = draw("collective", TOPOLOGY, 4)
    last = _last(case)
    assert case.culprits == ()
    assert (last.entered == last.completed + 1).all()
    assert tuple(np.flatnonzero(last.link_error)) == TOPOLOGY.on_device(case.faulty_device)


def test_evidence_of_each_hang_is_its_own() -> None:
    """A crash takes the process away, a loader hang is in the loader, a compute hang is busy."""
    crashed, loader, compute = (
        _last(draw(name, TOPOLOGY, 4)) for name in ("crashed peer", "input hang", "compute hang")
    )
    assert [int((~look.alive).sum()) for look in (crashed, loader, compute)] == [1, 0, 0]
    assert [int(look.in_loader.sum()) for look in (crashed, loader, compute)] == [0, 1, 0]
    assert [int(look.device_busy.sum()) for look in (crashed, loader, compute)] == [0, 0, 1]


@pytest.mark.parametrize("name", PAUSES)
def test_a_job_goes_on_after_a_pause(name: Pause) -> None:
    """It has done more steps at the end than when it paused."""
    case = draw(name, TOPOLOGY, 4)
    at_pause = [look for look in looks(case) if look.at - 1_790_000_000.0 <= case.stops_after]
    before = int(at_pause[-1].step[0]) if at_pause else 0
    assert int(_last(case).step[0]) > before


def test_an_evaluation_runs_collectives_but_no_steps() -> None:
    """Executions go on while the step count stands still."""
    case = draw("evaluation", TOPOLOGY, 4)
    during = [
        look
        for look in looks(case)
        if 10 < look.at - 1_790_000_000.0 - case.stops_after < case.pause_s - 10
    ]
    assert during[0].step[0] == during[-1].step[0]
    assert during[0].executions[0] < during[-1].executions[0]


def test_stale_counters_never_move() -> None:
    """On old drivers executions stand still in a healthy job."""
    case = draw("recompile", TOPOLOGY, 4)
    assert {int(look.executions[0]) for look in looks(case, stale=True)} == {0}
