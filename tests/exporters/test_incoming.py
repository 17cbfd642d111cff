"""Bytes of a connection into requests: the same in whatever pieces they come."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.exporters.incoming import Incoming
from neuron_observer.exporters.message import Refused, Request

HEAD = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n"
SMUGGLED = b"GET /evil HTTP/1.1\r\nHost: h\r\n\r\n"


def outcome(pieces: list[bytes], head_bytes: int = 500, body_bytes: int = 100) -> list[object]:
    """All requests, and the status of what ended them."""
    incoming = Incoming(head_bytes, body_bytes)
    found: list[object] = []
    try:
        for piece in pieces:
            incoming.add(piece)
            while request := incoming.take():
                found.append(request)
    except Refused as refused:
        found.append(refused.response.status)
    return found


@st.composite
def conversations(draw: st.DrawFn) -> bytes:
    """Requests one after the other, some of them with a body, at times with noise between them."""
    parts = st.one_of(
        st.binary(max_size=40).map(lambda body: HEAD % len(body) + b"\r\n" + body),
        st.just(SMUGGLED),
        st.just(b"\r\n"),
        st.sampled_from([b"\n", b"\r", b"\0", b"GET", b"GET / HTTP/1\r\n\nHost: h\n\n", b" "]),
    )
    return b"".join(draw(st.lists(parts, max_size=5)))


@settings(max_examples=150)
@given(conversations(), st.data())
def test_pieces_change_nothing(whole: bytes, data: st.DataObject) -> None:
    """Cut anywhere, the same requests are read and the same is refused."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    edges = [0, *cuts, len(whole)]
    pieces = [whole[a:b] for a, b in itertools.pairwise(edges)]
    bytewise = [whole[i : i + 1] for i in range(len(whole))]
    for limits in (500, 100), (data.draw(st.integers(0, 70)), 10):
        assert outcome(pieces, *limits) == outcome([whole], *limits)
        assert outcome(bytewise, *limits) == outcome([whole], *limits)


@settings(max_examples=150)
@given(st.binary(max_size=300))
def test_nothing_else_is_raised(noise: bytes) -> None:
    """Whatever comes is a request, is refused, or is not all there yet."""
    for one in outcome([noise]):
        assert isinstance(one, (Request, int))


@given(st.binary(max_size=100))
def test_a_body_is_no_request(body: bytes) -> None:
    """What a body looks like does not matter: the next request begins behind it."""
    found = outcome([HEAD % len(body) + b"\r\n" + body + SMUGGLED])
    assert [(one.method, one.path, one.body) for one in found if isinstance(one, Request)] == [
        ("POST", "/a", body),
        ("GET", "/evil", b""),
    ]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (HEAD % 3 + b"Content-Length: 3\r\n\r\nabc", 400),
        (HEAD % 3 + b"content-length: 99\r\n\r\nabc", 400),
        (HEAD % 3 + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 411),
        (HEAD % 3 + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n", 400),
        (HEAD % 3 + b"X: a\r\n folded\r\n\r\n", 400),
        (HEAD % 3 + b"X: a\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (HEAD % 3 + b"X: a\rb\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: h\n\n", 400),
        (b"GET / HTTP/1.1\n", 400),
        (b"\n", 400),
        (HEAD.replace(b"Length:", b"Length :") % 3 + b"\r\n", 400),
        (HEAD.replace(b"%d", b"+3") + b"\r\n", 400),
        (HEAD % 101 + b"\r\n", 413),
        (HEAD % 3 + b"X: " + b"y" * 500, 431),
        (HEAD % 3 + b"X: " + b"y" * 500 + b"\r\n\r\n", 431),
    ],
)
def test_what_neighbours_may_read_otherwise_is_refused(raw: bytes, status: int) -> None:
    """And nothing behind it is read."""
    assert outcome([raw]) == [status]


def test_lines_before_a_request_are_forgiven() -> None:
    """Some clients end a body with one more line; RFC 9112 §2.2."""
    assert len(outcome([b"\r\n\r\n" + SMUGGLED + b"\r\n" + SMUGGLED])) == 2


def test_a_client_that_asks_before_it_sends() -> None:
    """It waits for leave: only until the first byte of its body is there."""
    incoming = Incoming(500, 100)
    incoming.add(HEAD % 2 + b"Expect: 100-continue\r\n\r\n")
    assert incoming.take() is None
    assert incoming.asks_to_continue()
    incoming.add(b"x")
    assert incoming.take() is None
    assert not incoming.asks_to_continue()
    incoming.add(b"y")
    request = incoming.take()
    assert request
    assert request.body == b"xy"
    assert not incoming
