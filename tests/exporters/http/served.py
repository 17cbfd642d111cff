"""A server on loopback, and clients that wait no longer than a test may."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

from neuron_observer.exporters.http import Limits, Server
from neuron_observer.exporters.listener import Address, bound, listen
from neuron_observer.exporters.message import Request, Response, plain
from neuron_observer.exporters.routes import Route

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.exporters.routes import Routes
    from neuron_observer.exporters.web import Web

GET = b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n"
LAST = b"GET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
LARGE = 30_000_000  # bytes: more than all buffers on the way hold
# What is tried is short; all else is long enough for a machine that is busy with other tests.
_SMALL = Limits(connections=8, request_bytes=2048)
HASTY = _SMALL._replace(request_seconds=0.2)  # for who sends slowly
RESTLESS = _SMALL._replace(idle_seconds=0.3)  # for who says nothing
IMPATIENT = _SMALL._replace(answer_seconds=0.3)  # for who takes nothing


def hello(request: Request) -> Response:
    """Who was asked, and how."""
    return plain(200, f"{request.method} {request.path} {request.query}")


def broken(_: Request) -> Response:
    """A handler with an error."""
    raise KeyError("lost")


def large(_: Request) -> Response:
    """In two pieces."""
    half = b"x" * (LARGE // 2)
    return Response(half, before=(half,))


def echo(request: Request) -> Response:
    """What was sent."""
    return Response(request.body)


ROUTES: Routes = {
    "/hello": hello,
    "/broken": broken,
    "/large": large,
    "/echo": Route(echo, ("POST",)),
}


@contextmanager
def served(
    limits: Limits | None = None,
    said: list[str] | None = None,
    routes: Routes = ROUTES,
    web: Web | None = None,
) -> Iterator[Address]:
    """A server for as long as the test needs it."""
    listener = listen(Address("127.0.0.1", 0))
    address = bound(listener)
    told: list[str] = [] if said is None else said
    server = Server([listener], routes, limits=limits, web=web, report=told.append)
    server.start()
    try:
        yield address
    finally:
        server.close()


@contextmanager
def client(address: Address) -> Iterator[socket.socket]:
    """A connection."""
    with socket.create_connection(address, timeout=5) as sock:
        yield sock


def rest(sock: socket.socket) -> bytes:
    """All that comes until the server closes."""
    found = bytearray()
    while more := sock.recv(1 << 20):
        found += more
    return bytes(found)


def asked(address: Address, request: bytes) -> bytes:
    """The whole answer to some bytes."""
    with client(address) as sock:
        sock.sendall(request)
        return rest(sock)


def answered(address: Address) -> bool:
    """Whether somebody else is, at one of a few tries."""
    return any(asked(address, LAST).startswith(b"HTTP/1.1 200") for _ in range(50))
