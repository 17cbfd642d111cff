"""A connection by TLS that never blocks.

Its TLS part is only made once its client says something: one that connects and is silent costs a
descriptor. Source: RFC 8446 §5.1 (records), Python's ssl, "Notes on non-blocking sockets".
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING

from neuron_observer.exporters.http.wire import SCRAP, PlainWire

if TYPE_CHECKING:
    from collections import deque

    from neuron_observer.exporters.web.tls import Secured

_HANDSHAKE = b"\x16"  # the type of the first record of a client
_RECORD = 16384  # bytes, at most; one is read at once, so that none stays where no selector sees it
_JOINED = 65536  # bytes that are handed to TLS at once


class TlsWire:
    """Bytes by TLS."""

    def __init__(self, sock: socket.socket, secured: Secured) -> None:
        self.sock = PlainWire(sock).sock
        self.waits_for = EVENT_READ
        self._secured = secured
        self._tls: ssl.SSLSocket | None = None

    def handshake(self) -> bool | None:
        """Go on with it; False for a client that does not speak TLS."""
        if self._tls is None:
            try:
                first = self.sock.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                return None
            if not first:
                raise ConnectionResetError
            if first != _HANDSHAKE:
                return False
            self._tls = self.sock = self._secured.context.wrap_socket(
                self.sock, server_side=True, do_handshake_on_connect=False
            )
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self.waits_for = EVENT_READ
        except ssl.SSLWantWriteError:
            self.waits_for = EVENT_WRITE
        else:
            if self._secured.allows(self._tls):
                return True
            raise ConnectionAbortedError
        return None

    def receive(self) -> bytes | None:
        """What came."""
        try:
            return self.sock.recv(_RECORD)
        except ssl.SSLWantReadError:
            self.waits_for = EVENT_READ
        except ssl.SSLWantWriteError:
            self.waits_for = EVENT_WRITE
        return None

    def discard(self) -> int | None:
        """Throw away what came, also before a handshake is done."""
        try:
            return self.sock.recv_into(SCRAP)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return None

    def send(self, pieces: deque[memoryview]) -> int:
        """Small pieces in one record, of large ones a part."""
        data = pieces[0][:_JOINED]
        if len(pieces) > 1 and len(data) < _RECORD:
            data = memoryview(b"".join((data, pieces[1][: _RECORD - len(data)])))
        try:
            return self.sock.send(data)
        except ssl.SSLWantReadError:
            self.waits_for = EVENT_READ
        except ssl.SSLWantWriteError:
            self.waits_for = EVENT_WRITE
        return 0

    def finish(self) -> None:
        """Say good-bye in TLS, then half-close."""
        with suppress(OSError, ValueError):
            if self._tls is not None:
                self._tls.unwrap()
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)
