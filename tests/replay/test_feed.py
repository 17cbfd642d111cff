from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.model import Place
from neuron_observer.recording.reader import opened
from neuron_observer.replay import Player, ReplayFeed
from tests.recordings import make_judge, read_of, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.model import Frame

TEMPORARY = TemporaryDirectory()


class Made(NamedTuple):
    """A recording, and its frames as they are played through."""

    file: str
    frames: list[Frame]


@lru_cache
def made() -> Made:
    """Four seconds of a host, a frame each quarter."""
    file = Path(TEMPORARY.name, "r.nobs.gz")
    record(file, "healthy", 4.0)
    player, frames = Player(opened(str(file)), make_judge), []
    while (frame := player.step()) is not None:
        frames.append(frame)
    return Made(str(file), frames)


@pytest.fixture
def feed() -> Iterator[ReplayFeed]:
    """A feed that stands at the first frame."""
    one = ReplayFeed(opened(made().file), make_judge, ManualClock(), paused=True)
    yield one
    one.close()


def same(one: Frame | None, other: Frame) -> bool:
    """Whether two frames say the same."""
    return one is not None and (one.snapshot.at, one.findings, one.health, read_of(one)) == (
        other.snapshot.at,
        other.findings,
        other.health,
        read_of(other),
    )


def test_it_begins_at_the_first_frame(feed: ReplayFeed) -> None:
    """Which is there at once."""
    assert (feed.position, feed.span, feed.paused, feed.speed) == (0.0, 3.75, True, 1.0)
    assert len(feed.times) == 16
    assert not feed.ended
    assert same(feed.latest(), made().frames[0])


def test_steps_go_on_and_back(feed: ReplayFeed) -> None:
    """Not beyond either end."""
    feed.step(+1)
    assert feed.position == 0.25
    feed.step(+100)
    assert (feed.position, feed.ended) == (3.75, True)
    assert same(feed.latest(), made().frames[-1])
    feed.step(-1)
    assert (feed.position, feed.ended) == (3.5, False)
    assert same(feed.latest(), made().frames[-2])
    feed.step(-100)
    assert feed.position == 0.0


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["seek", "step"]), st.integers(-8, 18)), max_size=4))
def test_a_frame_is_the_same_however_it_was_reached(moves: list[tuple[str, int]]) -> None:
    """By any way of seeks and steps."""
    feed = ReplayFeed(opened(made().file), make_judge, ManualClock(), paused=True)
    number = 0
    for what, amount in moves:
        if what == "seek":
            feed.seek(amount * 0.25 + 0.1)
            number = min(max(amount, 0), 15)
        else:
            feed.step(amount)
            number = min(max(number + amount, 0), 15)
        assert same(feed.latest(), made().frames[number])
    feed.close()


def test_a_frame_shown_again_knows_nothing_of_what_follows(feed: ReplayFeed) -> None:
    """Neither its history nor its events."""
    feed.seek(3.75)
    metric, place = "core.execution.success", Place(0, 0)
    whole = feed.history(metric, place, 60.0)
    feed.step(-8)
    frame = feed.latest()
    assert frame is not None
    half = feed.history(metric, place, 60.0)
    assert 0 < len(half) < len(whole)
    assert all(value.read_time <= frame.snapshot.monotonic for value in half)
    feed.seek(0.0)
    assert list(feed.events(60.0)) == list(made().frames[0].snapshot.events)


def test_it_plays_at_its_speed() -> None:
    """By the clock that sets the pace; a seek does not make up for anything."""
    pace = ManualClock()
    feed = ReplayFeed(opened(made().file), make_judge, pace)
    due = feed._until_next  # what its thread waits for
    assert due() == pytest.approx(0.25)
    feed.speed = 10.0
    assert due() == pytest.approx(0.025)
    pace.advance(0.03)
    assert due() == 0.0
    feed.seek(2.0)
    assert due() == pytest.approx(0.025)
    feed.speed = 0.0
    assert due() == 0.0
    feed.paused = True
    assert due() is None
    feed.close()


def test_its_thread_plays_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """As fast as it goes, and then waits; it can be sent back meanwhile."""
    feed = ReplayFeed(opened(made().file), make_judge, ManualClock(), speed=0.0)
    reached = threading.Event()
    show = feed._show

    def shown(back: int) -> None:
        show(back)
        if feed.ended:
            reached.set()

    monkeypatch.setattr(feed, "_show", shown)  # how a test waits without sleeping
    feed.start()
    assert reached.wait(30)
    assert same(feed.latest(), made().frames[-1])
    feed.paused = True
    reached.clear()
    feed.seek(1.0)
    feed.step(100)
    assert reached.wait(30)
    feed.close()


def test_what_a_finding_means(feed: ReplayFeed) -> None:
    """As the rules tell it."""
    assert "SRAM" in feed.explain("sram-uncorrectable")
    assert feed.explain("unknown") == ""
