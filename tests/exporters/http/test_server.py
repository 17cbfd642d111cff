"""The server over real sockets on loopback: what clients get, and what they cannot do to it."""

from __future__ import annotations

import gc
import os
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.exporters.http import Limits, Server
from neuron_observer.exporters.http.connection import Connection
from neuron_observer.exporters.listener import Address, bound, listen
from neuron_observer.exporters.message import Peer, Request, Response, Stream, plain
from neuron_observer.exporters.routes import Route, owner_only
from tests.exporters.http.served import (
    GET,
    LARGE,
    LAST,
    QUICK,
    ROUTES,
    asked,
    client,
    hello,
    rest,
    served,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from neuron_observer.exporters.message import Send
    from neuron_observer.exporters.routes import Routes


def test_answers() -> None:
    """A route, its query; HEAD has the same head and no body."""
    with served() as address:
        got = asked(address, LAST.replace(b"/hello", b"/hello?a=1"))
        assert got.startswith(b"HTTP/1.1 200 OK\r\n")
        assert got.endswith(b"\r\n\r\nGET /hello a=1\n")
        head = asked(address, LAST.replace(b"GET", b"HEAD"))
        assert b"\r\nContent-Length: 13\r\n" in head  # HEAD /hello and a space
        assert head.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        (LAST.replace(b"/hello", b"/nix"), 404, b"nothing at /nix"),
        (LAST.replace(b"GET", b"POST"), 405, b"Allow: GET, HEAD"),
        (LAST.replace(b"GET", b"DELETE"), 405, b"Allow: GET, HEAD"),
        (b"POST /nix HTTP/1.1\r\nHost: h\r\nContent-Length: 70000\r\n\r\n", 413, b"65536"),
        (b"POST /nix HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: x\r\n\r\n", 411, b"Length"),
        (b"\x16\x03\x01\x00\xff\r\n\r\n", 400, b"no HTTP request"),
        (b"GET /hello HTTP/1.1\r\n\r\n", 400, b"Host"),
        (b"GET /hello HTTP/3\r\n\r\n", 505, b"HTTP/1.1"),
        (b"GET /hello HTTP/1.1\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", 431, b"16384 bytes"),
        (b"x" * 70_000, 431, b"16384 bytes"),
        (LAST.replace(b"/hello", b"/broken"), 500, b"error of the observer"),
    ],
)
def test_refusals(request_: bytes, status: int, words: bytes) -> None:
    """Each with its status and a line that helps, and the server goes on."""
    said: list[str] = []
    with served(said=said) as address:
        got = asked(address, request_)
        assert got.startswith(b"HTTP/1.1 %d " % status)
        assert words in got
        assert asked(address, LAST).startswith(b"HTTP/1.1 200")
    assert said == (["/broken: KeyError: 'lost'"] if status == 500 else [])


def test_one_connection_many_requests() -> None:
    """Kept open, also where requests come in one piece or byte by byte."""
    with served() as address, client(address) as sock:
        for _ in range(3):
            sock.sendall(GET)
            assert sock.recv(65536).endswith(b"GET /hello \n")
        sock.sendall(GET + GET)
        for number in range(len(LAST)):
            sock.sendall(LAST[number : number + 1])
        assert rest(sock).count(b"HTTP/1.1 200 OK") == 3


def test_an_answer_is_one_write() -> None:
    """Head and body together: else Nagle's delay and late acknowledgements cost 40 ms."""
    with served() as address, client(address) as sock:
        sock.sendall(GET)
        assert sock.recv(65536).endswith(b"\r\n\r\nGET /hello \n")


def test_pieces_of_an_answer_are_one_answer() -> None:
    """All of it arrives, in order, however often the socket is full on the way."""
    with served() as address:
        got = asked(address, LAST.replace(b"/hello", b"/large"))
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"\r\nContent-Length: %d\r\n" % LARGE in head
    assert body == b"x" * LARGE


