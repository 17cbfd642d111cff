"""Findings that no rule tells: their life, over restarts too."""

from __future__ import annotations

from neuron_observer.checks.beside import Beside, explain_beside
from neuron_observer.checks.judging import judge_by
from neuron_observer.model import Action, Confidence, Entity, Finding, Severity, State
from neuron_observer.rules.engine import Engine
from neuron_observer.rules.memory import Memory, Word

HELD = Finding(
    "device-held",
    Entity("device", device=0, job="job-1"),
    Severity.WARNING,
    Confidence.PROBABLE,
    Action.FIX_PROGRAM,
    "held",
)
OTHER = HELD._replace(entity=HELD.entity._replace(job="job-2"))
ME = Word("root (uid 0)", 1.0, "known")


def beside(memory: Memory | None = None) -> Beside:
    """With an engine that has no rules."""
    engine = Engine([], memory=memory)
    return Beside(lambda: engine, memory)


def test_it_stands_and_is_over_once() -> None:
    """Since when, last when; told as resolved when it is told no more."""
    told = beside()
    (first,) = told([HELD], 10.0, certain=True)
    (second,) = told([HELD], 20.0, certain=True)
    (third,) = told([], 30.0, certain=True)
    assert (first.first_seen, second.first_seen, second.last_seen) == (10.0, 10.0, 20.0)
    assert (third.state, third.first_seen) == (State.RESOLVED, 10.0)
    assert told([], 40.0, certain=True) == ()


def test_over_a_restart_it_is_the_same() -> None:
    """Also while it is not yet certain what there is; with what was said of it."""
    told = beside()
    told([HELD, OTHER], 10.0, certain=True)
    assert told.acknowledge("device-held", 0, ME) == 2
    again = beside(Memory(findings=told.kept()))
    waiting = again([], 20.0, certain=False)
    assert {(one.state, one.first_seen) for one in waiting} == {(State.ACKNOWLEDGED, 10.0)}
    assert len(waiting) == 2
    (stands, over) = again([HELD], 30.0, certain=True)
    assert (stands.state, stands.first_seen) == (State.ACKNOWLEDGED, 10.0)
    assert stands.note == "acknowledged by root (uid 0): known"
    assert over.state is State.RESOLVED


def test_findings_of_rules_are_not_taken_for_its_own() -> None:
    """They stand in the same memory."""
    told = beside()
    told([HELD._replace(id="sram-uncorrectable")], 10.0, certain=True)
    assert beside(Memory(findings=told.kept()))([], 20.0, certain=False) == ()


def test_it_can_be_suppressed_like_any_other() -> None:
    """By its id."""
    judge = judge_by([])
    assert not judge.suppress("no-such", None, 100.0, ME)
    assert judge.suppress("device-held", None, 100.0, ME)
    told = judge._beside
    (one,) = told([HELD], 10.0, certain=True)
    assert one.state is State.SUPPRESSED


def test_a_slow_rank_stands_over_a_restart_while_its_job_is_learned_anew() -> None:
    """Two ranks of one job are two findings; what is learned decides again."""
    slow = [
        HELD._replace(id="straggler", entity=Entity("rank", job="j", rank=rank)) for rank in (3, 5)
    ]
    told = beside()
    told([one._replace(first_seen=4.0) for one in slow], 10.0, certain=True)
    again = beside(Memory(findings=told.kept()))
    waiting = again([], 20.0, certain=True, learning={"j"})
    assert {(one.entity.rank, one.state, one.first_seen) for one in waiting} == {
        (3, State.FIRING, 4.0),
        (5, State.FIRING, 4.0),
    }
    stands, over = again([slow[0]], 30.0, certain=True)
    assert (stands.entity.rank, over.entity.rank, over.state) == (3, 5, State.RESOLVED)
    (ended,) = again([], 40.0, certain=True, learning={"j"})
    assert (ended.entity.rank, ended.state) == (3, State.RESOLVED)


def test_what_it_means_and_what_shows_it() -> None:
    """The alert of each that stands; of no other finding anything."""
    assert explain_beside("sram-uncorrectable", [HELD]) == ""
    assert "Now: no such finding." in explain_beside("straggler", [HELD])
    slow = HELD._replace(id="straggler", message="rank 3: busy 1.3x", impact="job j: rank 3")
    text = explain_beside("straggler", [slow, slow._replace(state=State.RESOLVED, message="old")])
    assert text.startswith("straggler\n\nA rank")
    assert "rank 3: busy 1.3x" in text
    assert "Hits:   job j: rank 3" in text
    assert "old" not in text
    assert explain_beside("device-held", [HELD]).endswith("\n\nheld\n")
