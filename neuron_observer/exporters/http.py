"""The HTTP seam: path → handler → response, over a listening socket that somebody else made.

HTTP/1.1 with keep-alive, GET and HEAD only, a thread a connection. An answer leaves in one write
with Nagle's delay off. What a client may cost is bounded: connections, bytes of a request, time to
send one, time to take an answer, time to say nothing. Handlers answer from what is already known
and never wait. Source: RFC 9110, RFC 9112.
"""

from __future__ import annotations

import errno
import selectors
import socket
import struct
from contextlib import suppress
from queue import Empty, Full, Queue
from select import select
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.clock import SystemClock
from neuron_observer.exporters.message import (
    END,
    Handler,
    Peer,
    Refused,
    Stream,
    keeps,
    length,
    parse,
    plain,
    started,
    written,
)
from neuron_observer.exporters.routes import answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.exporters.message import Request, Response
    from neuron_observer.exporters.routes import Routes

__all__ = ["Handler", "Limits", "Server"]
_CHUNK = 4096
_REFUSERS = 16  # connections beyond the limit that are told so; more are dropped
_NO_DESCRIPTOR = 0.1  # seconds until the next try
_LINGER = 16  # reads of what a refused client still sends, before its connection goes

_PEER = struct.Struct("3i")  # struct ucred: pid, uid, gid
_UNTAKEN = 64  # messages of a stream that wait for a client


class Limits(NamedTuple):
    """What clients may cost; seconds and bytes."""

    connections: int = 64
    request_bytes: int = 16384
    body_bytes: int = 65536
    request_seconds: float = 5.0
    idle_seconds: float = 30.0
    answer_seconds: float = 10.0


class _Connection:
    """One client."""

    def __init__(self, sock: socket.socket, server: Server) -> None:
        self.sock = sock
        self._server = server
        self._buffer = b""

    def serve(self) -> None:
        """Answer requests until the client goes, errs or idles too long."""
        with suppress(OSError), self.sock:
            if self.sock.family != socket.AF_UNIX:
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while self._one():
                pass

    def refuse(self) -> None:
        """Say that there are too many."""
        with suppress(OSError), self.sock:
            self._send(written(plain(503, "too many connections"), keep=False))
            self._linger()

    def _one(self) -> bool:
        """Answer one request; whether another may follow."""
        try:
            head = self._read()
            if head is None:
                return False
            request = parse(head)
            request = request._replace(body=self._body(length(request)), peer=_peer(self.sock))
        except Refused as refused:
            self._send(written(refused.response, keep=False))
            self._linger()
            return False
        response = self._server.answer(request)
        if isinstance(response, Stream):
            self._stream(response, with_body=request.method != "HEAD")
            return False
        keep = keeps(request) and not self._server.stopping
        self._send(written(response, keep=keep, with_body=request.method != "HEAD"))
        if not keep:
            self._linger()
        return keep

    def _read(self) -> bytes | None:
        """The head of the next request; None if the client left or has nothing to say."""
        limits, clock = self._server.limits, self._server.clock
        deadline = clock.monotonic() + limits.request_seconds
        while END not in self._buffer:
            if len(self._buffer) > limits.request_bytes:
                raise Refused(431, f"a request may have {limits.request_bytes} bytes")
            idle = not self._buffer
            left = limits.idle_seconds if idle else deadline - clock.monotonic()
            self.sock.settimeout(max(left, 0.001))
            try:
                more = self.sock.recv(_CHUNK)
            except TimeoutError:
                if idle:
                    return None
                raise Refused(408, "the request took too long") from None
            if not more:
                return None
            if idle:
                deadline = clock.monotonic() + limits.request_seconds
            self._buffer += more
        head, _, self._buffer = self._buffer.partition(END)
        if len(head) > limits.request_bytes:
            raise Refused(431, f"a request may have {limits.request_bytes} bytes")
        return head

    def _body(self, size: int) -> bytes:
        if size > self._server.limits.body_bytes:
            raise Refused(413, f"a body may have {self._server.limits.body_bytes} bytes")
        self.sock.settimeout(self._server.limits.request_seconds)
        while len(self._buffer) < size:
            try:
                more = self.sock.recv(_CHUNK)
            except TimeoutError:
                raise Refused(408, "the request took too long") from None
            if not more:
                raise ConnectionError("the client left")
            self._buffer += more
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        return body

    def _stream(self, stream: Stream, *, with_body: bool) -> None:
        """Send what comes until the client is gone, takes too little, or the server stops."""
        self._send(started(stream))
        waiting: Queue[bytes] = Queue(_UNTAKEN)
        gone = not with_body

        def send(data: bytes) -> None:
            nonlocal gone
            try:
                waiting.put_nowait(data)
            except Full:
                gone = True

        end = stream.open(send)
        try:
            while not (gone or self._server.stopping):
                with suppress(Empty):
                    self._send(waiting.get(timeout=0.2))
                if select([self.sock], [], [], 0)[0] and not self.sock.recv(_CHUNK):
                    break
        finally:
            end()

    def _send(self, answer: bytes) -> None:
        self.sock.settimeout(self._server.limits.answer_seconds)
        self.sock.sendall(answer)

    def _linger(self) -> None:
        """Let the client read its answer: closing on what it still sends would reset it away."""
        self.sock.shutdown(socket.SHUT_WR)
        self.sock.settimeout(0.2)
        for _ in range(_LINGER):
            if not self.sock.recv(_CHUNK):
                break


