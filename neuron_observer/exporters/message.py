"""HTTP/1.1 requests and responses: bytes ↔ words, no sockets. Source: RFC 9110, RFC 9112."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import gmtime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

END = b"\r\n\r\n"
_REASONS = {
    200: "OK",
    202: "Accepted",
    304: "Not Modified",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    411: "Length Required",
    413: "Content Too Large",
    422: "Unprocessable Content",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_ALWAYS = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))
_ONCE = ("host", "content-length", "transfer-encoding", "authorization")


class Peer(NamedTuple):
    """Who is at the other end of a unix socket, as the kernel says (unix(7), SO_PEERCRED)."""

    uid: int
    gid: int
    pid: int


class Request(NamedTuple):
    """What was asked for; names of headers in lower case, repeated ones joined by commas.

    `peer` is None for who comes by TCP: then nothing is known about him.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes = b""
    peer: Peer | None = None


class Response(NamedTuple):
    """An answer; `before` are pieces of its body that stand before `body`.

    Answers that have pieces in common share them, so that a thousand slow readers of a large page
    hold it once.
    """

    body: bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    before: tuple[bytes, ...] = ()


Send: TypeAlias = Callable[[bytes], None]


class Stream(NamedTuple):
    """An answer without end.

    The server calls `open` with a function that sends: it may be called from any thread, never
    blocks, does nothing once the client is gone, and drops a client that leaves too much untaken.
    What `open` returns is called once, when the client is gone, from a thread of the server.
    """

    open: Callable[[Send], Callable[[], None]]
    content_type: str = "text/event-stream; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


Handler: TypeAlias = Callable[[Request], Response | Stream]


class Refused(Exception):  # noqa: N818 - an answer, not an error of ours
    """A request that is answered with a status and then ends the connection."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.response = plain(status, why)


def plain(status: int, text: str) -> Response:
    """A line of text."""
    return Response(f"{text}\n".encode(), status)


def parse(head: bytes) -> Request:
    """The head of a request, without the empty line that ends it; `Refused` if it is none."""
    first, *rest = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        raise Refused(400, "this is no HTTP request")
    method, target, version = words
    if not _TOKEN.fullmatch(method):
        raise Refused(400, "the method is no word")
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Refused(505, "HTTP/1.1 or HTTP/1.0, please")
    if not target.startswith("/") or not target.isascii() or not target.isprintable():
        raise Refused(400, "the path must begin with / and be ASCII")
    headers = _headers(rest)
    if version == "HTTP/1.1" and "host" not in headers:
        raise Refused(400, "HTTP/1.1 needs a Host header")
    if version == "HTTP/1.0":
        headers.setdefault("connection", "close")
    path, _, query = target.partition("?")
    return Request(method, path, query, headers)


def _headers(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not _TOKEN.fullmatch(name) or _CONTROL.search(value):
            raise Refused(400, "a header is malformed")
        if name in found and name in _ONCE:
            raise Refused(400, f"the header {name} stands twice")
        text = value.strip(" \t")
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def length(request: Request) -> int:
    """Bytes of the body that follows; `Refused` if that cannot be known."""
    if "transfer-encoding" in request.headers:
        raise Refused(411, "a body comes with its Content-Length, not in chunks")
    text = request.headers.get("content-length", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise Refused(400, "the Content-Length is no number")
    return int(text)


def keeps(request: Request) -> bool:
    """Whether another request may follow."""
    words = request.headers.get("connection", "keep-alive").lower().split(",")
    return "close" not in {word.strip() for word in words}


def http_date(seconds: int) -> str:
    """Seconds since the epoch as a date of HTTP, whatever the locale; RFC 9110 §5.6.7."""
    year, month, day, hour, minute, second, weekday, *_ = gmtime(seconds)
    clock = f"{hour:02}:{minute:02}:{second:02}"
    return f"{_DAYS[weekday]}, {day:02} {_MONTHS[month - 1]} {year:04} {clock} GMT"


def head(answer: Response | Stream, *, keep: bool, more: Iterable[tuple[str, str]] = ()) -> bytes:
    """The head of an answer; that of a stream ends with its connection."""
    status, length = 200, ""
    if isinstance(answer, Stream):
        keep = False
    else:
        size = sum(map(len, answer.before), len(answer.body))
        status = answer.status
        if status != 304:  # there it would tell the size of what is not sent; RFC 9110 §8.6
            length = f"Content-Length: {size}\r\n"
    named = dict([*_ALWAYS, *more, *answer.headers])
    if any(_CONTROL.search(f"{name}{value}") for name, value in named.items()):
        raise ValueError("a header of an answer has control characters")
    rest = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return (
        f"HTTP/1.1 {status} {_REASONS.get(status, '')}\r\n"
        f"Content-Type: {answer.content_type}\r\n{length}"
        f"Connection: {'keep-alive' if keep else 'close'}\r\n{rest}\r\n"
    ).encode("latin-1", "replace")
