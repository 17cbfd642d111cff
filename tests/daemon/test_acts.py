"""What a person says by the API: who may, what is refused, what comes of it."""

from __future__ import annotations

import json
import os
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.daemon.acts import PATH, read
from neuron_observer.daemon.answers import Answers
from neuron_observer.errors import UsageError
from neuron_observer.exporters.message import Peer, Request, Response
from neuron_observer.exporters.routes import answer
from neuron_observer.model import Event, Place
from neuron_observer.store.acts import Act, Done
from tests.daemon.daemons import document
from tests.exporters.feeds import OneFrame, frame_of
from tests.store.nodes import Node

if TYPE_CHECKING:
    from pathlib import Path

ROOT = Peer(0, 0, 1)
ACK = {"verb": "ack", "subject": "fault", "reason": "known"}


def body(**fields: object) -> bytes:
    """An acknowledgement with other fields."""
    return json.dumps({**ACK, **fields}).encode()


def post(answers: Answers, given: bytes, peer: Peer | None) -> tuple[int, dict[str, Any] | str]:
    """Status and document, or text."""
    request = Request("POST", PATH, "", {}, given, peer)
    response = answer(answers.routes(), request)
    assert isinstance(response, Response)
    if "json" not in response.content_type:
        return response.status, response.body.decode()
    return response.status, json.loads(response.body)


def answers_of(said: list[Act], done: Done | Exception) -> Answers:
    """Answers whose acts are noted."""

    def submit(act: Act) -> Future[Done]:
        said.append(act)
        future: Future[Done] = Future()
        if isinstance(done, Exception):
            future.set_exception(done)
        else:
            future.set_result(done)
        return future

    return Answers(OneFrame(frame_of()), ManualClock(), submit=submit)


def test_who_may_and_what_comes_of_it() -> None:
    """Root and our own user by the socket; the answer says whether it is kept."""
    said: list[Act] = []
    answers = answers_of(said, Done("acknowledged", kept=True))
    for peer in (ROOT, Peer(os.geteuid(), 0, 1)):
        status, told = post(answers, body(), peer)
        assert (status, told) == (
            200,
            {
                "schema": "neuron-observer/act/1",
                "text": "acknowledged",
                "kept": True,
                "problem": "",
            },
        )
    assert said[0].word.who == "root (uid 0)"
    assert (said[0].verb, said[0].subject, said[0].device) == ("ack", "fault", None)


@pytest.mark.parametrize("peer", [None, Peer(4711, 4711, 1), Peer(65534, 65534, 1)])
def test_nobody_else_may(peer: Peer | None) -> None:
    """Not by TCP, no other user, nobody whom the kernel does not know."""
    said: list[Act] = []
    status, _ = post(answers_of(said, Done("", kept=True)), body(), peer)
    assert (status, said) == (403, [])


def test_it_cannot_be_read() -> None:
    """Nothing is changed by a GET."""
    request = Request("GET", PATH, "", {}, b"", ROOT)
    response = answer(answers_of([], Done("", kept=True)).routes(), request)
    assert isinstance(response, Response)
    assert response.status == 405


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (b"", "JSON object"),
        (b"[]", "JSON object"),
        (body(colour="red"), "JSON object"),
        (body(verb="destroy"), "unknown verb"),
        (body(device=-1), "index"),
        (body(device=True), "index"),
        (body(device="3"), "index"),
        (body(reason=7), "a line of text"),
        (body(reason="two\nlines"), "a line of text"),
        (body(until="tomorrow"), "an instant or a duration"),
        (body(until=7), "an instant or a duration"),
    ],
)
def test_what_is_not_quite_an_act_is_refused(given: bytes, why: str) -> None:
    """With what is known."""
    said: list[Act] = []
    status, told = post(answers_of(said, Done("", kept=True)), given, ROOT)
    assert isinstance(told, dict)
    assert (status, said) == (400, [])
    assert why in told["title"]


def test_what_cannot_be_done_is_told() -> None:
    """The words of who tried."""
    error = UsageError("no finding 'fault' stands", remedy="findings shows them")
    status, told = post(answers_of([], error), body(), ROOT)
    assert isinstance(told, dict)
    assert (status, told["title"], told["detail"]) == (400, error.message, error.remedy)


def test_until_is_an_instant_or_a_duration() -> None:
    """From now on."""
    assert read(body(until="2h"), ROOT, 100.0).until == 7300.0
    instant = read(body(until="2026-12-01T10:00:00Z"), ROOT, 100.0)
    assert instant.until == 1_796_119_200.0


def test_a_user_without_a_name_is_a_number() -> None:
    """In a container there are such."""
    assert read(body(), Peer(3_999_999_999, 0, 1), 1.0).word.who == "uid 3999999999"


def test_events_and_findings_of_before_the_start(tmp_path: Path) -> None:
    """What an earlier run saw, in the order in which it happened; also findings that are over."""
    from neuron_observer.rules import rule as r  # noqa: PLC0415 - only here
    from tests.rules.scenes import rule  # noqa: PLC0415 - the same

    sram = "device.sram.ecc_uncorrected"
    node = Node(tmp_path / "state", [rule(r.Above(sram, 0))])
    node.look(10.0, {sram: 1}, Event("reset", Place(0), node.clock.wall(), "a reset"))
    node.look(10.0, {sram: 0})
    node.look(10.0, {sram: 0})
    node.again()
    feed = OneFrame(frame_of())
    answers = Answers(feed, node.clock, past=node.store.past)
    told = document(answers, "/api/v1/events")["events"]
    assert [(one["type"], one.get("kind") or one.get("change")) for one in told] == [
        ("event", "reset"),
        ("finding", "begun"),
        ("finding", "ended"),
    ]
    assert document(answers, "/api/v1/events?since=1s")["events"] == []
    assert document(answers, "/api/v1/events?device=3")["events"] == []
    (over,) = document(answers, "/api/v1/findings?all=true")["findings"]
    assert (over["id"], over["state"]) == ("fault", "resolved")
    assert document(answers, "/api/v1/findings")["findings"] == []
    node.kill()
