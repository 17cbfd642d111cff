"""The stream of changes: in order, without gaps that are not told, bounded for everybody."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from neuron_observer.daemon import stream as streams
from neuron_observer.exporters.message import Response, Stream
from tests.daemon.daemons import Still, asked
from tests.daemon.test_changes import FAULT, ILL, frame, happened

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

PATH = "/api/v1/stream"


class Listener:
    """A client that takes everything."""

    def __init__(self, still: Still, query: str = "", **headers: str) -> None:
        stream = asked(still.answers, PATH + query, **headers)
        assert isinstance(stream, Stream)
        assert stream.content_type.startswith("text/event-stream")
        self.sent: list[bytes] = []
        self.leave: Callable[[], None] = stream.open(self.sent.append)

    @property
    def messages(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Name, id and document of each."""
        found = []
        for message in b"".join(self.sent).decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in message.splitlines() if line[0] != ":")
            if "event" in fields:
                document = json.loads(fields["data"])
                found.append((fields["event"], fields.get("id", ""), document))
        return found

    @property
    def kinds(self) -> list[str]:
        """Names only."""
        return [kind for kind, _, _ in self.messages]


def test_it_begins_now() -> None:
    """What was before is not told; what comes is, with its id."""
    still = Still(frame())
    listener = Listener(still)
    assert listener.messages == []
    assert listener.sent[0] == b"retry: 2000\n: frame 0.0 s old\n\n"
    still.take(frame(ILL, FAULT))
    assert listener.kinds == ["finding", "verdict"]
    assert all(number == document["id"] for _, number, document in listener.messages)
    listener.leave()
    still.take(frame())
    assert len(listener.messages) == 2


def test_who_comes_back_gets_what_he_missed() -> None:
    """Each entry once, in order, in one piece; then it goes on."""
    still = Still(frame())
    first = Listener(still)
    still.take(frame(events=(happened(1),)))
    first.leave()
    for number in range(2, 5):
        still.take(frame(events=(happened(number),)))
    second = Listener(still, last_event_id=first.messages[-1][1])
    still.take(frame(events=(happened(5),)))
    second.leave()
    assert [document["message"] for _, _, document in second.messages] == [
        f"number {number}" for number in range(2, 6)
    ]
    assert len(second.sent) == 3  # the greeting, what was missed, what came


def test_of_another_run() -> None:
    """A gap that nobody can measure comes first; what a client sent is not sent back."""
    still = Still(frame())
    listener = Listener(still, last_event_id="<script>\r\nevent: verdict")
    listener.leave()
    assert listener.kinds == ["gap", "verdict"]
    _, number, gap = listener.messages[0]
    assert (number, gap["after"], gap["missed"]) == ("", None, None)
    assert b"script" not in b"".join(listener.sent)


def test_what_is_no_longer_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than may be sent at once: the newest, and how many are left out."""
    still = Still(frame())
    begin = Listener(still)
    begin.leave()
    for number in range(20):
        still.take(frame(events=(happened(number),)))
    first = json.loads(asked_events(still)[0])["id"]
    monkeypatch.setattr(streams, "MOST_BACKLOG", 1000)
    listener = Listener(still, last_event_id=first)
    listener.leave()
    kinds = listener.kinds
    assert kinds[0] == "gap"
    assert listener.messages[0][2]["missed"] == 20 - (len(kinds) - 1)
    assert listener.messages[-1][2]["message"] == "number 19"
    assert max(map(len, listener.sent)) < 1500


def asked_events(still: Still) -> list[bytes]:
    """Bodies of all that is held."""
    response = asked(still.answers, "/api/v1/events")
    assert isinstance(response, Response)
    return [json.dumps(one).encode() for one in json.loads(response.body)["events"]]


def test_only_what_was_asked_for() -> None:
    """By kind and by device; what concerns the node concerns every device."""
    still = Still(frame())
    verdicts, device = Listener(still, "?type=verdict"), Listener(still, "?device=1")
    still.take(frame(ILL, FAULT, events=(happened(1), happened(2))))
    verdicts.leave()
    device.leave()
    assert verdicts.kinds == ["verdict"]
    assert device.kinds == ["event", "verdict"]
    assert device.messages[0][2]["device"] == 1


def test_frames_on_request() -> None:
    """A line for every frame; it has no id, since nobody can go on after it."""
    still = Still(frame())
    listener, other = Listener(still, "?frames=true"), Listener(still)
    still.take(frame())
    listener.leave()
    other.leave()
    [(kind, number, document)] = listener.messages
    assert (kind, number, document["verdict"]) == ("frame", "", "healthy")
    assert other.messages == []


def test_heartbeats_tell_the_age() -> None:
    """Also that a frame is too old; before the first one that there is none."""
    still = Still()
    listener = Listener(still)
    assert listener.sent == [b"retry: 2000\n: no frame yet\n\n"]
    still.take(frame())
    still.clock.advance(5.0)
    still.answers.streams.beat()
    assert listener.sent[-1] == b": frame 5.0 s old, stale\n\n"
    listener.leave()
    before = len(listener.sent)
    still.answers.streams.beat()
    assert len(listener.sent) == before


def test_there_may_be_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is told so; when one leaves there is room."""
    monkeypatch.setattr(streams, "MOST_CLIENTS", 2)
    still = Still(frame())
    open_ones = [Listener(still), Listener(still)]
    refused = asked(still.answers, PATH)
    assert isinstance(refused, Response)
    assert (refused.status, json.loads(refused.body)["title"]) == (503, "too many streams")
    own = still.answers.streams.open({"type": None, "device": None, "frames": None}, "", local=True)
    own.open(list[bytes]().append)()  # those of this machine have room of their own
    open_ones.pop().leave()
    open_ones.append(Listener(still))
    for listener in open_ones:
        listener.leave()


def test_a_wrong_question() -> None:
    """Refused before anything is streamed."""
    refused = asked(Still(frame()).answers, f"{PATH}?frames=yes")
    assert isinstance(refused, Response)
    assert refused.status == 400
