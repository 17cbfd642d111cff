"""Requests and responses as bytes."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.exporters.message import (
    Refused,
    Request,
    Response,
    Stream,
    head,
    http_date,
    keeps,
    length,
    parse,
)

HOST = b"Host: localhost"


def test_a_request() -> None:
    """Method, path, query and headers, names in lower case, values without spaces around."""
    head = b"GET /metrics?name=a&x HTTP/1.1\r\nHost: h:1\r\nAccept:  a/b \r\nACCEPT: c/d\r\nX-Y:"
    assert parse(head) == Request(
        "GET", "/metrics", "name=a&x", {"host": "h:1", "accept": "a/b, c/d", "x-y": ""}
    )


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400),  # somebody speaks TLS
        (b"GET /\r\n" + HOST, 400),
        (b"GET  / HTTP/1.1\r\n" + HOST, 400),
        (b"GET / HTTP/1.1", 400),
        (b"GET / HTTP/2.0\r\n" + HOST, 505),
        (b"GET / HTTP/0.9", 505),
        (b"GET metrics HTTP/1.1\r\n" + HOST, 400),
        (b"GET http://h/metrics HTTP/1.1\r\n" + HOST, 400),
        (b"GET /\xff HTTP/1.1\r\n" + HOST, 400),
        (b"GET /\x00 HTTP/1.1\r\n" + HOST, 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\nno colon", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\n: empty", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\nA b: c", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\n folded: yes", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\na: \x00", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\na: b\nc: d", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\na: b\rc: d", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\na: \x7f", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\nContent-Length : 0", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\nHost: another", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\nContent-Length: 1\r\nContent-Length: 1", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\nContent-Length: 1\r\ncontent-length: 2", 400),
        (b"GET / HTTP/1.1\r\n" + HOST + b"\r\nAuthorization: a\r\nAuthorization: b", 400),
        (b"G(T / HTTP/1.1\r\n" + HOST, 400),
    ],
)
def test_what_is_no_request_is_refused(head: bytes, status: int) -> None:
    """With a status that says which kind of wrong, and a line that says what."""
    with pytest.raises(Refused) as refused:
        parse(head)
    assert refused.value.response.status == status
    assert refused.value.response.body.endswith(b"\n")


@settings(max_examples=100)
@given(st.binary(max_size=200) | st.builds(lambda b: b"GET / HTTP/1.1\r\n" + b, st.binary()))
def test_any_bytes_are_a_request_or_refused(head: bytes) -> None:
    """Nothing else is raised."""
    with suppress(Refused):
        assert parse(head).path.startswith("/")


@pytest.mark.parametrize(
    ("head", "stays"),
    [
        (b"GET / HTTP/1.1\r\nHost: h", True),
        (b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close", False),
        (b"GET / HTTP/1.1\r\nHost: h\r\nConnection: TE, Close", False),
        (b"GET / HTTP/1.0", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive", True),
        (b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0", True),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5", True),
    ],
)
def test_whether_the_connection_stays(head: bytes, stays: bool) -> None:
    """As the client wishes."""
    assert keeps(parse(head)) is stays


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (b"A: b", 0),
        (b"Content-Length: 0", 0),
        (b"Content-Length: 17", 17),
        (b"Content-Length: -1", 400),
        (b"Content-Length: +1", 400),
        (b"Content-Length: 0x1", 400),
        (b"Content-Length:", 400),
        (b"Content-Length: 1" + b"0" * 40, 400),
        (b"Content-Length: \xb2", 400),
        (b"Transfer-Encoding: chunked", 411),
        (b"Content-Length: 5\r\nTransfer-Encoding: chunked", 411),
    ],
)
def test_how_long_a_body_is(header: bytes, expected: int) -> None:
    """Said once and in digits, else it is refused: two readings of it would be two requests."""
    request = parse(b"POST / HTTP/1.1\r\n" + HOST + b"\r\n" + header)
    if expected < 400:
        assert length(request) == expected
        return
    with pytest.raises(Refused) as refused:
        length(request)
    assert refused.value.response.status == expected


def test_the_head_of_a_response() -> None:
    """Status, length, what nobody may keep or guess, and what the handler adds."""
    response = Response(b"hello\n", 503, headers=(("Retry-After", "5"),))
    assert head(response, keep=False) == (
        b"HTTP/1.1 503 Service Unavailable\r\n"
        b"Content-Type: text/plain; charset=utf-8\r\n"
        b"Content-Length: 6\r\n"
        b"Connection: close\r\n"
        b"Cache-Control: no-store\r\n"
        b"X-Content-Type-Options: nosniff\r\n"
        b"Retry-After: 5\r\n\r\n"
    )
    assert b"Connection: keep-alive\r\n" in head(response, keep=True)


def test_a_date() -> None:
    """The example of RFC 9110 §5.6.7."""
    assert http_date(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT"


def test_the_head_of_a_stream() -> None:
    """It has no length, so it ends with its connection."""
    found = head(Stream(lambda _: lambda: None), keep=True, more=(("X-Frame-Options", "deny"),))
    assert found.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset")
    assert b"Content-Length" not in found
    assert b"\r\nConnection: close\r\n" in found
    assert b"\r\nX-Frame-Options: deny\r\n" in found


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b", "a\nb", "a\0"])
def test_no_header_of_ours_is_two(value: str) -> None:
    """What a client sent and a handler repeats cannot end a header."""
    with pytest.raises(ValueError, match="control characters"):
        head(Response(b"", headers=(("X", value),)), keep=True)


def test_what_did_not_change_has_no_length() -> None:
    """A 304 has no body, and the length of another one is not known to who writes it."""
    told = head(Response(b"", 304), keep=True)
    assert told.startswith(b"HTTP/1.1 304 Not Modified\r\n")
    assert b"content-length" not in told.lower()
    assert b"Content-Length: 0\r\n" in head(Response(b""), keep=True)
