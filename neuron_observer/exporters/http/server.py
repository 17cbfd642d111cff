"""The server: one thread that waits for all clients at once.

Handlers run in it, because they answer from what is known and never wait; a route that says that it
waits, and the check of a password, run in threads beside it. What a client may cost is bounded, see
`Limits`. Source: RFC 9110, RFC 9112.
"""

from __future__ import annotations

import errno
import selectors
import socket
import struct
from collections import deque
from contextlib import suppress
from functools import partial
from math import inf
from threading import Thread, get_ident
from typing import TYPE_CHECKING, TypeVar

from neuron_observer.clock import SystemClock
from neuron_observer.exporters.http.connection import Connection
from neuron_observer.exporters.http.limits import Limits
from neuron_observer.exporters.http.wire import PlainWire
from neuron_observer.exporters.http.worker import Worker
from neuron_observer.exporters.message import Peer, http_date, plain
from neuron_observer.exporters.routes import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.exporters.http.wire import Wire
    from neuron_observer.exporters.message import Request, Response
    from neuron_observer.exporters.routes import Routes
    from neuron_observer.exporters.web import Web
    from neuron_observer.exporters.web.tls import Secured

Result = TypeVar("Result")
_AT_ONCE = 16  # connections that are taken before others have their turn
_NO_DESCRIPTOR = 0.1  # seconds until the next try
_NO_HURRY = 0.1  # seconds after an error that nobody thought of
_LAST_SECONDS = 0.5  # for what is being answered while the server stops
_CHECKS = 16  # passwords that wait to be checked
_PEER = struct.Struct("3i")  # struct ucred of unix(7): pid, uid, gid
_BUSY = plain(503, "too many wait for an answer already")
_PRIVATE = plain(401, "a user name and a password, please")._replace(
    headers=(("WWW-Authenticate", 'Basic realm="neuron-observer", charset="UTF-8"'),)
)


