"""`events`: what the daemon holds, in lines; and what comes, without a gap that is not told."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest

from neuron_observer.cli import events
from neuron_observer.client.follow import Message
from neuron_observer.errors import DaemonError, UsageError
from tests.cli.test_daemon import wait_for
from tests.client.servers import answering
from tests.daemon.daemons import Still, faulty
from tests.daemon.test_changes import FAULT, ILL, frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Result

    Connected = Callable[..., Result]


@pytest.fixture
def asked(call: Callable[..., Result], tmp_path: Any) -> Iterator[Connected]:
    """Calls the verb on the daemon of a host with an SRAM error."""
    with answering(faulty().answers, tmp_path) as client:
        yield lambda *arguments: call("events", "--connect", str(client.address), *arguments)


def test_lines(asked: Connected) -> None:
    """One each, oldest first: when, where, what."""
    result = asked("--type", "finding,verdict")
    lines = result.out.splitlines()
    document = faulty().get("/api/v1/events?type=finding,verdict")
    assert len(lines) == len(document["events"])
    assert [line[:24] for line in lines] == [one["at"] for one in document["events"]]
    assert any("neuron0  begun: sram-uncorrectable [critical, " in line for line in lines)
    assert any("node  unhealthy (was degraded): " in line for line in lines)
    assert result.code == 0


def test_the_document(asked: Connected) -> None:
    """As the API gives it."""
    told = json.loads(asked("--format", "json", "--device", "0", "--limit", "2").out)
    assert told == faulty().get("/api/v1/events?device=0&limit=2")


def test_what_is_left_out_is_told(asked: Connected) -> None:
    """On standard error: that there is more, or that there is nothing."""
    assert "the newest 1" in asked("--limit", "1").err
    assert "nothing happened" in asked("--device", "7").err


def test_wrong_calls(asked: Connected, call: Callable[..., Result], monkeypatch: Any) -> None:
    """Values in the daemon's words; nobody to ask is an error."""
    with pytest.raises(UsageError, match="parameter since has no such value"):
        asked("--since", "yesterday")
    with pytest.raises(click.UsageError, match="exclude each other"):
        asked("--follow", "--until", "1m")
    monkeypatch.setenv("NEURON_OBSERVER_SOCKET", "")
    with pytest.raises(DaemonError, match="no daemon runs on this machine"):
        call("events")


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ({"type": "event", "kind": "k", "at": "t", "message": "a\nb\x1b"}, "t  node  k: a b\ufffd"),
        (
            {"type": "event", "kind": "k", "message": "m", "device": 1, "core": 2, "at": "t",
             "fields": {"severity": "info", "action": "none", "ours": 1}},
            "t  neuron1/core2  k [info, none], caused by our own reads: m",
        ),
        ({"type": "event", "label": "rdma0/1", "kind": "k", "message": "m", "at": "t"},
         "t  rdma0/1  k: m"),
        (
            {"type": "verdict", "at": "t", "verdict": "unknown", "previous": "healthy",
             "reason": "r", "devices": [{"index": 3, "verdict": None, "previous": "healthy"}]},
            "t  node  unknown (was healthy): r; neuron3 gone",
        ),
        (
            {"type": "finding", "at": "t", "change": "begun",
             "finding": {"id": "i", "severity": "critical", "confidence": "probable",
                         "action": "reboot", "state": "pending", "message": "m"}},
            "t  node  begun: i [critical, probable, reboot, pending: not counted yet]: m",
        ),
        ({"type": "new"}, "None  new"),
    ],
)  # fmt: skip
def test_what_a_line_says(told: dict[str, Any], line: str) -> None:
    """Also of what a newer daemon may tell, and of text that would move a terminal."""
    assert events.line(told) == line


def test_a_gap_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, between the lines."""
    events._show(Message("gap", {"missed": 3}, ""), "text")
    events._show(Message("gap", {"missed": None}, ""), "text")
    events._show(Message("frame", {}, ""), "text")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "3 entries are lost" in captured.err
    assert "some entries are lost" in captured.err


def test_following(tmp_path: Any) -> None:
    """What is held, then what comes; a connection that ends is told, and made again."""
    still = Still(frame())
    command = [sys.executable, "-m", "neuron_observer", "events", "--follow", "--format", "json"]
    with (
        answering(still.answers, tmp_path) as client,
        subprocess.Popen(
            [*command, "--connect", str(client.address)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout
            assert json.loads(process.stdout.readline())["type"] == "verdict"
            wait_for(lambda: bool(still.answers.streams.clients))
            still.take(frame(ILL, FAULT))
            assert json.loads(process.stdout.readline())["change"] == "begun"
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
        finally:
            process.kill()


def test_a_connection_that_ends(tmp_path: Any) -> None:
    """It says so, and asks again."""
    command = [sys.executable, "-m", "neuron_observer", "events", "--follow"]
    with answering(faulty().answers, tmp_path) as client:
        arguments = [*command, "--connect", str(client.address)]
        process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout
        assert process.stdout.readline()
        wait_for(lambda: bool(faulty().answers.streams.clients))
    assert process.stderr
    line = process.stderr.readline()
    process.kill()
    process.communicate()
    assert line == "neuron-observer: the daemon ended the connection; again in 1 s\n"


@pytest.mark.parametrize(
    ("since", "until"),
    [("1m", "5m"), ("5m", "5m"), ("2026-12-01T10:00:00Z", "2026-12-01T09:00:00Z"), ("1s", "300d")],
)
def test_a_time_that_ends_before_it_begins(asked: Connected, since: str, until: str) -> None:
    """It is a slip: nothing can lie in it, and nothing was said."""
    with pytest.raises(UsageError) as caught:
        asked("--since", since, "--until", until)
    assert caught.value.message == (
        f"--since {since} is not before --until {until}: nothing lies between them"
    )


def test_a_time_that_is_one(asked: Connected) -> None:
    """The counterpart; and what is no time is still the daemon's to say."""
    assert asked("--since", "1h", "--until", "1ms").code == 0
    with pytest.raises(UsageError, match="until"):
        asked("--since", "1h", "--until", "yesterday")
