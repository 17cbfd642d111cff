"""The bytes of a connection as requests, in whatever pieces they come.

Whoever reads a request in another way than its neighbour lets a second one be smuggled in. So what
RFC 9112 lets a server be lenient about is refused: lines that end in a bare line feed, folded
headers, a length beside an encoding, two lengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.exporters.message import END, Refused, length, parse

if TYPE_CHECKING:
    from neuron_observer.exporters.message import Request

_NEWLINE = b"\r\n"
_CONTINUE = "100-continue"


class Incoming:
    """Takes bytes, gives requests."""

    def __init__(self, head_bytes: int, body_bytes: int) -> None:
        self._head_bytes = head_bytes
        self._body_bytes = body_bytes
        self._buffer = bytearray()
        self._head: Request | None = None  # of a request whose body is not all there
        self._size = 0
        self._searched = 0  # bytes in which no end of a head is

    def __bool__(self) -> bool:
        """Whether a request has begun."""
        return bool(self._buffer) or self._head is not None

    def add(self, data: bytes) -> None:
        """More bytes came."""
        self._buffer += data

    def clear(self) -> None:
        """Nothing of it will be taken."""
        self._buffer = bytearray()

    def take(self) -> Request | None:
        """The next request, if it is all there; `Refused` if it is none."""
        if self._head is None:
            self._head = self._begun()
        if self._head is None or len(self._buffer) < self._size:
            return None
        request = self._head._replace(body=bytes(self._buffer[: self._size]))
        del self._buffer[: self._size]
        self._head, self._size = None, 0
        return request

    def asks_to_continue(self) -> bool:
        """Whether the client waits for leave to send the body; RFC 9110 §10.1.1."""
        head = self._head
        return head is not None and not self._buffer and head.headers.get("expect") == _CONTINUE

    def _begun(self) -> Request | None:
        while self._buffer.startswith(_NEWLINE):  # RFC 9112 §2.2: left over by some clients
            del self._buffer[:2]
        end = self._buffer.find(END, self._searched)
        there = end if end >= 0 else len(self._buffer)
        size = end if end >= 0 else there - len(END) + 1  # of the head, at least
        self._refuse_bare_line_feeds(min(there, self._head_bytes))
        if size > self._head_bytes:
            raise Refused(431, f"a request may have {self._head_bytes} bytes")
        if end < 0:
            self._searched = max(size, 0)
            return None
        head = parse(bytes(self._buffer[:end]))
        self._size = length(head)
        if self._size > self._body_bytes:
            raise Refused(413, f"a body may have {self._body_bytes} bytes")
        del self._buffer[: end + len(END)]
        self._searched = 0
        return head

    def _refuse_bare_line_feeds(self, size: int) -> None:
        """At once: its sender believes that the request is complete."""
        found = self._buffer.find(b"\n", self._searched, size)
        while found >= 0:
            if self._buffer[max(found - 1, 0) : found] != b"\r":
                raise Refused(400, "lines end in CR LF")
            found = self._buffer.find(b"\n", found + 1, size)
