"""The log of changes: numbered, bounded, and honest about what it no longer holds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.daemon.changes import Changes
from neuron_observer.model import (
    NODE,
    Action,
    Confidence,
    DeviceHealth,
    Entity,
    Event,
    Finding,
    Frame,
    Health,
    Place,
    Severity,
    State,
    Verdict,
)
from tests.exporters.feeds import frame_of

WELL = Health(Verdict.HEALTHY, "nothing found", devices=(DeviceHealth(0, Verdict.HEALTHY, ""),))
ILL = Health(Verdict.UNHEALTHY, "a fault", devices=(DeviceHealth(0, Verdict.UNHEALTHY, ""),))
FAULT = Finding(
    "fault",
    Entity("device", device=0),
    Severity.CRITICAL,
    Confidence.PROBABLE,
    Action.REBOOT,
    "it is broken",
)


def frame(health: Health = WELL, *findings: Finding, events: tuple[Event, ...] = ()) -> Frame:
    """A frame that says this."""
    made = frame_of(health=health)
    return made._replace(findings=findings, snapshot=made.snapshot._replace(events=events))


def happened(number: int) -> Event:
    """An event that is told from others."""
    return Event("reset", Place(number), 5.0, f"number {number}")


def told(log: Changes) -> list[tuple[str, str]]:
    """What kind each entry is of, and what it says."""
    entries = [json.loads(one.body) for one in log.held().changes]
    return [
        (one["type"], one.get("change") or one.get("verdict") or one["message"]) for one in entries
    ]


def test_the_first_frame_is_a_change() -> None:
    """A verdict that was unknown before; the same again is none."""
    log = Changes()
    log.note(frame())
    log.note(frame())
    assert told(log) == [("verdict", "healthy")]
    [change] = log.held().changes
    document = json.loads(change.body)
    assert document["previous"] is None
    assert document["devices"] == [{"index": 0, "verdict": "healthy", "previous": None}]


def test_the_life_of_a_finding() -> None:
    """It begins, becomes certain, is over; a figure that moves is no change."""
    log = Changes()
    log.note(frame())
    log.note(frame(ILL, FAULT))
    log.note(frame(ILL, FAULT._replace(message="it is broken: 2", last_seen=9.0)))
    log.note(frame(ILL, FAULT._replace(entity=FAULT.entity._replace(serial="a"))))
    log.note(frame(ILL, FAULT._replace(confidence=Confidence.CONFIRMED)))
    log.note(frame(WELL, FAULT._replace(state=State.RESOLVED)))
    log.note(frame(WELL, FAULT._replace(state=State.RESOLVED)))
    assert told(log) == [
        ("verdict", "healthy"),
        ("finding", "begun"),
        ("verdict", "unhealthy"),
        ("finding", "changed"),
        ("finding", "ended"),
        ("verdict", "healthy"),
    ]


def test_a_finding_that_vanishes_has_ended() -> None:
    """Also where no frame showed it resolved; it may begin again."""
    log = Changes()
    for one in ((FAULT,), (), (FAULT,)):
        log.note(frame(ILL, *one))
    assert [what for kind, what in told(log) if kind == "finding"] == ["begun", "ended", "begun"]
    ended = json.loads(log.held().changes[2].body)
    assert ended["finding"]["state"] == "resolved"


def test_a_device_that_is_gone_has_no_verdict() -> None:
    """It is told with null, beside its last one."""
    log = Changes()
    log.note(frame())
    log.note(frame(Health(Verdict.UNKNOWN, "no device")))
    document = json.loads(log.held().changes[-1].body)
    assert document["devices"] == [{"index": 0, "verdict": None, "previous": "healthy"}]


def test_events_come_before_what_they_make() -> None:
    """In the order of cause; an event says whose it is."""
    log = Changes()
    log.note(frame(ILL, FAULT, events=(happened(3), Event("reloaded", NODE, 6.0, "again"))))
    assert [kind for kind, _ in told(log)] == ["event", "event", "finding", "verdict"]
    assert [one.device for one in log.held().changes] == [3, None, 0, None]
    assert log.held().changes[0].at == 5.0


def test_ids_go_on() -> None:
    """After an id come those after it; after the last one none."""
    log = Changes()
    for number in range(3):
        log.note(frame(events=(happened(number),)))
    ids = [one.id for one in log.held().changes]
    assert len(set(ids)) == len(ids) == 4
    since = log.after(ids[1])
    assert ([one.id for one in since.changes], since.missed) == (ids[2:], 0)
    assert since.last_id == ids[-1]
    assert log.after(ids[-1]).changes == []


@pytest.mark.parametrize(
    "strange", ["", "x", "-", "deadbeef-1", "{boot}-99", "{boot}-x", "{boot}-²"]
)
def test_ids_of_nobody(strange: str) -> None:
    """All that is held, and that nobody can tell how much is missing."""
    log = Changes()
    log.note(frame())
    boot = log.held().last_id.partition("-")[0]
    since = log.after(strange.format(boot=boot))
    assert (len(since.changes), since.missed) == (1, None)


def test_an_empty_log_has_an_id() -> None:
    """Who goes on after it misses nothing."""
    log = Changes()
    begin = log.held().last_id
    log.note(frame())
    assert (len(log.after(begin).changes), log.after(begin).missed) == (1, 0)


@given(st.integers(1, 40), st.integers(1, 8), st.integers(0, 50))
def test_it_is_bounded_and_counts_what_is_gone(noted: int, most: int, number: int) -> None:
    """Of what came after an id, what is here and what is missing are all that came."""
    log = Changes(most=most)
    for one in range(noted):
        log.note(frame(events=(happened(one),)))
    last = noted + 1  # the first frame's verdict
    held = log.held()
    assert len(held.changes) == min(most, last)
    boot = held.last_id.partition("-")[0]
    since = log.after(f"{boot}-{number}")
    if number > last:
        assert since.missed is None
    else:
        assert since.missed is not None
        assert len(since.changes) + since.missed == last - number


def test_bytes_are_bounded_too() -> None:
    """Long messages push out more than short ones."""
    log = Changes(most_bytes=3000)
    for number in range(20):
        log.note(frame(events=(Event("line", NODE, 0.0, "x" * 500 + str(number)),)))
    held = log.held().changes
    assert sum(len(one.body) for one in held) <= 3000
    assert json.loads(held[-1].body)["message"].endswith("19")


def test_listeners_hear_of_what_is_new_only() -> None:
    """Not of frames that change nothing."""
    log = Changes()
    heard: list[int] = []
    log.subscribe(lambda new: heard.append(len(new)))
    log.note(frame())
    log.note(frame())
    log.note(frame(ILL, FAULT))
    assert heard == [1, 2]
