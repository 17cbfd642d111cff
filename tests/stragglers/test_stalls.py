"""Who holds up a job that stands still, by the evidence there is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from neuron_observer.model import Action, Confidence, Severity
from neuron_observer.stragglers.columns import Topology
from neuron_observer.stragglers.stalls import HangKind, Progress, Stall, blame, finding

if TYPE_CHECKING:
    from collections.abc import Sequence

RANKS = 8
NOBODY = np.zeros(RANKS, dtype=np.bool_)
ALL = np.ones(RANKS, dtype=np.bool_)


def only(*rows: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """A mask of these rows."""
    mask = np.zeros(RANKS, dtype=np.bool_)
    mask[list(rows)] = True
    return mask


def hooked(entered: Sequence[float], completed: Sequence[float] | None = None) -> Progress:
    """A sample with collective numbers; all wait in the last one unless said."""
    inside = np.array(entered) - 1 if completed is None else np.array(completed)
    return Progress(100.0, np.full(RANKS, 7.0), entered=np.array(entered), completed=inside)


def judge(progress: Progress) -> Stall:
    """The stall that this sample shows."""
    return blame(progress, since=30.0, usual=4.0)


def test_the_rank_that_did_not_come_is_named() -> None:
    """As a flight recorder showed it: seven ranks in collective 8, one has completed 7."""
    absent = hooked([8, 8, 7, 8, 8, 8, 8, 8], [7, 7, 7, 7, 7, 7, 7, 7])
    assert judge(absent)[:2] == (HangKind.HOST, (2,))
    loading = replace(absent, in_input=only(2))
    assert judge(loading)[:2] == (HangKind.INPUT, (2,))
    spinning = replace(absent, device_busy=only(2))
    stall = judge(spinning)
    assert stall[:2] == (HangKind.COMPUTE, (2,))
    assert not stall.hardware
    assert judge(replace(spinning, timed_out=only(2))).hardware


def test_stages_that_count_their_own_collectives() -> None:
    """Numbers differ by stage; what counts is who is in none."""
    entered = [11, 11, 11, 11, 21, 21, 20, 21]
    completed = [10, 10, 10, 10, 20, 20, 20, 20]
    assert judge(hooked(entered, completed)).rows == (6,)


def test_all_in_one_collective_names_nobody_without_a_link_error() -> None:
    """The transport hangs: look at the other workers, blame no device."""
    inside = hooked([8] * RANKS)
    stall = judge(inside)
    assert (stall.kind, stall.rows) == (HangKind.COLLECTIVE, ())
    flagged = judge(replace(inside, link_error=only(4, 5)))
    assert (flagged.kind, flagged.rows) == (HangKind.COLLECTIVE, (4, 5))
    victims = judge(replace(inside, timed_out=only(1)))
    assert (victims.kind, victims.rows) == (HangKind.COLLECTIVE, ())


def test_different_collectives_are_the_program() -> None:
    """One rank entered another operation."""
    desync = replace(hooked([8] * RANKS), operation=np.array([1, 1, 1, 2, 1, 1, 1, 1]))
    assert judge(desync)[:2] == (HangKind.DESYNC, (3,))
    half = replace(desync, operation=np.array([1, 1, 1, 1, 2, 2, 2, 2]))
    assert judge(half)[:2] == (HangKind.DESYNC, ())


def test_a_dead_peer_comes_first() -> None:
    """The process is gone; all others wait for it."""
    stall = judge(replace(hooked([8, 7, 8, 8, 8, 8, 8, 8]), alive=~only(1)))
    assert stall[:2] == (HangKind.CRASHED_PEER, (1,))


def test_a_rank_that_is_not_heard_may_be_the_one() -> None:
    """All others wait in the same collective; the silent one is not accused, only mentioned."""
    silent = hooked([8, 8, 8, float("nan"), 8, 8, 8, 8])
    stall = judge(silent)
    assert stall.rows == ()
    assert "1 ranks are not heard" in stall.why
    assert judge(replace(silent, device_busy=only(3))).rows == (3,)
    assert judge(replace(silent, device_busy=only(4))).rows == ()


def test_a_lost_link_in_a_job_of_stages() -> None:
    """All are inside, and stages count their own: a lower number of another stage says nothing."""
    inside = hooked([11, 11, 21, 21, 21, 21, 21, 21])
    roles = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    lost = replace(inside, role=roles, link_error=only(6))
    assert judge(lost)[:2] == (HangKind.COLLECTIVE, (6,))
    assert judge(replace(inside, role=roles))[:2] == (HangKind.COLLECTIVE, ())
    behind = replace(hooked([11, 11, 21, 21, 20, 21, 21, 21]), role=roles)
    assert judge(behind).rows == (4,)


def test_most_ranks_absent_accuse_nobody() -> None:
    """Five of eight did not come: that is not five culprits."""
    stall = judge(hooked([8, 8, 8, 7, 7, 7, 7, 7]))
    assert stall.rows == ()
    assert "5 of 8" in stall.why


@pytest.mark.parametrize(
    ("seen", "kind", "rows"),
    [
        ({"device_busy": only(5)}, HangKind.COMPUTE, (5,)),
        ({"blocked": only(6)}, HangKind.HOST, (6,)),
        ({"link_error": only(0, 1)}, HangKind.COLLECTIVE, (0, 1)),
        ({"timed_out": only(2)}, HangKind.COMPUTE, (2,)),
        ({"device_busy": ALL, "blocked": NOBODY}, HangKind.UNKNOWN, ()),
        ({"timed_out": ALL}, HangKind.UNKNOWN, ()),
        ({}, HangKind.UNKNOWN, ()),
    ],
)
def test_without_a_hook_only_what_differs_speaks(
    seen: dict[str, object], kind: HangKind, rows: tuple[int, ...]
) -> None:
    """A minority that differs is named; what all show says nothing."""
    passive = replace(Progress(100.0, np.full(RANKS, 7.0)), **seen)  # type: ignore[arg-type]
    assert judge(passive)[:2] == (kind, rows)


def test_a_stall_as_a_finding() -> None:
    """Critical; the device is blamed only if its own counter says so."""
    world = Topology.of(range(100, 108), node=["a"] * 4 + ["b"] * 4, device=[0, 0, 1, 1] * 2)
    stall = judge(replace(hooked([8, 8, 7, 8, 8, 8, 8, 8]), device_busy=only(2)))
    found = finding(stall, world, wall=1000.0, quiet=70.0, job="llm")
    assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.PROBABLE)
    assert (found.entity.rank, found.entity.node, found.entity.device) == (102, "a", 1)
    assert found.action is Action.RESTART_JOB
    assert not found.blames_hardware
    assert found.first_seen == 930.0
    assert found.evidence[0].fields["class"] == "compute_hang"


def test_a_stall_of_nobody_as_a_finding() -> None:
    """The job is the entity, and the message says that nobody can be named."""
    world = Topology.of(range(RANKS))
    found = finding(judge(hooked([8] * RANKS)), world, wall=1000.0, quiet=70.0)
    assert found.entity.kind == "job"
    assert "nobody can be named" in found.message
    assert found.action is Action.LOOK_AT_OTHER_WORKERS
