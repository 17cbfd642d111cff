"""One request and its answer: bounded in time and bytes, and clear about what went wrong."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.client import Client, target
from neuron_observer.client.address import Address
from neuron_observer.client.credentials import authorization
from neuron_observer.client.wire import Malformed, exchange, parse
from neuron_observer.errors import DaemonError, InputError, UsageError
from tests.client.servers import CERTIFICATE, answer, answering, saying
from tests.daemon.daemons import faulty

if TYPE_CHECKING:
    from pathlib import Path

HEALTH = json.dumps({"schema": "neuron-observer/health/1", "verdict": "healthy"}).encode()


@pytest.fixture(autouse=True)
def _nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever runs this has no netrc and no password here."""
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("USER", "PASSWORD"):
        monkeypatch.delenv(f"NEURON_OBSERVER_CONNECT_{name}", raising=False)


def test_a_real_daemon(tmp_path: Path) -> None:
    """By its unix socket; the same frame is not sent twice."""
    with answering(faulty().answers, tmp_path) as client:
        reply = client.fetch("check", {"format": "text", "devices": "0", "cores": None})
        assert reply.document
        assert reply.document["scope"]["devices"] == [0]
        assert client.fetch("health", tag=reply.tag).document is None
        with pytest.raises(UsageError, match="unknown parameter wrong"):
            client.get("health", {"wrong": "1"})
        with pytest.raises(DaemonError, match="no such finding"):
            client.get("explain", {"finding": "nobody"})


@pytest.mark.parametrize("encoded", [False, True])
def test_an_answer(encoded: bool) -> None:
    """With a length or without one, plain or compressed."""
    body = gzip.compress(HEALTH) if encoded else HEALTH
    coding = "Content-Encoding: gzip\r\n" if encoded else ""
    head = f"HTTP/1.0 200 OK\r\nNeuron-Observer-Frame-Age: 1\r\n{coding}\r\n".encode()
    for parts in (
        (answer(body, headers=f"Neuron-Observer-Frame-Age: 1\r\n{coding}"),),
        (head, body[:5], body[5:]),
    ):
        with saying(*parts) as (address, told):
            assert Client(address).get("health")["verdict"] == "healthy"
        assert told.heard[0].startswith(b"GET /api/v1/health HTTP/1.0\r\nHost: 127.0.0.1:")


