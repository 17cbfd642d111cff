"""HTTP/1.1 requests and responses: bytes ↔ words, no sockets. Source: RFC 9110, RFC 9112."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


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
    """An answer."""

    body: bytes
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


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
        if not colon or not name or not _TOKEN.issuperset(name) or "\0" in value:
            raise Refused(400, "a header is malformed")
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


def started(stream: Stream) -> bytes:
    """The head of an answer that ends with its connection."""
    lines = [
        "HTTP/1.1 200 OK",
        f"Content-Type: {stream.content_type}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
        *(f"{name}: {value}" for name, value in stream.headers),
    ]
    return "\r\n".join(lines).encode("latin-1") + END


def written(response: Response, *, keep: bool, with_body: bool = True) -> bytes:
    """An answer as bytes."""
    reason = _REASONS.get(response.status, "")
    lines = [
        f"HTTP/1.1 {response.status} {reason}",
        f"Content-Type: {response.content_type}",
        f"Content-Length: {len(response.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        f"Connection: {'keep-alive' if keep else 'close'}",
        *(f"{name}: {value}" for name, value in response.headers),
    ]
    return "\r\n".join(lines).encode("latin-1") + END + (response.body if with_body else b"")
