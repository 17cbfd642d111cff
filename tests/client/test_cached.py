"""When a daemon's answer may stand for a look of one's own, and what is said of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.client import Client, Reply
from neuron_observer.client.address import Address
from neuron_observer.client.cached import Told, by, by_own, harmless
from neuron_observer.errors import DaemonError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENT: dict[str, Any] = {
    "exit_code": 1,
    "output": "DEGRADED: a fault",
    "narration": "",
    "host_root": "/",
    "settled": True,
    "frame": {"age": 0.4, "stale": False},
}
SOURCE = "neuron-observer: told by the daemon, from a frame 0.4 s old"


class Saying(Client):
    """A client of a daemon that says this."""

    def __init__(self, document: Mapping[str, Any], error: Exception | None = None) -> None:
        super().__init__(Address("unix", path="/nowhere"))
        self.document = dict(document)
        self.error = error
        self.asked: list[Mapping[str, str | None]] = []

    def fetch(
        self,
        name: str,  # noqa: ARG002 - the port's signature
        query: Mapping[str, str | None] | None = None,
        *,
        tag: str = "",
    ) -> Reply:
        """Always the same."""
        self.asked.append(query or {})
        if self.error:
            raise self.error
        return Reply(self.document, tag)


@pytest.mark.parametrize("form", ["text", "status", "findings"])
def test_people_are_told_who_answered(form: str) -> None:
    """On standard error, with the age; the form is asked for by its name."""
    client = Saying(DOCUMENT)
    expected = Told(1, "DEGRADED: a fault", SOURCE)
    assert by(client, form, {"devices": "0"}) == expected
    assert by_own(client, form, {}, "/") == expected
    assert client.asked[0] == {"format": form, "devices": "0"}


@pytest.mark.parametrize("form", ["nagios", "npd", "slurm"])
def test_monitors_get_their_line_alone(form: str) -> None:
    """And what a form itself has for standard error."""
    assert by_own(Saying(DOCUMENT), form, {}, "/") == Told(1, "DEGRADED: a fault")
    told = by_own(Saying({**DOCUMENT, "output": "", "narration": "reason"}), form, {}, "/")
    assert told == Told(1, "", "reason")


def test_json_is_the_document() -> None:
    """It says itself who made it; no lines are asked for."""
    client = Saying(DOCUMENT)
    told = by_own(client, "json", {}, "/")
    assert (told.code, json.loads(told.out), told.err) == (1, DOCUMENT, "")
    assert client.asked == [{"format": None}]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"host_root": "/somewhere"}, ""),
        ({"host_root": None}, ""),
        ({"frame": {"age": 12.0, "stale": True}}, "the daemon's last frame is 12.0 s old"),
        ({"frame": None}, "the daemon's last frame is of unknown age, old"),
        ({"settled": False}, "the daemon has not decided yet"),
        ({"settled": None}, "the daemon has not decided yet"),
    ],
)
def test_when_one_looks_oneself(changed: dict[str, Any], why: str) -> None:
    """Another host, too old, not decided: whoever named the daemon gets its answer all the same."""
    client = Saying({**DOCUMENT, **changed})
    told = by_own(client, "text", {}, "/")
    assert (told.code, told.out) == (None, "")
    assert told.err == (f"neuron-observer: {why}: reading directly" if why else "")
    assert by_own(client, "nagios", {}, "/") == Told(None)
    assert by(client, "text", {}).code == 1


def test_when_it_does_not_answer() -> None:
    """Nobody there is nothing to tell of; anything else is. Whoever named it gets the error."""
    absent, broken = DaemonError("x", absent=True), DaemonError("broken")
    assert by_own(Saying({}, absent), "text", {}, "/") == Told(None)
    told = by_own(Saying({}, broken), "text", {}, "/")
    assert told == Told(None, err="neuron-observer: broken: reading directly")
    assert by_own(Saying({}, UsageError("x")), "text", {}, "/") == Told(None)
    for error in (absent, broken, UsageError("x")):
        with pytest.raises(type(error)):
            by(Saying({}, error), "text", {})


@pytest.mark.parametrize(
    "changed", [{"exit_code": "0"}, {"exit_code": 7}, {"output": None}, {"narration": 3}]
)
def test_an_answer_that_cannot_be_told(changed: dict[str, Any]) -> None:
    """It is an error of the daemon's, never a success."""
    with pytest.raises(DaemonError):
        by(Saying({**DOCUMENT, **changed}), "text", {})


def test_nothing_moves_the_terminal() -> None:
    """What another program says is text."""
    assert harmless("a\x1b[31mb\r\nc\u202e") == "a\ufffd[31mb\ufffd\nc\ufffd"
