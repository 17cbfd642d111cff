"""Answers at hand: asked for by `look` alone, again only when due, kept where nobody answers."""

from __future__ import annotations

from neuron_observer.client.kept import WANTED, Kept
from neuron_observer.clock import ManualClock
from neuron_observer.errors import DaemonError

PERIOD = 2.0


class Questions:
    """Who answers, and what was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_there = True

    def answer(self, question: str) -> str:
        """Each time another answer."""
        self.asked.append(question)
        if not self.is_there:
            raise DaemonError("nobody is there")
        return f"{question} {len(self.asked)}"


def test_asked_by_look_alone() -> None:
    """`get` never asks; what nobody wants is not asked either."""
    questions, clock = Questions(), ManualClock()
    kept = Kept(questions.answer, clock, PERIOD)
    kept.look()
    assert kept.get("a") is None
    assert questions.asked == []
    kept.look()
    assert kept.get("a") == "a 1"
    kept.look()
    assert questions.asked == ["a"]
    clock.advance(PERIOD)
    kept.look()
    assert kept.get("a") == "a 2"


def test_no_longer_wanted() -> None:
    """Half a minute after somebody looked last it is not asked for any more; its answer stays."""
    questions, clock = Questions(), ManualClock()
    kept = Kept(questions.answer, clock, PERIOD)
    kept.want("a")
    kept.look()
    clock.advance(WANTED + 1.0)
    kept.look()
    kept.look()
    assert questions.asked == ["a"]
    assert kept.get("a") == "a 1"


def test_nobody_answers() -> None:
    """The last answer stays; what never was answered is asked again when it is due."""
    questions, clock = Questions(), ManualClock()
    kept = Kept(questions.answer, clock, PERIOD)
    kept.want("a")
    kept.look()
    questions.is_there = False
    kept.want("b")
    clock.advance(PERIOD)
    kept.look()
    assert (kept.get("a"), kept.get("b")) == ("a 1", None)
    questions.is_there = True
    clock.advance(PERIOD)
    kept.look()
    assert kept.get("b") == "b 5"


def test_bounded() -> None:
    """Of a thousand questions that nobody puts again few answers are held."""
    questions, clock = Questions(), ManualClock()
    kept = Kept(questions.answer, clock, PERIOD)
    for number in range(1000):
        kept.want(str(number))
        kept.look()
        clock.advance(PERIOD)
    assert len(kept._held) <= 64
    assert len(kept._wanted) <= WANTED / PERIOD + 1
