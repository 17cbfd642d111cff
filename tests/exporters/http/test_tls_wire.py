"""The server by TLS: real handshakes over loopback, and what is none."""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.exporters.http import Limits
from neuron_observer.exporters.message import Stream
from neuron_observer.exporters.web import Web
from neuron_observer.exporters.web.settings import Tls, WebSettings
from tests.exporters.certificates import made
from tests.exporters.http.served import (
    GET,
    HASTY,
    IMPATIENT,
    LARGE,
    LAST,
    ROUTES,
    client,
    rest,
    served,
)
from tests.exporters.web.test_passwords import USERS, basic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.exporters.listener import Address
    from neuron_observer.exporters.message import Send

SERVER = made()["server"]
PLAIN = Tls(str(SERVER.certificate), str(SERVER.key))
MUTUAL = PLAIN._replace(
    client_certificate="required", client_ca_file=str(made()["authority"].certificate)
)


def web(tls: Tls = PLAIN, users: dict[str, str] | None = None) -> Web:
    """A web configuration that stays as it is."""
    settings = WebSettings(
        "web.yml", tls, headers=(("X-Frame-Options", "deny"),), users=users or {}
    )
    return Web(lambda: settings, ManualClock())


@contextmanager
def secure(address: Address, name: str = "") -> Iterator[ssl.SSLSocket]:
    """A client that trusts the server's certificate, and may show one of its own."""
    context = ssl.create_default_context(cafile=str(SERVER.certificate))
    if name:
        context.load_cert_chain(*made()[name])
    with client(address) as sock, context.wrap_socket(sock, server_hostname="server") as wrapped:
        yield wrapped


def asked(address: Address, request: bytes, name: str = "") -> bytes:
    """The whole answer."""
    with secure(address, name) as sock:
        sock.sendall(request)
        return rest(sock)


def unanswered(address: Address, request: bytes, name: str = "") -> bool:
    """Whether the connection ends without an answer."""
    try:
        return not asked(address, request, name)
    except (ssl.SSLError, ConnectionError):
        return True


def test_many_requests_on_one_connection() -> None:
    """Each answer is one record or more, and none waits for a late acknowledgement."""
    with served(web=web()) as address, secure(address) as sock:
        got = b""
        for _ in range(3):
            sock.sendall(GET)
            got = sock.recv(65536)
            assert got.startswith(b"HTTP/1.1 200 OK\r\n")
            assert got.endswith(b"GET /hello \n")
        assert b"\r\nX-Frame-Options: deny\r\n" in got
        sock.sendall(GET + GET + LAST)
        assert rest(sock).count(b"HTTP/1.1 200 OK") == 3


def test_a_large_answer() -> None:
    """All of it, in order, and the end is said in TLS: no client need fear that it was cut."""
    with served(web=web()) as address:
        got = asked(address, LAST.replace(b"/hello", b"/large"))
        assert got.endswith(b"\r\n\r\n" + b"x" * LARGE)


def test_a_body() -> None:
    """Of several records."""
    head = b"POST /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 60000\r\n\r\n"
    with served(web=web()) as address:
        assert asked(address, head + b"z" * 60000).endswith(b"\r\n\r\n" + b"z" * 60000)


def test_a_stream() -> None:
    """Sent at once."""

    def begin(send: Send) -> Callable[[], None]:
        send(b"hello\n")
        return lambda: None

    routes = {"/stream": lambda _: Stream(begin)}
    with served(web=web(), routes=routes) as address, secure(address) as sock:
        sock.sendall(GET.replace(b"/hello", b"/stream"))
        got = b""
        while not got.endswith(b"hello\n") and (more := sock.recv(65536)):
            got += more
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    assert got.endswith(b"\r\n\r\nhello\n")


def test_whoever_speaks_no_tls_is_told() -> None:
    """In clear, since that is what he understands."""
    with served(web=web()) as address, client(address) as sock:
        sock.sendall(LAST)
        got = rest(sock)
    assert got.startswith(b"HTTP/1.1 400 ")
    assert b"ask for https://" in got


