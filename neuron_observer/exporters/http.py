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
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from neuron_observer.clock import SystemClock
from neuron_observer.exporters.message import END, Refused, keeps, parse, plain, written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from neuron_observer.clock import Clock
    from neuron_observer.exporters.message import Request, Response

_METHODS = ("GET", "HEAD")
_CHUNK = 4096
_REFUSERS = 16  # connections beyond the limit that are told so; more are dropped
_NO_DESCRIPTOR = 0.1  # seconds until the next try
_LINGER = 16  # reads of what a refused client still sends, before its connection goes


Handler: TypeAlias = "Callable[[Request], Response]"


class Limits(NamedTuple):
    """What clients may cost; seconds and bytes."""

    connections: int = 64
    request_bytes: int = 16384
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
        except Refused as refused:
            self._send(written(refused.response, keep=False))
            self._linger()
            return False
        response = self._server.answer(request)
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
        listener: socket.socket,
        routes: Mapping[str, Handler],
        *,
        clock: Clock | None = None,
        limits: Limits | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.listener = listener
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
        self.listener.setblocking(False)
        self._wake, woken = socket.socketpair()
        self._acceptor = Thread(target=self._accept, args=(woken,), name="http", daemon=True)
        self._acceptor.start()

    def answer(self, request: Request) -> Response:
        """The answer to a request; a handler that fails costs only its own request."""
        handler = self.routes.get(request.path)
        if handler is None:
            return plain(404, f"nothing at {request.path}; see /")
        if request.method not in _METHODS:
            why = plain(405, "GET or HEAD, please")
            return why._replace(headers=(("Allow", ", ".join(_METHODS)),))
        try:
            return handler(request)
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
        self.listener.close()

    def _accept(self, woken: socket.socket) -> None:
        with woken, selectors.DefaultSelector() as selector:
            selector.register(self.listener, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            while not self.stopping:
                selector.select()
                if not self.stopping:
                    self._take()

    def _take(self) -> None:
        try:
            sock, _ = self.listener.accept()
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
