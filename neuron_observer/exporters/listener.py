"""The socket that the HTTP seam listens on, from what a user wrote."""

from __future__ import annotations

import errno
import ipaddress
import socket
from typing import NamedTuple

from neuron_observer.errors import UsageError

BACKLOG = 1024  # a burst of clients; the system may allow fewer
_FORM = "--listen takes HOST:PORT, for example 127.0.0.1:9744, [::1]:9744 or 0.0.0.0:9744."


class Address(NamedTuple):
    """A host (a name or a number) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        """As it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`HOST:PORT`, `[IPV6]:PORT`; `UsageError` for anything else."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise UsageError(f"{text}: an IPv6 address stands in brackets", remedy=_FORM)
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= 65535):
        raise UsageError(f"{text}: no HOST:PORT", remedy=_FORM)
    return Address(host, int(port))


def listen(address: Address) -> socket.socket:
    """A listening socket; `UsageError` where it cannot be had."""
    host = address.host  # as text it costs the names of all scripts, 400 kB
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host.encode() if host.isascii() else host,
            address.port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{address}: {error}", remedy=_FORM) from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise UsageError(f"{address}: {error.strerror}", remedy=_remedy(error, address)) from None
    return listener


def bound(listener: socket.socket) -> Address:
    """Where a socket listens: with port 0 the system chose one."""
    host, port, *_ = listener.getsockname()
    return Address(host, port)


def open_to_all(listener: socket.socket) -> bool:
    """Whether other machines can reach a socket."""
    if listener.family == socket.AF_UNIX:
        return False
    host, _, _ = bound(listener).host.partition("%")
    address = ipaddress.ip_address(host)
    inner = getattr(address, "ipv4_mapped", None)
    return not (inner or address).is_loopback


def _remedy(error: OSError, address: Address) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Another program has port {address.port} (ss -ltnp 'sport = :{address.port}' says"
            " which): stop it, or name another port with --listen HOST:PORT."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return "Ports below 1024 are for root: name a higher one with --listen HOST:PORT."
    if error.errno == errno.EADDRNOTAVAIL:
        return "This machine has no such address: name one of its own with --listen HOST:PORT."
    return _FORM
