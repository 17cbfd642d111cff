"""One request and its answer over a socket: HTTP/1.0, so that the answer ends with the connection.

The standard library's client takes 20 ms to import and has no bound on an answer as a whole; this
has one deadline and one number of bytes for all of it. Source: RFC 9112.
"""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer import __version__
from neuron_observer.clock import SystemClock
from neuron_observer.errors import DaemonError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.client.address import Address

_END = b"\r\n\r\n"
_CHUNK = 65536
_MOST_HEAD = 65536  # bytes
_HANGS = "Its log says more: journalctl -u neuron-observer. --direct reads without it."


class Exchange(NamedTuple):
    """What came back; names of headers in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Deadline:
    """An instant by which everything must be over."""

    def __init__(self, seconds: float) -> None:
        self._clock = SystemClock()
        self._end = self._clock.monotonic() + seconds

    def set_on(self, sock: socket.socket) -> None:
        """Have the next call of a socket end in time; TimeoutError if it is over."""
        left = self._end - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError
        sock.settimeout(left)


def exchange(
    address: Address,
    target: str,
    headers: Mapping[str, str],
    seconds: float,
    most: int,
    *,
    body: bytes | None = None,
) -> Exchange:
    """Ask once, with a body by POST; `DaemonError` if it fails in so many seconds and bytes."""
    deadline = Deadline(seconds)
    try:
        with connected(address, deadline) as sock:
            send(sock, address, target, headers, deadline, body)
            head, begun = read_head(sock, deadline)
            status, found = parse(head, address)
            body = read_body(sock, begun, found, deadline, most)
    except TimeoutError:
        raise DaemonError(f"{address}: no answer in {seconds:g} s", remedy=_HANGS) from None
    except OSError as error:
        raise failure(address, error) from None
    except TooMuch as error:
        raise DaemonError(f"{address}: {error}") from None
    except Malformed as error:
        raise DaemonError(f"{address}: {error}: no neuron-observer answers there") from None
    return Exchange(status, found, body)


class TooMuch(Exception):  # noqa: N818 - told as a DaemonError
    """An answer without end."""

    def __init__(self, most: int) -> None:
        super().__init__(f"the answer has more than {most} bytes")


class Malformed(Exception):  # noqa: N818 - told as a DaemonError
    """No HTTP."""


def connected(address: Address, deadline: Deadline) -> socket.socket:
    """A connection, with TLS where the address says so."""
    if address.scheme == "unix":
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            deadline.set_on(sock)
            sock.connect(address.path)
        except BaseException:
            sock.close()
            raise
        return sock
    plain = _dial(address, deadline)
    if address.scheme == "http":
        return plain
    from neuron_observer.client.tls import wrapped  # noqa: PLC0415 - ssl costs 20 ms

    return wrapped(plain, address)


def _dial(address: Address, deadline: Deadline) -> socket.socket:
    """A connection to the first of a host's addresses that takes one."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(errno.EINVAL, "no name of a host") from None
    last = OSError(errno.EHOSTUNREACH, "no such host")
    for family, kind, protocol, _, where in found:
        sock = socket.socket(family, kind, protocol)
        try:
            deadline.set_on(sock)
            sock.connect(where)
        except TimeoutError:
            sock.close()
            raise
        except OSError as error:
            sock.close()
            last = error
        else:
            return sock
    raise last


def send(
    sock: socket.socket,
    address: Address,
    target: str,
    headers: Mapping[str, str],
    deadline: Deadline,
    body: bytes | None = None,
) -> None:
    """Write the request."""
    method = "GET" if body is None else "POST"
    lines = [f"{method} {address.prefix}{target} HTTP/1.0", f"Host: {address.authority}"]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    lines.append(f"User-Agent: neuron-observer/{__version__}")
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if address.scheme != "unix":
        from neuron_observer.client.credentials import authorization  # noqa: PLC0415 - of others

        lines += ["Accept-Encoding: gzip", *authorization(address)]
    deadline.set_on(sock)
    sock.sendall("\r\n".join(lines).encode("ascii") + _END + (body or b""))


def read_head(sock: socket.socket, deadline: Deadline) -> tuple[bytes, bytes]:
    """The head of an answer, and what of its body came with it."""
    buffer = bytearray()
    while _END not in buffer:
        if len(buffer) > _MOST_HEAD:
            raise TooMuch(_MOST_HEAD)
        deadline.set_on(sock)
        more = sock.recv(_CHUNK)
        if not more:
            raise Malformed("the connection ended before an answer came")
        buffer += more
    head, _, body = bytes(buffer).partition(_END)
    return head, body


def parse(head: bytes, address: Address) -> tuple[int, dict[str, str]]:
    """Status and headers; a place that sends elsewhere is not followed."""
    first, *rest = head.decode("latin-1").split("\r\n")
    version, _, status = first.partition(" ")
    if not version.startswith("HTTP/1.") or not status[:3].isascii() or not status[:3].isdigit():
        raise Malformed("this is no HTTP answer")
    headers = {}
    for line in rest:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if status[0] == "3" and "location" in headers:
        raise DaemonError(
            f"{address}: sends elsewhere (status {status[:3]})",
            remedy="Name the address where the daemon itself answers.",
        )
    return int(status[:3]), headers


def read_body(
    sock: socket.socket,
    begun: bytes,
    headers: Mapping[str, str],
    deadline: Deadline,
    most: int,
) -> bytes:
    """What follows the head, to the end that the answer names or that the connection has."""
    told = headers.get("content-length", "")
    length = int(told) if told.isascii() and told.isdigit() and len(told) < 16 else None
    if length is not None and length > most:
        raise TooMuch(most)
    parts, size = [begun], len(begun)
    while length is None or size < length:
        deadline.set_on(sock)
        more = sock.recv(_CHUNK)
        if not more:
            break
        parts.append(more)
        size += len(more)
        if size > most:
            break
    if size > most:
        raise TooMuch(most)
    if length is not None and size < length:
        raise Malformed("the answer broke off")
    body = b"".join(parts)[:length]
    if headers.get("content-encoding") != "gzip":
        return body
    import zlib  # noqa: PLC0415 - a socket's answers are plain

    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        whole = unpacker.decompress(body, most)
    except zlib.error:
        raise Malformed("the answer is no gzip") from None
    if unpacker.eof:
        return whole
    raise TooMuch(most) if len(whole) >= most else Malformed("the answer broke off")


def failure(address: Address, error: OSError) -> DaemonError:
    """What a system's error means here, and what to do about it."""
    number = error.errno
    local = address.scheme == "unix"
    if number in (errno.ENOENT, errno.ECONNREFUSED):
        what = "no daemon listens there"
        remedy = "systemctl start neuron-observer starts it; `neuron-observer daemon` tries it out."
        return DaemonError(f"{address}: {what}", remedy=remedy, absent=True)
    if number in (errno.EACCES, errno.EPERM):
        remedy = f"ls -l {address.path} says who may; or ask as root." if local else ""
        return DaemonError(f"{address}: this user may not ask it", remedy=remedy)
    return DaemonError(f"{address}: {error.strerror or error}", remedy="" if local else _NETWORK)


_NETWORK = "Name and port are those of --listen; a daemon listens on its own machine by default."
