"""One client: what it is doing, what its socket must be ready for, and until when.

What it is doing is a method that runs when the socket is ready, and another that runs when it is
late. None of them waits.
"""

from __future__ import annotations

from collections import deque
from math import inf
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING

from neuron_observer.exporters.http.outlet import Outlet
from neuron_observer.exporters.http.wire import PlainWire
from neuron_observer.exporters.incoming import Incoming
from neuron_observer.exporters.message import Refused, Response, Stream, head, keeps, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.exporters.http.server import Server
    from neuron_observer.exporters.http.wire import Wire
    from neuron_observer.exporters.message import Peer, Request

_LINGER_SECONDS, _LINGER_BYTES = 0.5, 1 << 18  # for what a client still sends once it is answered
_CONTINUE = memoryview(b"HTTP/1.1 100 Continue\r\n\r\n")


class Connection:
    """One client."""

    def __init__(self, wire: Wire, peer: Peer | None, server: Server) -> None:
        self.wire = wire
        self.peer = peer
        self.closed = False
        self.deadline = inf
        self.events = 0  # that the server watches its socket for
        self._server = server
        self._limits = server.limits
        self._incoming = Incoming(self._limits.request_bytes, self._limits.body_bytes)
        self._outgoing: deque[memoryview] = deque()
        self._outlet: Outlet | None = None  # of a stream
        self._end_stream: Callable[[], None] | None = None
        self._step: Callable[[], None] = self._handshake
        self._late: Callable[[], None] = self.close
        self._then: Callable[[], None] = self._linger  # when all is sent
        self._left = _LINGER_BYTES
        self._asked = False  # it has had a request

    def begin(self) -> None:
        """Wait for the client to say something."""
        self._go(self._handshake, EVENT_READ)
        self._by(self._limits.request_seconds, self.close)
        self._handshake()

    def turn_away(self) -> None:
        """Say that there are too many."""
        self._refuse(plain(503, "too many connections"))

    def ready(self) -> None:
        """The socket is ready."""
        self.run(self._step)

    def late(self) -> None:
        """The deadline has passed."""
        self.run(self._late)

    def run(self, work: Callable[[], None]) -> None:
        """Do something; an error costs this connection, and none other."""
        if not self.closed:
            self._fenced(work)

    def _fenced(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError:  # the client is gone, or what it says is no TLS
            self.close()
        except Exception as error:  # noqa: BLE001 - see above; reported
            self._server.report(f"a connection: {type(error).__name__}: {error}")
            self.close()

    def reply(self, request: Request, answer: Response | Stream) -> None:
        """Send the answer to a request."""
        if self._step != self._wait:  # it came too late
            return
        if isinstance(answer, Stream):
            self._begin_to_stream(request, answer)
            return
        keep = keeps(request) and not self._server.stopping
        self._outgoing.append(memoryview(head(answer, keep=keep, more=self._server.headers)))
        if request.method != "HEAD":
            self._outgoing.extend(memoryview(one) for one in (*answer.before, answer.body) if one)
        self._then = self._again if keep else self._linger
        self._send()

    def stop(self, seconds: float) -> None:
        """The server stops: whoever is in the middle of something has a little time.

        So has a client that was taken and not heard yet: left alone, it would find nobody else,
        while whoever is still in the queue waits for the next process on this socket.
        """
        steps = (self._handshake, self._read, self._discard, self._flow)
        new = self._step in steps[:2] and not self._asked
        if self._step in steps and not self._incoming and not new:
            self.close()
        else:
            self._by(min(seconds, self.deadline - self._server.now()), self.close)

    def close(self) -> None:
        """The end, however it came."""
        if self.closed:
            return
        self.closed = True
        self._server.forget(self)
        self.wire.sock.close()
        end, outlet = self._end_stream, self._outlet
        self._forget()
        if outlet:
            outlet.close()
        if end:
            self._fenced(end)

    def _forget(self) -> None:
        """Refer to nothing that refers to this: else a large answer stays until it is collected."""
        self._step = self._late = self._then = _over
        self._end_stream = self._outlet = None
        self._outgoing.clear()
        self._incoming.clear()

    def _go(self, step: Callable[[], None], events: int) -> None:
        self._step = step
        self._server.watch(self, events)

    def _by(self, seconds: float, late: Callable[[], None]) -> None:
        self.deadline, self._late = self._server.now() + seconds, late
        self._server.hurry(self.deadline)

    def _handshake(self) -> None:
        done = self.wire.handshake()
        if done:
            self._await_request()
        elif done is None:
            self._go(self._handshake, self.wire.waits_for)
        else:
            self.wire = PlainWire(self.wire.sock)
            self._refuse(plain(400, "this is an HTTPS server: ask for https://"))

    def _await_request(self) -> None:
        self._go(self._read, EVENT_READ)
        self._by(self._limits.idle_seconds, self.close)

    def _read(self) -> None:
        data = self.wire.receive()
        if data is None:
            self._go(self._read, self.wire.waits_for)
        elif not data:
            self.close()
        else:
            began = not self._incoming
            self._incoming.add(data)
            self._take()
            if began and self._incoming and self._step == self._read:
                self._by(self._limits.request_seconds, self._too_slow)

    def _take(self) -> None:
        try:
            request = self._incoming.take()
        except Refused as refused:
            self._refuse(refused.response)
            return
        if request is not None:
            self._asked = True
            self._step = self._wait
            self._server.answer(self, request._replace(peer=self.peer))
            if self._step == self._wait:
                self._go(self._wait, 0)
                self._by(self._limits.answer_seconds, self._no_answer)
        elif self._incoming.asks_to_continue():
            self._outgoing.append(_CONTINUE)
            self._then = self._continue
            self._send()

    def _continue(self) -> None:
        self._go(self._read, EVENT_READ)

    def _wait(self) -> None:
        """For a handler: the socket is not looked at meanwhile."""

    def _too_slow(self) -> None:
        self._refuse(plain(408, "the request took too long"))

    def _no_answer(self) -> None:
        self._refuse(plain(503, "the answer took too long"))

    def _refuse(self, answer: Response) -> None:
        self._incoming.clear()
        start = head(answer, keep=False, more=self._server.headers)
        self._outgoing.append(memoryview(start + answer.body))
        self._then = self._linger
        self._send()

    def _send(self) -> None:
        if self._push():
            self._then()
        else:
            self._go(self._go_on_sending, self.wire.waits_for)
            self._by(self._limits.answer_seconds, self.close)

    def _go_on_sending(self) -> None:
        if self._push():
            self._then()
        else:
            self._go(self._go_on_sending, self.wire.waits_for)

    def _push(self) -> bool:
        """Send what the client takes; whether that is all."""
        outgoing = self._outgoing
        while outgoing:
            taken = self.wire.send(outgoing)
            if not taken:
                return False
            if self._outlet:
                self._outlet.left(taken)
            while outgoing and taken >= len(outgoing[0]):
                taken -= len(outgoing.popleft())
            if taken:
                outgoing[0] = outgoing[0][taken:]
        return True

    def _again(self) -> None:
        """Another request may follow; one that is there already has to let others go first."""
        self._await_request()
        if self._incoming:
            self._by(self._limits.request_seconds, self._too_slow)
            self._server.soon(self, self._take_next)

    def _take_next(self) -> None:
        if self._step == self._read and not self.closed:
            self._take()

    def _linger(self) -> None:
        """Let the client read its answer: closing on what it still sends would reset it away."""
        self.wire.finish()
        self._go(self._discard, EVENT_READ)
        self._by(_LINGER_SECONDS, self.close)

    def _discard(self) -> None:
        size = self.wire.discard()
        self._left -= size or 0
        if size == 0 or self._left < 0:
            self.close()

    def _begin_to_stream(self, request: Request, stream: Stream) -> None:
        start = head(stream, keep=False, more=self._server.headers)
        if request.method == "HEAD":
            self._outgoing.append(memoryview(start))
            self._send()
            return
        outlet = Outlet(self._limits.stream_bytes, lambda: self._server.soon(self, self._pour))
        outlet.send(start)
        opened = self._server.fenced(request, lambda: stream.open(outlet.send))
        if isinstance(opened, Response):
            self.reply(request, opened)
            return
        self._outlet, self._end_stream = outlet, opened
        self._step, self.deadline = self._flow, inf
        self._pour()

    def _flow(self) -> None:
        """While a stream is open its client has nothing to say but that it goes."""
        self._discard()
        self._pour()

    def _pour(self) -> None:
        """Send what the stream had to say."""
        if self.closed or self._outlet is None:
            return
        if self._outlet.full:
            self.close()
            return
        self._outgoing.extend(map(memoryview, self._outlet.take()))
        if self._push():
            self._go(self._flow, EVENT_READ)
            self.deadline = inf
        else:
            self._go(self._flow, EVENT_READ | EVENT_WRITE)
            if self.deadline == inf:
                self._by(self._limits.answer_seconds, self.close)


def _over() -> None:
    """Nothing is done any more."""