BOMB = gzip.compress(b" " * 5_000_000)
CASES = {
    "nothing": (b"", "the connection ended before an answer came"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "this is no HTTP answer"),
    "another server": (answer(HEALTH, headers=""), "is no neuron-observer"),
    "no JSON": (answer(b"<html>"), "the answer is no JSON document"),
    "a list": (answer(b"[]"), "the answer is no JSON document"),
    "depth": (answer(b"[" * 100_000), "the answer is no JSON document"),
    "no schema": (answer(b"{}"), "has no schema"),
    "another major": (
        answer(b'{"schema": "neuron-observer/health/2"}'),
        "speaks neuron-observer/health/2, here neuron-observer/health/1 is known",
    ),
    "broken off": (answer(HEALTH)[:-3], "the answer broke off"),
    "elsewhere": (answer(b"", "302 Found", "Location: http://x/\r\n"), "sends elsewhere"),
    "a problem": (
        answer(b'{"title": "not ready", "detail": "soon"}', "503 Service Unavailable"),
        "not ready",
    ),
    "login": (answer(b"", "401 Unauthorized", ""), "a user and password are needed"),
    "no gzip": (
        answer(b"abc", headers="Content-Encoding: gzip\r\n"),
        "the answer is no gzip",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_answer(case: str) -> None:
    """Each is told in its own words, with the address; none is a traceback."""
    said, words = CASES[case]
    with saying(said) as (address, _), pytest.raises(DaemonError) as error:
        Client(address).get("health")
    assert words in error.value.message
    assert str(address) in error.value.message


def test_too_many_bytes() -> None:
    """Told by their number, sent without end, or packed small."""
    packed = answer(BOMB, headers="Content-Encoding: gzip\r\n")
    for said in (answer(b" " * 9000), b"HTTP/1.0 200 OK\r\n\r\n" + b" " * 9000, packed):
        with saying(said) as (address, _), pytest.raises(DaemonError, match="more than 8000 bytes"):
            exchange(address, "/", {}, 5.0, 8000)
    with saying(b"x" * 100_000) as (address, _), pytest.raises(DaemonError):
        exchange(address, "/", {}, 5.0, 8000)


def test_who_never_answers() -> None:
    """The time is bounded for all of it: a server that drips is cut off too."""
    hold = threading.Event()
    with (
        saying(b"HTTP/1.0 200 OK\r\n", hold=hold) as (address, _),
        pytest.raises(DaemonError, match=r"no answer in 0\.2 s"),
    ):
        exchange(address, "/", {}, 0.2, 8000)


def test_nobody_there(tmp_path: Path) -> None:
    """No socket, one that nobody listens on, one that may not be used, a port that is closed."""
    path = tmp_path / "o.sock"
    client = Client(Address("unix", path=str(path)))
    with pytest.raises(DaemonError, match="no daemon listens there") as error:
        client.get("health")
    assert error.value.absent
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with pytest.raises(DaemonError, match="no daemon listens there"):
        client.get("health")
    if os.geteuid():
        path.chmod(0)
        with pytest.raises(DaemonError, match="this user may not ask it"):
            client.get("health")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(DaemonError, match="no daemon listens there"):
        Client(Address("http", "127.0.0.1", port)).get("health")
    with pytest.raises(DaemonError, match=r"http://nowhere\.invalid:1: "):
        Client(Address("http", "nowhere.invalid", 1)).get("health")


def test_tls() -> None:
    """A certificate is checked; who signed it may be named; a wrong file says so."""
    with saying(answer(HEALTH), tls=True) as (address, _):
        with pytest.raises(DaemonError, match="its certificate is not trusted"):
            Client(address).get("health")
        trusting = address._replace(ca_file=str(CERTIFICATE))
        assert Client(trusting).get("health")["verdict"] == "healthy"
        with pytest.raises(InputError, match=r"nowhere\.pem: No such file"):
            Client(address._replace(ca_file="nowhere.pem")).get("health")
    refusal = b"HTTP/1.0 400 Bad Request\r\n\r\n"
    with saying(refusal) as (plain, _), pytest.raises(DaemonError, match="no TLS"):
        Client(plain._replace(scheme="https")).get("health")


BASIC = b"Authorization: Basic bWU6c2VjcmV0\r\n"  # me:secret


def test_passwords(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From netrc or the environment; not in the clear to another machine, and never shown."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    netrc.chmod(0o600)
    with saying(answer(HEALTH)) as (address, told):
        Client(address).get("health")
        assert BASIC in told.heard[0] + b"\r\n"
        netrc.unlink()
        Client(address).get("health")
        assert b"Authorization" not in told.heard[1]
        monkeypatch.setenv("NEURON_OBSERVER_CONNECT_USER", "me")
        with pytest.raises(UsageError, match="go together"):
            Client(address).get("health")
        monkeypatch.setenv("NEURON_OBSERVER_CONNECT_PASSWORD", "secret")
        Client(address).get("health")
        assert BASIC in told.heard[-1] + b"\r\n"
        with pytest.raises(UsageError, match="in the clear") as error:
            list(authorization(Address("http", "other", 80)))
        assert "secret" not in str(error.value)


def test_a_netrc_that_cannot_be_read(tmp_path: Path) -> None:
    """Names the line, not what stands there."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 hunter2\n", encoding="utf-8")
    with saying(answer(HEALTH)) as (address, _), pytest.raises(InputError) as error:
        Client(address).get("health")
    assert "hunter2" not in str(error.value)


@settings(max_examples=60)
@given(st.binary(max_size=80))
def test_any_head_is_read_or_refused(head: bytes) -> None:
    """Nothing else is raised."""
    try:
        status, headers = parse(head, Address("http", "x", 1))
    except (Malformed, DaemonError):
        return
    assert 0 <= status <= 999
    assert all(name == name.lower() for name in headers)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (None, "/api/v1/x"),
        ({"a": None}, "/api/v1/x"),
        ({"a": "1", "b": "0,3-5"}, "/api/v1/x?a=1&b=0,3-5"),
        ({"a": "1 2&b"}, "/api/v1/x?a=1+2%26b"),
        ({"a": "ü"}, "/api/v1/x?a=%C3%BC"),
        ({"a": ""}, "/api/v1/x?a="),
        ({"a": "1", "b": ""}, "/api/v1/x?a=1&b="),
    ],
)
def test_targets(query: dict[str, str | None] | None, expected: str) -> None:
    """Plain ones as they are, others encoded; never a byte that a request line cannot hold."""
    assert target("x", query) == expected
