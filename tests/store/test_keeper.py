"""What people say, what is kept when, and what happens when the disk says no."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import UsageError
from neuron_observer.model import Event, Place, Severity, State, Verdict
from neuron_observer.rules import rule as r
from neuron_observer.rules.memory import Word
from neuron_observer.store.acts import Act
from neuron_observer.store.retention import Retention
from tests.rules.scenes import rule
from tests.store.nodes import Node, chip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from neuron_observer.store.acts import Done

SRAM = "device.sram.ecc_uncorrected"
OF_SRAM = rule(r.Above(SRAM, 0), clear=30.0, required=True)
WHO = "root (uid 0)"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """A node with one fault to find."""
    one = Node(tmp_path / "state", [OF_SRAM])
    yield one
    one.kill()


def say(node: Node, verb: str, subject: str = "", **other: object) -> Done:
    """Have somebody say something, and what came of it."""
    word = Word(WHO, node.clock.wall(), "a test")
    future = node.keeper.submit(Act(verb, word, subject, **other))  # type: ignore[arg-type]
    node.look(1.0, {SRAM: 3})
    node.look(0.25, {SRAM: 3})
    node.flush()
    return future.result(timeout=1)


def test_acknowledged_it_is_known_and_still_counts(node: Node) -> None:
    """Over restarts and flapping; until it is over."""
    node.look(cells={SRAM: 3})
    done = say(node, "ack", "fault", device=0)
    assert (done.text, done.kept) == ("fault of device 0: acknowledged, 1 finding", True)
    node.look(cells={SRAM: 3})
    assert node.one().state is State.ACKNOWLEDGED
    assert node.one().note == f"acknowledged by {WHO}: a test"
    assert node.health.verdict is Verdict.UNHEALTHY
    node.kill()
    node.start()
    node.look(cells={SRAM: 0})
    assert node.one().state is State.RECOVERING
    node.look(cells={SRAM: 3})
    assert node.one().state is State.ACKNOWLEDGED
    node.look(cells={SRAM: 0})
    node.look(31.0, {SRAM: 0})
    node.look(cells={SRAM: 0})
    node.look(cells={SRAM: 3})
    assert node.one().state is State.FIRING


def test_suppressed_it_counts_not_and_is_listed(node: Node) -> None:
    """Over restarts, until its time is over; underneath its life goes on."""
    node.look(cells={SRAM: 3})
    node.look(cells={SRAM: 3})
    done = say(node, "suppress", "fault", until=node.clock.wall() + 3600.0)
    assert (done.text, done.kept) == ("fault: suppressed", True)
    node.look(cells={SRAM: 3})
    assert (node.one().state, node.health.verdict) == (State.SUPPRESSED, Verdict.HEALTHY)
    assert node.one().note == f"suppressed by {WHO}: a test"
    node.kill()
    node.start()
    node.look(cells={SRAM: 3})
    assert (node.one().state, node.health.verdict) == (State.SUPPRESSED, Verdict.HEALTHY)
    node.look(3600.0, {SRAM: 3})
    assert (node.one().state, node.health.verdict) == (State.FIRING, Verdict.UNHEALTHY)


def test_a_suppression_hides_nothing_that_weighs_more(node: Node) -> None:
    """A probable fault was meant; confirmed it is told."""
    node.look(cells={SRAM: 3})
    word = Word(WHO, node.clock.wall(), "seen once")
    assert node.judge.suppress("fault", 0, node.clock.wall() + 3600.0, word)
    shown = node.judge.engine(node.judge.engine.scene.view.snapshot)[0]  # type: ignore[arg-type]
    assert shown[0].state is State.SUPPRESSED
    node.look(cells={SRAM: 3})
    assert (node.one().state, node.health.verdict) == (State.FIRING, Verdict.UNHEALTHY)


def test_of_another_device_it_is_not_suppressed(node: Node) -> None:
    """What is said of a device is said of the chip in it."""
    node.look(cells={SRAM: 3})
    say(node, "suppress", "fault", device=1, until=node.clock.wall() + 3600.0)
    node.look(cells={SRAM: 3})
    assert node.one().state is State.FIRING
    say(node, "unsuppress", "fault", device=1)
    with pytest.raises(UsageError, match="is not suppressed"):
        say(node, "unsuppress", "fault", device=1)


def test_what_a_whole_rule_may_hide(node: Node) -> None:
    """Said before anything stands, all that the rule can tell is hidden."""
    node.look(cells={SRAM: 0})
    until = node.clock.wall() + 3600.0
    assert node.judge.suppress("fault", None, until, Word(WHO, 1.0, "planned work"))
    for _ in range(3):
        node.look(cells={SRAM: 3})
        assert (node.one().state, node.health.verdict) == (State.SUPPRESSED, Verdict.HEALTHY)


def test_every_act_is_audited(node: Node) -> None:
    """Who, when, what, why; also what has no effect any more."""
    node.look(cells={SRAM: 3})
    until = node.clock.wall() + 3600.0
    say(node, "ack", "fault")
    say(node, "suppress", "fault", until=until)
    say(node, "set-healthy", device=0)
    assert node.store.past
    acts = node.store.past.acts()
    assert [(one.verb, one.subject, one.device, one.until) for one in acts] == [
        ("set-healthy", "", 0, None),
        ("suppress", "fault", None, until),
        ("ack", "fault", None, None),
    ]
    assert {(one.who, one.reason) for one in acts} == {(WHO, "a test")}
    assert acts[0].key == chip().key


@pytest.mark.parametrize(
    ("verb", "subject", "other", "why"),
    [
        ("ack", "fault", {}, "no finding 'fault' stands"),
        ("ack", "fault", {"device": 7}, "no finding 'fault' of device 7 stands"),
        ("suppress", "falt", {"until": 4e9}, "no rule is called 'falt'"),
        ("set-healthy", "", {"device": 9}, "there is no device 9"),
    ],
)
def test_what_cannot_be_done_is_said(
    node: Node, verb: str, subject: str, other: dict[str, object], why: str
) -> None:
    """To who asked; nothing is kept of it."""
    node.look(cells={SRAM: 0})
    if "until" in other:
        other = {"until": node.clock.wall() + 60.0}
    word = Word(WHO, node.clock.wall(), "a test")
    future = node.keeper.submit(Act(verb, word, subject, **other))  # type: ignore[arg-type]
    node.look(1.0, {SRAM: 0})
    node.flush()
    with pytest.raises(UsageError, match=why):
        future.result(timeout=1)
    assert node.store.past
    assert node.store.past.acts() == []


@pytest.mark.parametrize(
    ("reason", "ahead", "why"),
    [
        ("  ", 60.0, "a reason is needed"),
        ("x" * 501, 60.0, "longer than 500"),
        ("why", -1.0, "must lie ahead"),
        ("why", 91 * 86_400.0, "more than 90 days"),
    ],
)
def test_what_cannot_be_meant_is_refused(node: Node, reason: str, ahead: float, why: str) -> None:
    """Before anything is done."""
    wall = node.clock.wall()
    act = Act("suppress", Word(WHO, wall, reason), "fault", until=wall + ahead)
    with pytest.raises(UsageError, match=why):
        node.keeper.submit(act)


def test_findings_are_kept_a_second_later_at_most(node: Node) -> None:
    """And all of it is of one instant: finding, counters, events."""
    node.look(cells={SRAM: 0})
    node.flush()
    node.look(0.25, {SRAM: 3}, Event("line", Place(0), node.clock.wall(), "x"))
    node.flush()
    assert node.events() == []
    node.look(0.75, {SRAM: 3})
    node.flush()
    assert node.events() == ["line"]
    node.kill()
    node.start()
    assert len(node.store.load().findings) == 1


def fill(node: Node, pragma: str) -> None:
    """Have the database refuse the next write, as a disk does."""
    database = node.keeper._writer._database
    assert database
    database.connection.execute(f"PRAGMA {pragma}")


@pytest.mark.parametrize(
    ("pragma", "why"),
    [("max_page_count = 1", "full"), ("query_only = ON", "readonly")],
    ids=["full", "read-only"],
)
def test_a_disk_that_refuses_costs_nothing_else(node: Node, pragma: str, why: str) -> None:
    """It is said once; all goes on in memory, and is written when it can be."""
    node.look(cells={SRAM: 0})
    node.flush()
    fill(node, pragma)
    flood = [Event("line", Place(0), node.clock.wall(), "x" * 2000) for _ in range(30)]
    node.look(2.0, {SRAM: 3}, *flood)
    node.flush()
    assert [one.kind for one in node.told] == ["store_unwritable"]
    status = node.keeper._writer.status()
    assert (status.writable, status.waiting) == (False, 30)
    assert why in status.problem
    done = say(node, "ack", "fault")
    assert done.kept
    node.flush()
    assert [one.kind for one in node.told] == ["store_writable"]
    assert node.keeper._writer.status()[:2] == (True, "")
    node.look(2.0, {SRAM: 3})
    node.flush()
    assert node.events()[:30] == ["line"] * 30
    assert node.events()[30:] == ["store_unwritable", "store_writable"]


def test_an_act_that_cannot_be_kept_is_done_and_said_to_be(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory it holds; who asked is told that a restart would forget it."""
    node.look(cells={SRAM: 3})
    node.flush()

    def refuses(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("neuron_observer.store.transaction._write", refuses)
        done = say(node, "ack", "fault")
    assert (done.kept, done.problem) == (False, "database or disk is full")
    node.look(cells={SRAM: 3})
    assert node.one().state is State.ACKNOWLEDGED
    node.look(10.0, {SRAM: 3})
    node.flush()
    node.kill()
    node.start()
    node.look(cells={SRAM: 3})
    assert node.one().state is State.ACKNOWLEDGED


def test_a_file_that_breaks_while_we_run_is_written_anew(node: Node) -> None:
    """From memory, whole; what is left of the old one is set aside."""
    node.look(cells={SRAM: 3})
    node.flush()
    database = node.keeper._writer._database
    assert database
    database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = node.keeper._writer._directory.database  # type: ignore[union-attr]
    path.write_bytes(b"\x5a" * path.stat().st_size)
    database.connection.execute("PRAGMA shrink_memory")
    node.look(60.0, {SRAM: 3})
    node.flush()
    kinds = [one.kind for one in node.told]
    node.look(10.0, {SRAM: 3})
    node.flush()
    assert "store_set_aside" in kinds
    node.kill()
    node.start()
    assert {mark.rule for mark in node.store.load().findings} == {"fault", "state-set-aside"}


def test_a_reader_that_stays_does_not_fill_the_disk(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log stays bounded; it goes on in memory until the reader has left."""
    monkeypatch.setattr("neuron_observer.store.writer.LOG_MOST", 200_000)
    node.look(cells={SRAM: 3})
    node.flush()
    path = node.keeper._writer._directory.database  # type: ignore[union-attr]
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM events").fetchall()
        for number in range(60):
            event = Event("line", Place(0), node.clock.wall(), f"{number} " * 400)
            node.look(11.0, {SRAM: 3}, *[event] * 10)
            node.flush()
        directory = node.keeper._writer._directory
        assert directory
        assert directory.log_bytes() < 200_000 + 300_000
        assert "holds it" in node.keeper._writer.status().problem
    node.look(11.0, {SRAM: 3})
    node.flush()
    assert node.keeper._writer.status().writable
    assert node.events().count("line") == 600


def test_age_and_bytes_are_bounded(tmp_path: Path) -> None:
    """A flood for days: the file stays small, the latest stay, standing findings stay."""
    node = Node(tmp_path / "state", [OF_SRAM])
    node.kill()
    node.retention = Retention(seconds=5 * 86_400.0, max_bytes=9_500_000)
    node.start()
    for hour in range(24 * 7):
        events = [
            Event("line", Place(0), node.clock.wall(), f"{hour} " + "x" * 600) for _ in range(40)
        ]
        node.look(3600.0, {SRAM: 3}, *events)
        node.flush()
    status = node.keeper._writer.status()
    assert status.bytes <= 9_500_000
    assert node.store.past
    kept = [one.event for one in node.store.past.events()]
    assert kept[-1].message.startswith("167 ")
    assert min(one.at for one in kept) >= node.clock.wall() - 5 * 86_400.0 - 7200.0
    node.kill()
    node.start()
    assert len(node.store.load().findings) == 1
    node.kill()


def test_the_thread_writes_by_itself(node: Node) -> None:
    """And what a person said is on the disk before the answer."""
    node.look(cells={SRAM: 3})
    node.keeper.start()
    word = Word(WHO, node.clock.wall(), "a test")
    future = node.keeper.submit(Act("ack", word, "fault"))
    node.look(1.0, {SRAM: 3})
    node.look(1.0, {SRAM: 3})
    assert future.result(timeout=10).kept
    assert node.store.past
    assert [one.verb for one in node.store.past.acts()] == ["ack"]
    node.keeper.close()
    assert not any(one.name == "store" for one in threading.enumerate())


def test_a_flood_of_events_is_bounded_and_counted(node: Node) -> None:
    """The latest of one write are kept."""
    event = Event("line", Place(0), node.clock.wall(), "x")
    node.look(2.0, {SRAM: 0}, *[event] * 1500)
    node.flush()
    assert len(node.events()) == 1000
    assert node.keeper._writer.status().dropped == 500


def test_severity_orders_what_is_hidden() -> None:
    """A rule of warnings hides what degrades, not what is unhealthy."""
    from neuron_observer.rules.hush import worst_of  # noqa: PLC0415 - only here

    assert worst_of([], Severity.WARNING) is Verdict.DEGRADED
    assert worst_of([], Severity.CRITICAL) is Verdict.UNHEALTHY
    assert worst_of([], Severity.INFO) is Verdict.HEALTHY


@pytest.mark.parametrize("keeps", [True, False])
def test_the_answer_comes_with_the_frame_that_shows_it(tmp_path: Path, *, keeps: bool) -> None:
    """Whoever looks after the answer sees what it says."""
    node = Node(tmp_path / "state" if keeps else None, [OF_SRAM])
    node.look(cells={SRAM: 3})
    future = node.keeper.submit(Act("ack", Word(WHO, node.clock.wall(), "a test"), "fault"))
    node.look(0.25, {SRAM: 3})
    node.flush()
    assert (node.one().state, future.done()) == (State.FIRING, False)
    node.look(0.25, {SRAM: 3})
    node.flush()
    assert node.one().state is State.ACKNOWLEDGED
    assert future.result(timeout=0).kept is keeps
    node.kill()


def test_what_was_said_last_is_written_at_the_end(node: Node) -> None:
    """Also if no frame came that could show it."""
    node.look(cells={SRAM: 3})
    word = Word(WHO, node.clock.wall(), "a test")
    done = node.keeper.submit(Act("ack", word, "fault"))
    node.look(0.25, {SRAM: 3})
    asked = node.keeper.submit(Act("suppress", word, "fault", until=word.at + 60.0))
    node.keeper.close()
    assert (done.result(timeout=0).kept, asked.result(timeout=0).kept) == (True, True)
    assert node.store.past
    assert [one.verb for one in node.store.past.acts()] == ["suppress", "ack"]


@pytest.mark.parametrize("verb", ["ack", "suppress", "unsuppress"])
def test_nothing_is_to_be_said_of_what_was_before(node: Node, verb: str) -> None:
    """It stands as firing: that no such finding stands, or rule is called so, would be untrue."""
    wall = node.clock.wall()
    word = Word(WHO, wall, "a test")
    act = Act(verb, word, "before-we-watched", until=wall + 60.0)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="counts for nothing"):
        node.keeper.submit(act)


def test_only_the_directory_itself_is_made(tmp_path: Path) -> None:
    """Of a mistyped path, or one on a disk that is not mounted yet, nothing; it is tried again."""
    node = Node(tmp_path / "disk/state", [OF_SRAM])
    assert not (tmp_path / "disk").exists()
    assert node.store.problem == f"{tmp_path}/disk/state: No such file or directory"
    node.look(cells={SRAM: 3})
    node.flush()
    assert not node.keeper.status().writable
    (tmp_path / "disk").mkdir()
    node.look(11.0, {SRAM: 3})
    node.flush()
    assert node.keeper.status().writable
    assert (tmp_path / "disk/state/state.db").is_file()
    node.kill()