@pytest.mark.parametrize(
    "raw",
    [
        b"Content-Length: 3\r\nContent-Length: 40\r\n\r\nabc",
        b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"X: a\r\n Content-Length: 40\r\n\r\n",
        b"X: a\nContent-Length: 40\r\n\r\n",
        b"X: a\rContent-Length: 40\r\n\r\n",
        b"Content-Length : 40\r\n\r\n",
        b"Content-Length: 0x28\r\n\r\n",
        b"Host: another\r\n\r\n",
    ],
)
def test_nothing_is_smuggled(raw: bytes) -> None:
    """One refusal, and the request that follows is not answered on this connection."""
    with served() as address:
        got = asked(address, b"POST /echo HTTP/1.1\r\nHost: h\r\n" + raw + GET)
        assert got.count(b"HTTP/1.1 ") == 1
        assert got[9:12] in (b"400", b"411")
        assert b"\r\nConnection: close\r\n" in got
        assert asked(address, LAST).startswith(b"HTTP/1.1 200")


def test_leave_to_send_a_body() -> None:
    """A client that waits for it gets it."""
    with served() as address, client(address) as sock:
        head = b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"
        sock.sendall(head + b"Connection: close\r\n\r\n")
        assert sock.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"ab")
        assert rest(sock).endswith(b"\r\n\r\nab")


def test_whoever_waits_holds_up_nobody() -> None:
    """A route that waits has a thread of its own; too many are told so; late is too late."""
    go_on, begun = threading.Event(), threading.Event()

    def wait(_: Request) -> Response:
        begun.set()
        go_on.wait(5)
        return plain(200, "at last")

    routes: Routes = {"/wait": Route(wait, waits=True), "/hello": hello}
    waits = GET.replace(b"/hello", b"/wait")
    with (
        served(Limits(waiting=1, answer_seconds=0.3), routes=routes) as address,
        client(address) as first,
        client(address) as second,
        client(address) as third,
    ):
        first.sendall(waits)
        assert begun.wait(5)
        second.sendall(waits)
        assert asked(address, LAST).startswith(b"HTTP/1.1 200")
        third.sendall(waits)
        assert b"too many wait" in third.recv(65536)
        assert b"the answer took too long" in rest(first)
        go_on.set()
        last = waits.replace(b"Host", b"Connection: close\r\nHost")
        assert any(asked(address, last).endswith(b"at last\n") for _ in range(50))


def test_half_a_request_ends() -> None:
    """Whoever begins a request must finish it in time, however slowly he feeds it."""
    with served(QUICK) as address, client(address) as sock:
        sock.sendall(GET[:20])
        assert rest(sock).startswith(b"HTTP/1.1 408 ")


def test_silence_ends() -> None:
    """An idle connection is closed without a word; also one that was answered, and not sooner."""
    clock = SystemClock()
    with served(QUICK) as address, client(address) as sock, client(address) as other:
        sock.sendall(GET)
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
        begin = clock.monotonic()
        assert rest(sock) == b""
        assert clock.monotonic() - begin >= QUICK.idle_seconds - 0.05
        assert rest(other) == b""


def test_pauses_are_no_haste() -> None:
    """Between two requests a client may take longer than for one."""
    with served(QUICK) as address, client(address) as sock:
        for _ in range(2):
            sock.sendall(GET)
            assert sock.recv(65536).startswith(b"HTTP/1.1 200")
            SystemClock().wait(QUICK.request_seconds * 1.5)
        sock.sendall(LAST)
        assert rest(sock).startswith(b"HTTP/1.1 200")


def test_whoever_takes_no_answer_is_cut_off() -> None:
    """A reader that stops reading costs a thread for a moment only."""
    with served(QUICK) as address, client(address) as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stuck.sendall(LAST.replace(b"/hello", b"/large"))
        assert asked(address, LAST).startswith(b"HTTP/1.1 200")
        with client(address) as another:
            another.sendall(LAST)
            assert rest(another).startswith(b"HTTP/1.1 200")


def test_too_many_connections() -> None:
    """One more than allowed is told so; when another ends there is room again."""
    with served(Limits(connections=1)) as address:
        with client(address) as first:
            first.sendall(GET)
            assert first.recv(65536).startswith(b"HTTP/1.1 200")
            assert asked(address, LAST).startswith(b"HTTP/1.1 503 ")
            first.sendall(LAST)
            assert rest(first).startswith(b"HTTP/1.1 200")
        assert _in_time(address)


