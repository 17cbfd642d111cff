"""A state that was set aside is a finding for a day, over restarts too."""

from __future__ import annotations

from neuron_observer.checks.aside import LASTING, STATE_SET_ASIDE
from neuron_observer.checks.judging import judge_by
from neuron_observer.model import NODE, Event, JobScan, State, Verdict
from neuron_observer.rules.memory import Word
from tests.rules.scenes import snapshot
from tests.store.nodes import chip

TOLD = Event("store_set_aside", NODE, 0.0, "the state was set aside: broken")


def test_told_for_a_day() -> None:
    """It says what happened, makes nobody unwell, can be acknowledged, and is over by itself."""
    judge = judge_by(())
    begin = snapshot(10.0, {}, devices=(chip(),))._replace(job_scan=None)
    at = begin.at
    findings, health = judge(begin._replace(events=(TOLD._replace(at=at),)))
    (one,) = findings
    assert (one.id, one.message) == (STATE_SET_ASIDE, TOLD.message)
    assert health.verdict is not Verdict.DEGRADED
    assert judge.acknowledge(STATE_SET_ASIDE, None, Word("root (uid 0)", at, "a test")) == 1
    again = judge_by((), memory=judge.memory())
    (one,), _ = again(begin._replace(at=at + LASTING - 1))
    assert (one.state, one.first_seen) == (State.ACKNOWLEDGED, at)


def test_then_it_is_over() -> None:
    """Once, as resolved; a second time aside tells it anew."""
    judge = judge_by(())
    begin = snapshot(10.0, {}, devices=(chip(),))._replace(job_scan=JobScan(0, 0, 0, 0))
    judge(begin._replace(events=(TOLD._replace(at=begin.at),)))
    (over,), _ = judge(begin._replace(at=begin.at + LASTING + 1))
    assert over.state is State.RESOLVED
    assert judge(begin._replace(at=begin.at + LASTING + 2))[0] == ()
    later = begin.at + LASTING + 3
    (anew,), _ = judge(begin._replace(at=later, events=(TOLD._replace(at=later),)))
    assert (anew.state, anew.first_seen) == (State.FIRING, later)


def test_a_node_without_it_has_none() -> None:
    """Nothing is remembered of other events."""
    judge = judge_by(())
    other = TOLD._replace(kind="store_writable")
    assert judge(snapshot(10.0, {}, devices=(chip(),))._replace(events=(other,)))[0] == ()
