"""What answers a client in these tests: real answers of a daemon, or bytes that a test makes up."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.client import Client
from neuron_observer.client.address import Address
from neuron_observer.exporters.http import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.daemon.answers import Answers

HERE = Path(__file__).parent
CERTIFICATE, KEY = HERE / "localhost.pem", HERE / "localhost.key"
OURS = "Neuron-Observer-Frame-Age: 0.1\r\n"


def answer(body: bytes, status: str = "200 OK", headers: str = OURS) -> bytes:
    """An answer of a daemon, as bytes."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


@contextmanager
def answering(answers: Answers, folder: Path) -> Iterator[Client]:
    """A client of answers that are served on a unix socket."""
    path = str(folder / "o.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(8)
        server = Server([listener], answers.routes())
        server.start()
        try:
            yield Client(Address("unix", path=path), patience=5.0)
        finally:
            server.close()


class Scripted:
    """What was asked of a server that says the same to everybody."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []


@contextmanager
def saying(
    *parts: bytes, tls: bool = False, hold: threading.Event | None = None
) -> Iterator[tuple[Address, Scripted]]:
    """A server that answers each connection with these bytes, and holds it open if it should."""
    told = Scripted()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        ended = threading.Event()

        def one(sock: socket.socket) -> None:
            with suppress(OSError, TimeoutError), sock:
                sock.settimeout(5.0)
                with _wrapped(sock, tls=tls) as plain:
                    told.heard.append(plain.recv(65536))
                    for part in parts:
                        plain.sendall(part)
                    if hold:
                        hold.wait(10.0)

        def serve() -> None:
            while not ended.is_set():
                with suppress(TimeoutError):
                    one(listener.accept()[0])

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Address("https" if tls else "http", "127.0.0.1", listener.getsockname()[1]), told
        finally:
            ended.set()
            if hold:
                hold.set()
            thread.join(10.0)


def _wrapped(sock: socket.socket, *, tls: bool) -> socket.socket:
    if not tls:
        return sock
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    return context.wrap_socket(sock, server_side=True)