@pytest.mark.parametrize("sent", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"])
def test_half_a_handshake_ends(sent: bytes) -> None:
    """In time, while others are served."""
    with served(HASTY, web=web()) as address, client(address) as slow:
        slow.sendall(sent)
        assert any(not unanswered(address, LAST) for _ in range(20))
        assert rest(slow) == b""


@pytest.mark.parametrize("sent", [b"\x16" * 1000, b"\x16\x03\x01\x00\x05hello"])
def test_a_handshake_that_is_none(sent: bytes) -> None:
    """Ends at once, with an alert of TLS or none."""
    with served(web=web()) as address:
        with client(address) as sock, suppress(ConnectionResetError):
            sock.sendall(sent)
            assert not rest(sock).startswith(b"HTTP")
        assert asked(address, LAST).startswith(b"HTTP/1.1 200")


def test_too_many_are_dropped() -> None:
    """Whom there is no room for cannot be told before a handshake, which is not made for him."""
    with served(Limits(connections=1), web=web()) as address, secure(address) as first:
        first.sendall(GET)
        assert first.recv(65536).startswith(b"HTTP/1.1 200")
        with client(address) as second:
            assert rest(second) == b""
        first.sendall(LAST)
        assert rest(first).startswith(b"HTTP/1.1 200")


def test_a_client_that_takes_nothing_is_cut_off() -> None:
    """By TLS too."""
    with served(IMPATIENT, web=web()) as address, secure(address) as sock:
        sock.sendall(LAST.replace(b"/hello", b"/large"))
        assert asked(address, LAST).startswith(b"HTTP/1.1 200")
        SystemClock().wait(IMPATIENT.answer_seconds + 0.7)
        assert len(rest(sock)) < LARGE / 2


def test_clients_show_certificates() -> None:
    """One that the authority signed; without, or with another, there is no answer."""
    with served(web=web(MUTUAL)) as address:
        assert asked(address, LAST, "client").startswith(b"HTTP/1.1 200")
        for name in ("", "another"):
            assert unanswered(address, LAST, name)


def test_only_some_names() -> None:
    """Of those whom the authority signed."""
    for names, welcome in ({"client"}, True), ({"127.0.0.1", "x"}, True), ({"x"}, False):
        allowed = MUTUAL._replace(client_allowed_sans=frozenset(names))
        with served(web=web(allowed)) as address:
            assert unanswered(address, LAST, "client") is not welcome


def test_passwords() -> None:
    """Whoever has none is asked for it, on every path; the check holds up nobody."""
    with served(web=web(users=USERS)) as address:
        for path in (b"/hello", b"/nix"):
            got = asked(address, LAST.replace(b"/hello", path))
            assert got.startswith(b"HTTP/1.1 401 ")
            assert b'\r\nWWW-Authenticate: Basic realm="neuron-observer"' in got
        for password, status in (("wonderland", b"200"), ("x", b"401"), ("wonderland", b"200")):
            header = f"Authorization: {basic('alice', password)}\r\n\r\n".encode()
            assert asked(address, LAST[:-2] + header)[9:12] == status


def test_the_unix_socket_asks_nobody(tmp_path: object) -> None:
    """There the kernel says who it is."""
    from neuron_observer.exporters.http import Server  # noqa: PLC0415 - only here
    from neuron_observer.exporters.unix_socket import unix_socket  # noqa: PLC0415 - only here

    path = f"{tmp_path}/socket"
    with unix_socket(path) as listener, socket.socket(socket.AF_UNIX) as sock:
        server = Server([listener], ROUTES, web=web(users=USERS))
        server.start()
        sock.settimeout(5)
        sock.connect(path)
        sock.sendall(LAST)
        assert rest(sock).startswith(b"HTTP/1.1 200")
        server.close()
