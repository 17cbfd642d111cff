"""Clients that mean no good, many at once, in a process of their own.

    python -m benchmarks.floods.clients KIND PORT COUNT SECONDS

Ends by itself; prints how many connections were made and how many answers began.
"""

from __future__ import annotations

import base64
import os
import random
import selectors
import socket
import ssl
import sys
import time
from contextlib import suppress
from threading import Thread
from typing import NamedTuple

SEED = 20261130
DRIP = 0.2  # seconds between two bytes of those who are slow
REST = 0.002  # seconds between two rounds of all others: a flood, not a test of our own speed
_HOST = b"Host: localhost\r\n"
_SCRAPE = (
    b"GET /metrics HTTP/1.1\r\n" + _HOST + b"Accept-Encoding: gzip\r\nConnection: close\r\n\r\n"
)
_PAGE = b"GET /metrics HTTP/1.1\r\n" + _HOST + b"\r\n"
_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100)  # a ClientHello, in part


class Kind(NamedTuple):
    """What each client of a flood does."""

    greeting: bytes = b""
    drip: bytes = b""  # sent now and then, for ever
    reads: int = 65536  # bytes at once; 0 for never
    slow: bool = False  # does something only now and then
    stays: bool = True  # else it goes once its greeting is sent
    fuzz: bool = False  # the greeting is another each time


KINDS = {
    "scrapers": Kind(_SCRAPE),
    "connections": Kind(stays=False),
    "resets": Kind(_SCRAPE, stays=False),
    "slow readers": Kind(_PAGE * 20, reads=1, slow=True),
    "slow writers": Kind(b"GET /metr", drip=b"i", reads=0, slow=True),
    "large headers": Kind(b"GET /metrics HTTP/1.1\r\nX: " + b"y" * (1 << 20)),
    "silent": Kind(),
    "half-open TLS": Kind(_HELLO),
    "fuzz": Kind(fuzz=True),
}


class Client:
    """One connection."""

    def __init__(self, kind: Kind, address: tuple[str, int], rng: random.Random) -> None:
        self.kind = kind
        self.left = fuzzed(rng) if kind.fuzz else kind.greeting
        self.answered = False
        self.sock = socket.socket()
        self.sock.setblocking(False)
        if kind.slow:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        with suppress(BlockingIOError):
            self.sock.connect(address)

    def go_on(self) -> bool:
        """Do what is possible now; False when the connection is over."""
        try:
            if self.left:
                self.left = self.left[self.sock.send(self.left) :]
            elif not self.kind.stays:
                self.sock.getpeername()
                return False
            elif self.kind.drip:
                self.sock.send(self.kind.drip)
            if self.left or not self.kind.reads:
                return True
            data = self.sock.recv(self.kind.reads)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.answered |= bool(data)
        return bool(data)

    def events(self) -> int:
        """What it waits for."""
        wants_to_send = self.left or not self.kind.stays
        return selectors.EVENT_WRITE if wants_to_send else selectors.EVENT_READ


def fuzzed(rng: random.Random) -> bytes:
    """A request with some bytes of it changed, doubled or lost; at times mere noise."""
    if not rng.randrange(8):
        return rng.randbytes(rng.randrange(1, 4000))
    found = bytearray(
        _PAGE[:-2] + b"Content-Length: 3\r\nTransfer-Encoding: x\r\n\r\nabc" + _SCRAPE
    )
    for _ in range(rng.randrange(1, 12)):
        at = rng.randrange(len(found))
        piece = rng.choice((b"\r\n", b"\n", b"\0", b":", b" ", b"\xff", rng.randbytes(3), b""))
        found[at : at + rng.randrange(4)] = piece
    return bytes(found)


class Flood:
    """Many clients of a kind, each made anew when it ends."""

    def __init__(self, kind: Kind, port: int) -> None:
        self.made = self.answers = 0
        self._kind = kind
        self._address = ("127.0.0.1", port)
        self._rng = random.Random(SEED)  # noqa: S311 - figures to print
        self._selector = selectors.DefaultSelector()

    def run(self, count: int, seconds: float) -> None:
        """Until the time is over."""
        for _ in range(count):
            self._another()
        end = time.monotonic() + seconds  # noqa: TID251 - a client's own clock
        while time.monotonic() < end:  # noqa: TID251 - see above
            for client in self._ready():
                self._go_on(client)
        for client in self._all():
            client.sock.close()

    def _all(self) -> list[Client]:
        return [key.data for key in self._selector.get_map().values()]

    def _ready(self) -> list[Client]:
        time.sleep(DRIP if self._kind.slow else REST)  # noqa: TID251 - see above
        return (
            self._all() if self._kind.slow else [key.data for key, _ in self._selector.select(0.1)]
        )

    def _another(self) -> None:
        client = Client(self._kind, self._address, self._rng)
        self._selector.register(client.sock, client.events(), client)
        self.made += 1

    def _go_on(self, client: Client) -> None:
        before = client.events()
        if not client.go_on():
            self.answers += client.answered
            self._selector.unregister(client.sock)
            client.sock.close()
            self._another()
        elif client.events() != before:
            self._selector.modify(client.sock, client.events(), client)


def anyone() -> ssl.SSLContext:
    """TLS with a server that nobody vouches for: it is our own."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def handshakes(port: int, seconds: float, *, guess: bool) -> tuple[int, int]:
    """Whole handshakes one after the other; with a wrong password that is another each time."""
    context = anyone()
    made, answers = 0, 0
    end = time.monotonic() + seconds  # noqa: TID251 - see above
    while time.monotonic() < end:  # noqa: TID251 - see above
        made += 1
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", port), 1.0) as plain,
            context.wrap_socket(plain) as sock,
        ):
            if guess:
                word = base64.b64encode(b"x:%d" % made)
                sock.sendall(_PAGE[:-2] + b"Authorization: Basic " + word + b"\r\n\r\n")
                answers += bool(sock.recv(1))
    return made, answers


def main(kind: str, port: int, count: int, seconds: float) -> None:
    """One flood."""
    os.nice(5)  # those of another machine would not take this one's processors
    if kind in KINDS:
        flood = Flood(KINDS[kind], port)
        flood.run(count, seconds)
        print(flood.made, flood.answers)
        return
    found: list[tuple[int, int]] = []
    guess = kind == "passwords"
    threads = [
        Thread(target=lambda: found.append(handshakes(port, seconds, guess=guess)))
        for _ in range(min(count, 20))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*map(sum, zip(*found, strict=True)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
