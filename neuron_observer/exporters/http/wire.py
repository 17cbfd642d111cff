"""A connection that never blocks: bytes in, bytes out."""

from __future__ import annotations

import socket
from contextlib import suppress
from itertools import islice
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections import deque

# Bytes that the kernel may hold of an answer: left to itself it holds 4 MB a slow reader, which
# counts as the daemon's memory though no figure of the process shows it.
_KERNEL_HOLDS = 65536
_CHUNK = 4096  # bytes that are read at once
SCRAP = memoryview(bytearray(65536))  # for what is read and thrown away
_PIECES = 64  # that are written at once


class Wire(Protocol):
    """What a connection is to the server."""

    sock: socket.socket
    waits_for: int  # what the last call lacked, of `selectors`

    def handshake(self) -> bool | None:
        """Whether it is done: None for not yet, False for what this wire is not made for."""
        ...

    def receive(self) -> bytes | None:
        """What came: None for nothing yet, empty at the end."""
        ...

    def discard(self) -> int | None:
        """Throw away what came: how much, None for nothing yet, 0 at the end."""
        ...

    def send(self, pieces: deque[memoryview]) -> int:
        """How many bytes of these were taken; 0 for none yet."""
        ...

    def finish(self) -> None:
        """Say that nothing more is sent."""
        ...


class PlainWire:
    """Bytes as they are."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_HOLDS)
        self.sock = sock
        self.waits_for = EVENT_READ

    def handshake(self) -> bool | None:
        """There is none."""
        return True

    def receive(self) -> bytes | None:
        """What came."""
        try:
            return self.sock.recv(_CHUNK)
        except BlockingIOError:
            self.waits_for = EVENT_READ
            return None

    def discard(self) -> int | None:
        """Throw away what came."""
        try:
            return self.sock.recv_into(SCRAP)
        except BlockingIOError:
            return None

    def send(self, pieces: deque[memoryview]) -> int:
        """Head and body leave in one write: else late acknowledgements cost 40 ms."""
        try:
            return self.sock.sendmsg(islice(pieces, _PIECES))
        except BlockingIOError:
            self.waits_for = EVENT_WRITE
            return 0

    def finish(self) -> None:
        """Half-close."""
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)
