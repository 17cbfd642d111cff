"""What clients may cost."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """Seconds and bytes; the connections are those by TCP, and as many by the unix socket."""

    connections: int = 256
    refusals: int = 16  # connections beyond, that are told so; more are dropped
    request_bytes: int = 16384  # of a request's head
    body_bytes: int = 65536
    request_seconds: float = 5.0  # from its first byte to its last; also a TLS handshake
    idle_seconds: float = 30.0
    answer_seconds: float = 10.0  # until a client has taken it
    stream_bytes: int = 1 << 20  # of a stream, that wait for a client
    waiting: int = 64  # requests that wait for a handler that waits, or for a password's check