class Server:
    """Serves routes on a listening socket until closed."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        routes: Routes,
        *,
        clock: Clock | None = None,
        limits: Limits | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.listeners = tuple(listeners)
        self.routes = routes
        self.clock = clock or SystemClock()
        self.limits = limits or Limits()
        self.report = report
        self.stopping = False
        self._lock = Lock()
        self._open: dict[_Connection, Thread] = {}
        self._wake: socket.socket | None = None
        self._acceptor: Thread | None = None

    def start(self) -> None:
        """Begin to accept, in a thread of its own."""
        for listener in self.listeners:
            listener.setblocking(False)
        self._wake, woken = socket.socketpair()
        self._acceptor = Thread(target=self._accept, args=(woken,), name="http", daemon=True)
        self._acceptor.start()

    def answer(self, request: Request) -> Response | Stream:
        """The answer to a request; a handler that fails costs only its own request."""
        try:
            return answer(self.routes, request)
        except Exception as error:  # noqa: BLE001 - see above; reported
            self.report(f"{request.path}: {type(error).__name__}: {error}")
            return plain(500, "this is an error of the observer; its log says more")

    def close(self) -> None:
        """Stop: no new connections, running answers end, idle ones are cut."""
        self.stopping = True
        if self._wake and self._acceptor:
            self._wake.close()  # which the acceptor sees
            self._acceptor.join(1.0)
        with self._lock:
            threads = dict(self._open)
        for connection in threads:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RD)
        deadline = self.clock.monotonic() + 1.0
        for thread in threads.values():
            thread.join(max(deadline - self.clock.monotonic(), 0.0))
        for listener in self.listeners:
            listener.close()

    def _accept(self, woken: socket.socket) -> None:
        with woken, selectors.DefaultSelector() as selector:
            for listener in self.listeners:
                selector.register(listener, selectors.EVENT_READ, listener)
            selector.register(woken, selectors.EVENT_READ)
            while not self.stopping:
                for key, _ in selector.select():
                    if key.data and not self.stopping:
                        self._take(key.data)

    def _take(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError as error:  # the client is gone again, or no descriptor is free
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self.clock.wait(_NO_DESCRIPTOR)
            return
        connection = _Connection(sock, self)
        with self._lock:
            others = len(self._open)
            thread = Thread(
                target=self._run,
                args=(connection, others < self.limits.connections),
                daemon=True,
            )
            self._open[connection] = thread
        if others >= self.limits.connections + _REFUSERS or not _started(thread):
            self._forget(connection)
            sock.close()

    def _run(self, connection: _Connection, welcome: bool) -> None:  # noqa: FBT001 - of a thread
        try:
            if welcome:
                connection.serve()
            else:
                connection.refuse()
        finally:
            self._forget(connection)

    def _forget(self, connection: _Connection) -> None:
        with self._lock:
            del self._open[connection]


def _started(thread: Thread) -> bool:
    try:
        thread.start()
    except RuntimeError:  # no more threads
        return False
    return True


def _peer(sock: socket.socket) -> Peer | None:
    if sock.family != socket.AF_UNIX:
        return None
    found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid, uid, gid = _PEER.unpack(found)
    return Peer(uid, gid, pid)