def _in_time(address: Address) -> bool:
    """Whether a later try is answered: the thread of the first may still be ending."""
    return any(asked(address, LAST).startswith(b"HTTP/1.1 200") for _ in range(50))


def test_tcp_does_not_lock_out_the_unix_socket(tmp_path: Path) -> None:
    """However many come over the network, this machine's own programs are answered."""
    path, tcp = str(tmp_path / "socket"), listen(Address("127.0.0.1", 0))
    address = bound(tcp)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path)
        unix.listen()
        server = Server([tcp, unix], ROUTES, limits=Limits(connections=1, refusals=0))
        server.start()
        with client(address) as first, socket.socket(socket.AF_UNIX) as sock:
            first.sendall(GET)
            assert first.recv(65536).startswith(b"HTTP/1.1 200")
            with client(address) as second:
                assert second.recv(100) == b""  # not even a word
            sock.settimeout(5)
            sock.connect(path)
            sock.sendall(LAST)
            assert rest(sock).startswith(b"HTTP/1.1 200")
        server.close()


def test_gone_clients_cost_nothing() -> None:
    """Connections that reset, half-close or say nothing leave no thread behind."""
    with served() as address:
        for payload in (b"", GET, GET[:10], b"\0" * 100):
            with client(address) as sock:
                sock.sendall(payload)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert asked(address, LAST).startswith(b"HTTP/1.1 200")


def test_who_was_taken_is_answered_although_it_ends() -> None:
    """Of a socket that was handed over: who waits in its queue is for the next process to take."""
    listener = listen(Address("127.0.0.1", 0))
    address = bound(listener)
    theirs = listener.dup()  # as systemd keeps one
    server = Server([listener], ROUTES)
    server.start()
    with theirs, client(address) as fresh:
        while not server._by_tcp:  # until it is taken
            SystemClock().wait(0.01)
        ending = threading.Thread(target=server.close)
        ending.start()
        SystemClock().wait(0.1)  # for it to have seen that it ends
        fresh.sendall(LAST)
        assert rest(fresh).startswith(b"HTTP/1.1 200")
        ending.join(5)
        with client(address) as later:
            theirs.settimeout(5)
            accepted, _ = theirs.accept()
            with accepted:
                later.sendall(b"x")
                assert accepted.recv(1) == b"x"


def test_closing_ends_everything() -> None:
    """An idle client sees the end, the port is free, no thread is left."""
    before = threading.active_count()
    listener = listen(Address("127.0.0.1", 0))
    address = bound(listener)
    server = Server([listener], ROUTES)
    server.start()
    with client(address) as idle:
        idle.sendall(GET)
        assert idle.recv(65536).startswith(b"HTTP/1.1 200")
        server.close()
        assert rest(idle) == b""
    assert threading.active_count() == before
    with listen(address) as again:
        assert bound(again) == address


def test_a_body_is_read_before_the_next_request() -> None:
    """Also one that no handler wants."""
    body = b"GET /hello?evil HTTP/1.1\r\nHost: h\r\n\r\n"
    post = b"POST /%s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"
    with served() as address, client(address) as sock:
        for path in (b"echo", b"hello", b"nix"):
            sock.sendall(post % (path, len(body)) + body)
        sock.sendall(LAST)
        got = rest(sock)
    assert [line.split()[1] for line in got.splitlines() if line.startswith(b"HTTP/")] == [
        b"200",
        b"405",
        b"404",
        b"200",
    ]
    assert got.count(b"evil") == 1  # echoed


def test_a_stream() -> None:
    """What is sent from any thread arrives at once; its end is told once the client is gone."""
    sends: list[Send] = []
    gone = threading.Event()

    def begin(send: Send) -> Callable[[], None]:
        send(b"first\n")
        sends.append(send)
        return gone.set

    with served(routes={"/stream": lambda _: Stream(begin)}) as address:
        with client(address) as sock:
            sock.sendall(GET.replace(b"/hello", b"/stream"))
            got = b""
            while not got.endswith(b"first\n"):
                got += sock.recv(65536)
            assert b"\r\nContent-Type: text/event-stream; charset=utf-8\r\n" in got
            sends[0](b"second\n")
            assert sock.recv(65536) == b"second\n"
            assert not gone.is_set()
        assert gone.wait(5)
        sends[0](b"nobody hears it")


