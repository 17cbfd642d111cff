"""A feed of a daemon's frames: on this machine's clock, honest when the connection is gone."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from neuron_observer.client import Client, Reply
from neuron_observer.client.address import Address
from neuron_observer.client.feed import EVENTS_PERIOD, PERIOD, TEXTS_PERIOD, ConnectedFeed
from neuron_observer.client.polling import LONGEST_PAUSE
from neuron_observer.clock import ManualClock
from neuron_observer.errors import DaemonError
from neuron_observer.feed import CONNECTION
from neuron_observer.model import Place, Value
from neuron_observer.readings import reading
from tests.client.servers import answering
from tests.daemon.daemons import Simulated, faulty, got

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GONE = DaemonError("nobody is there")
CORE = Place(0, 0)
METRIC = "core.inferences"


class Line(Client):
    """A client of a daemon in this process, whose connection a test may cut."""

    def __init__(self, daemon: Simulated) -> None:
        super().__init__(Address("http", "n1", 1))
        self.daemon = daemon
        self.cut = False
        self.lacks = ""
        self.asked: list[str] = []

    def fetch(
        self, name: str, query: Mapping[str, str | None] | None = None, *, tag: str = ""
    ) -> Reply:
        """From the daemon as it is now; the same frame is not sent again."""
        self.asked.append(name)
        if self.cut:
            raise GONE
        if name == self.lacks:
            raise DaemonError("no such path", status=404)
        text = "&".join(f"{key}={value}" for key, value in (query or {}).items() if value)
        answer = got(self.daemon.answers, f"/api/v1/{name}{'?' if text else ''}{text}")
        document = json.loads(answer.body)
        if answer.status == 404:
            raise DaemonError(document["title"], status=404)
        assert answer.status == 200, document
        now = str(document["frame"]["id"])
        return Reply(None, tag) if now == tag else Reply(document, now)


@pytest.fixture
def line() -> Line:
    """To a daemon whose wall and monotonic clocks have nothing to do with those of here."""
    return Line(Simulated("healthy"))


def test_a_frame_stands_on_the_clock_of_here(line: Line) -> None:
    """Its age is what the daemon says, whatever the clocks show; then it goes on here."""
    clock = ManualClock(wall=5.0, monotonic=77.0)
    line.daemon.clock.advance(0.4)
    frame = ConnectedFeed(line, clock).poll()
    assert clock.monotonic() - frame.snapshot.monotonic == pytest.approx(0.4)
    value = reading(frame.snapshot.batches, METRIC, CORE)
    assert isinstance(value, Value)
    assert 0 <= 77.0 - value.read_time < 2.0


def test_a_history_of_what_was_asked(line: Line) -> None:
    """One value a frame, as it was read; the same frame again is no other value."""
    clock = ManualClock(monotonic=10.0)
    feed = ConnectedFeed(line, clock)
    for seconds in (0.0, 0.0, 1.0, 1.0, 0.0):
        clock.advance(seconds)
        line.daemon.go(seconds)
        feed.poll()
    values = feed.history(METRIC, CORE, 60.0)
    assert len(values) == 3
    assert [b.read_time - a.read_time for a, b in pairwise(values)] == [1, 1]
    assert values[-1].value > values[0].value  # type: ignore[operator]  # both are counts


def test_a_connection_that_is_lost_and_comes_back(line: Line) -> None:
    """The last frame stays with a run that says why; pauses grow, within bounds, and end."""
    feed = ConnectedFeed(line, ManualClock())
    feed.poll()
    line.cut = True
    pauses = []
    for _ in range(8):
        feed.look()
        pauses.append(feed.pause)
    assert pauses == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]
    assert max(pauses) == LONGEST_PAUSE
    lost = feed.latest()
    assert lost
    [run] = [run for run in lost.snapshot.runs if run.collector == CONNECTION]
    assert run == (CONNECTION, False, LONGEST_PAUSE, "nobody is there")
    line.cut = False
    feed.look()  # still the same frame
    assert feed.pause == PERIOD
    found = feed.latest()
    assert found
    assert [run for run in found.snapshot.runs if run.collector == CONNECTION] == []
    assert found.snapshot.monotonic == lost.snapshot.monotonic


def test_an_older_daemon_has_no_columns(line: Line) -> None:
    """Then its snapshots are read, and columns are not asked for again."""
    line.lacks = "columns"
    feed = ConnectedFeed(line, ManualClock())
    for _ in range(3):
        line.daemon.go(1.0)
        assert reading(feed.poll().snapshot.batches, METRIC, CORE)
    assert line.asked == ["columns", "snapshot", "snapshot", "snapshot"]


def test_nobody_from_the_start(line: Line) -> None:
    """The first question fails as an error; nothing is made up."""
    line.cut = True
    feed = ConnectedFeed(line, ManualClock())
    with pytest.raises(DaemonError):
        feed.poll()
    feed.look()
    assert feed.latest() is None


def test_events_and_explanations_are_at_hand() -> None:
    """Asked for by who polls, again while somebody looks; kept while the daemon is not there."""
    line, clock = Line(faulty()), ManualClock()
    feed = ConnectedFeed(line, clock)
    assert feed.explain("sram-uncorrectable") == ""
    assert feed.events(900.0) == []
    feed.look()
    assert "sram-uncorrectable" in feed.explain("sram-uncorrectable")
    held = faulty().loop.feed.events(900.0)
    assert [one.message for one in feed.events(900.0)] == [one.message for one in held]
    feed.look()
    assert line.asked.count("events") == 1
    clock.advance(max(EVENTS_PERIOD, TEXTS_PERIOD))
    feed.look()
    assert line.asked.count("events") == 2
    line.cut = True
    clock.advance(EVENTS_PERIOD)
    feed.look()
    assert "sram-uncorrectable" in feed.explain("sram-uncorrectable")
    assert len(feed.events(900.0)) == len(held) > 0


def test_a_thread_of_its_own(tmp_path: Path) -> None:
    """It begins and ends; a feed that never began ends too."""
    with answering(faulty().answers, tmp_path) as client:
        feed = ConnectedFeed(client, ManualClock())
        feed.poll()
        feed.start()
        feed.close()
        assert feed.latest() is not None
    ConnectedFeed(Client(Address("unix", path="/nowhere")), ManualClock()).close()
