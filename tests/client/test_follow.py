"""The stream as a client reads it: messages, whatever the pieces they come in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.client import Client
from neuron_observer.client.follow import Message, following, messages
from neuron_observer.errors import DaemonError
from tests.client.servers import OURS, answer, answering, saying
from tests.daemon.daemons import Still
from tests.daemon.test_changes import FAULT, ILL, frame

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.client.address import Address

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def test_a_real_daemon(tmp_path: Path) -> None:
    """What was missed, then what comes; the next connection goes on where this one ended."""
    still = Still(frame())
    with answering(still.answers, tmp_path) as client:
        with following(client, {"type": "finding"}, "deadbeef-0") as first:
            assert next(first).kind == "gap"
            still.take(frame(ILL, FAULT))
            begun = next(first)
        assert (begun.kind, begun.document["change"]) == ("finding", "begun")
        still.take(frame())
        with following(client, {}, begun.id) as second:
            assert [next(second).kind for _ in range(3)] == ["verdict", "finding", "verdict"]


def taken(address: Address) -> list[Message]:
    """All that a connection brings."""
    with following(Client(address), {}) as found:
        return list(found)


def test_what_is_no_stream() -> None:
    """A problem is told in its words; what is not ours, as such."""
    problem = json.dumps({"title": "too many streams"}).encode()
    said = answer(problem, "503 Service Unavailable", OURS)
    cut = said.index(b"too many")
    parts = (said[:cut], said[cut:])
    with saying(*parts) as (address, _), pytest.raises(DaemonError, match="too many streams"):
        taken(address)
    with saying(answer(b"x", headers="")) as (address, _), pytest.raises(DaemonError, match="no n"):
        taken(address)


def test_a_stream_that_breaks_off() -> None:
    """What was whole is told, the rest is not."""
    said = HEAD + b"retry: 1\n: hello\n\nevent: event\nid: a-1\ndata: {}\n\nevent: event\ndata: {"
    with saying(said) as (address, told), following(Client(address), {}, "b-7") as found:
        assert list(found) == [Message("event", {}, "a-1")]
    assert b"Last-Event-ID: b-7" in told.heard[0]


def test_a_line_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read for ever."""
    monkeypatch.setattr("neuron_observer.client.follow.MOST_LINE", 1000)
    with saying(HEAD + b"x" * 5000) as (address, _), pytest.raises(DaemonError, match="no end"):
        taken(address)


LINES = st.lists(
    st.sampled_from(["", ": c", "event: e", "event:e", "id: 1", "data: {}", "data: [", "data", "x"])
    | st.text(st.characters(exclude_characters="\n\r"), max_size=12),
    max_size=20,
)


@settings(max_examples=60)
@given(LINES)
def test_any_lines_are_read(lines: list[str]) -> None:
    """Every message is a document; nothing is raised."""
    for message in messages(iter(lines)):
        assert isinstance(message.document, dict)
        assert message.kind


def test_data_of_several_lines_is_one_document() -> None:
    """As the standard has it; what is no object is none."""
    lines = ["data: {", 'data: "a": 1}', "", "data: 7", "", "event: x", "", "data:{}", ""]
    assert [one.document for one in messages(iter(lines))] == [{"a": 1}, {}]