def test_a_client_that_takes_no_stream_is_dropped() -> None:
    """However much is sent to it, nobody waits."""
    gone = threading.Event()

    def begin(send: Send) -> Callable[[], None]:
        for _ in range(1000):
            send(b"x" * 65536)
        return gone.set

    with served(QUICK, routes={"/stream": lambda _: Stream(begin)}) as address:
        with client(address) as sock:
            sock.sendall(GET.replace(b"/hello", b"/stream"))
            assert gone.wait(5)
        assert asked(address, b"GET /nix HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 404 ")


def test_the_end_of_the_server_ends_streams() -> None:
    """Whoever opened one is told, and an error of his costs nothing."""
    said: list[str] = []

    def begin(send: Send) -> Callable[[], None]:
        send(b"hello")

        def end() -> None:
            raise KeyError("lost")

        return end

    routes = {"/stream": lambda _: Stream(begin)}
    with served(said=said, routes=routes) as address:
        sock = socket.create_connection(address, timeout=5)
        sock.sendall(GET.replace(b"/hello", b"/stream"))
        while not sock.recv(65536).endswith(b"hello"):
            pass
    assert rest(sock) == b""
    sock.close()
    assert said == ["a connection: KeyError: 'lost'"]


def test_a_stream_that_cannot_be_opened() -> None:
    """An error of the observer, and the server goes on."""
    said: list[str] = []

    def begin(_: Send) -> Callable[[], None]:
        raise KeyError("lost")

    with served(said=said, routes={"/stream": lambda _: Stream(begin)}) as address:
        got = asked(address, LAST.replace(b"/hello", b"/stream"))
        assert got.startswith(b"HTTP/1.1 500 ")
        assert asked(address, LAST).startswith(b"HTTP/1.1 404")
    assert said == ["/stream: KeyError: 'lost'"]


def test_only_the_head_of_a_stream() -> None:
    """HEAD opens none."""
    with served(routes={"/stream": lambda _: Stream(lambda _: pytest.fail("opened"))}) as address:
        got = asked(address, b"HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\n")
    assert got.endswith(b"\r\n\r\n")


def test_changes_only_by_the_unix_socket(tmp_path: Path) -> None:
    """The same route on both: by TCP it is forbidden, whatever headers a client makes up."""
    changed: list[bytes] = []

    def change(request: Request) -> Response:
        changed.append(request.body)
        return plain(202, "done")

    post = b"POST /change HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\n"
    path, tcp = str(tmp_path / "socket"), listen(Address("127.0.0.1", 0))
    address = bound(tcp)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(path)
        unix.listen()
        routes = {"/change": Route(owner_only(change), ("POST",))}
        server = Server([tcp, unix], routes)
        server.start()
        assert asked(address, post + b"t").startswith(b"HTTP/1.1 403 ")
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(5)
            sock.connect(path)
            sock.sendall(post + b"u")
            assert rest(sock).startswith(b"HTTP/1.1 202 ")
        server.close()
    assert changed == [b"u"]


def test_a_unix_socket_tells_who_asks(tmp_path: Path) -> None:
    """The kernel says it, not the client; by TCP nothing is known."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        server = Server([listener], {"/who": lambda request: plain(200, str(request.peer))})
        server.start()
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(5)
            sock.connect(str(path))
            sock.sendall(LAST.replace(b"/hello", b"/who"))
            peer = Peer(os.geteuid(), os.getegid(), os.getpid())
            assert rest(sock).decode().endswith(f"\r\n\r\n{peer}\n")
        server.close()
    with served(routes={"/who": lambda request: plain(200, str(request.peer))}) as address:
        assert asked(address, LAST.replace(b"/hello", b"/who")).endswith(b"\r\n\r\nNone\n")


def test_connections_are_gone_at_once() -> None:
    """Not only once the collector of cycles comes by: what was being sent may be large."""
    gc.collect()
    gc.disable()
    try:
        with served() as address:
            for path in (b"/hello", b"/nix", b"/large"):
                assert asked(address, LAST.replace(b"/hello", path))
            with client(address) as sock:
                sock.sendall(GET[:10])
        assert not [one for one in gc.get_objects() if isinstance(one, Connection)]
    finally:
        gc.enable()