class Server:
    """Serves routes on listening sockets until closed."""

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        routes: Routes,
        *,
        clock: Clock | None = None,
        limits: Limits | None = None,
        web: Web | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.listeners = tuple(listeners)
        self.routes = routes
        self.limits = limits or Limits()
        self.report = report
        self._clock = clock or SystemClock()
        self.now = self._clock.monotonic
        self._dated, self._date = 0, ""
        self.stopping = False
        self._web = web
        self._by_tcp: set[Connection] = set()
        self._by_unix: set[Connection] = set()
        self._soon: deque[tuple[Connection, Callable[[], None]]] = deque()
        self._earliest = inf  # no deadline is before it
        self._accept_again = inf
        self._passwords = Worker("http passwords", _CHECKS)
        self._tcp_worker = Worker("http waiting", self.limits.waiting)
        self._unix_worker = Worker("http waiting, unix", self.limits.waiting)
        self._thread = Thread(target=self._run, name="http", daemon=True)

    @property
    def headers(self) -> Iterable[tuple[str, str]]:
        """What every answer has: the time (RFC 9110 §6.6.1), and what the configuration adds."""
        now = int(self._clock.wall())
        if now != self._dated:
            self._dated, self._date = now, http_date(now)
        return (("Date", self._date), *(self._web.headers if self._web else ()))

    def start(self) -> None:
        """Begin to accept, in a thread of its own."""
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        for end in (self._woken, self._wake):
            end.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._wake_up)
        self._listen()
        self._thread.start()

    def close(self) -> None:
        """Stop: no new connections, running answers end, idle ones are cut."""
        self.stopping = True
        if self._thread.ident:
            self._nudge()
            self._thread.join(_LAST_SECONDS + 0.3)
        for worker in (self._passwords, self._tcp_worker, self._unix_worker):
            worker.close()
        for listener in self.listeners:
            listener.close()

    def watch(self, connection: Connection, events: int) -> None:
        """Tell a connection when its socket is ready; 0 for never."""
        sock, known = connection.wire.sock, connection.events
        if events and known:
            if events != known:
                self._selector.modify(sock, events, connection.ready)
        elif events:
            self._selector.register(sock, events, connection.ready)
        elif known:
            self._selector.unregister(sock)
        connection.events = events

    def hurry(self, deadline: float) -> None:
        """Look at deadlines then, if not before."""
        self._earliest = min(self._earliest, deadline)

    def soon(self, connection: Connection, work: Callable[[], None]) -> None:
        """Do something for a connection in the server's thread; from any thread."""
        self._soon.append((connection, work))
        if get_ident() != self._thread.ident:
            self._nudge()

    def forget(self, connection: Connection) -> None:
        """A connection is over."""
        self.watch(connection, 0)
        self._by_tcp.discard(connection)
        self._by_unix.discard(connection)

    def answer(self, connection: Connection, request: Request) -> None:
        """Have a request answered, if the client may ask."""
        web = self._web
        if web is None or connection.peer is not None:
            self._answer(connection, request, admitted=True)
            return
        authorization = request.headers.get("authorization", "")
        admitted = web.admits(authorization)
        if admitted is not None:
            self._answer(connection, request, admitted=admitted)
            return

        def check() -> None:
            found = web.check(authorization)
            self.soon(connection, lambda: self._answer(connection, request, admitted=found))

        if not self._passwords.submit(check):
            connection.reply(request, _BUSY)

    def _answer(self, connection: Connection, request: Request, *, admitted: bool) -> None:
        if not admitted:
            connection.reply(request, _PRIVATE)
            return
        route = choose(self.routes, request)
        work = partial(route.handler, request)
        if not route.waits:
            connection.reply(request, self.fenced(request, work))
            return

        def handle() -> None:
            found = self.fenced(request, work)
            self.soon(connection, lambda: connection.reply(request, found))

        worker = self._tcp_worker if connection.peer is None else self._unix_worker
        if not worker.submit(handle):
            connection.reply(request, _BUSY)

    def fenced(self, request: Request, work: Callable[[], Result]) -> Result | Response:
        """What a handler says; one that fails costs only its own request."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - see above; reported
            self.report(f"{request.path}: {type(error).__name__}: {error}")
            return plain(500, "this is an error of the observer; its log says more")

    def _nudge(self) -> None:
        with suppress(OSError):  # it is awake already, or gone
            self._wake.send(b"\0")

    def _wake_up(self) -> None:
        with suppress(BlockingIOError):
            self._woken.recv(4096)

    def _run(self) -> None:
        while not self.stopping:
            try:
                self._turn()
            except Exception as error:  # noqa: BLE001 - whatever it is, others want an answer
                self.report(f"the HTTP server: {type(error).__name__}: {error}")
                self._clock.wait(_NO_HURRY)
        self._unlisten()
        for connection in [*self._by_tcp, *self._by_unix]:
            connection.stop(_LAST_SECONDS)
        while self._by_tcp or self._by_unix:
            self._turn()
        self._selector.close()
        self._woken.close()
        self._wake.close()

    def _turn(self) -> None:
        patience = None if self._earliest == inf else max(self._earliest - self.now(), 0.0)
        for key, _ in self._selector.select(0 if self._soon else patience):
            key.data()
        for _ in range(len(self._soon)):
            connection, work = self._soon.popleft()
            connection.run(work)
        if self._earliest <= self.now():
            self._look_at_deadlines()

    def _look_at_deadlines(self) -> None:
        now = self.now()
        for connection in [*self._by_tcp, *self._by_unix]:
            if connection.deadline <= now:
                connection.late()
        if self._accept_again <= now:
            self._listen()
        deadlines = (one.deadline for one in (*self._by_tcp, *self._by_unix))
        self._earliest = min(self._accept_again, *deadlines, inf)

    def _listen(self) -> None:
        self._accept_again = inf
        for listener in self.listeners:
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ, partial(self._accept, listener))

    def _unlisten(self) -> None:
        for listener in self.listeners:
            with suppress(KeyError):
                self._selector.unregister(listener)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_AT_ONCE):
            try:
                sock, _ = listener.accept()
            except OSError as error:  # nobody any more, or no descriptor is free
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._unlisten()
                    self._accept_again = self.now() + _NO_DESCRIPTOR
                    self.hurry(self._accept_again)
                return
            try:
                self._welcome(sock)
            except OSError:  # it is gone already
                sock.close()

    def _welcome(self, sock: socket.socket) -> None:
        by_unix = sock.family == socket.AF_UNIX
        known = self._by_unix if by_unix else self._by_tcp
        secured = self._web.secured() if self._web and not by_unix else None
        beyond = len(known) - self.limits.connections
        if beyond >= (0 if secured else self.limits.refusals):
            sock.close()
            return
        connection = Connection(_wire(sock, secured), _peer(sock) if by_unix else None, self)
        known.add(connection)
        connection.run(connection.begin if beyond < 0 else connection.turn_away)


def _wire(sock: socket.socket, secured: Secured | None) -> Wire:
    if secured is None:
        return PlainWire(sock)
    from neuron_observer.exporters.http.tls_wire import TlsWire  # noqa: PLC0415 - 5 MB of OpenSSL

    return TlsWire(sock, secured)


def _peer(sock: socket.socket) -> Peer:
    found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid, uid, gid = _PEER.unpack(found)
    return Peer(uid, gid, pid)
