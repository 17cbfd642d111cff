"""The daemon's stream of changes, read as it comes (server-sent events, HTML Living Standard §9.2).

Bounded like everything of a client: a line, a message, and how long nothing may come; the daemon
says each 15 s that it is there.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.client import read, target
from neuron_observer.client.wire import (
    Deadline,
    Exchange,
    Malformed,
    TooMuch,
    connected,
    failure,
    parse,
    read_body,
    read_head,
    send,
)
from neuron_observer.errors import DaemonError

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator, Mapping

    from neuron_observer.client import Client

SILENCE = 45.0  # seconds; three heartbeats
MOST_LINE = 4_000_000  # bytes
_CHUNK = 65536


class Message(NamedTuple):
    """One message: its kind, its document, and the id to go on after (empty where it has none)."""

    kind: str
    document: dict[str, Any]
    id: str


@contextmanager
def following(
    client: Client, query: Mapping[str, str | None], last_id: str = ""
) -> Iterator[Iterator[Message]]:
    """The messages of one connection, from an id on; they end with it. `DaemonError` before."""
    headers = {"Last-Event-ID": last_id} if last_id else {}
    address, deadline = client.address, Deadline(client.patience)
    try:
        with connected(address, deadline) as sock:
            send(sock, address, target("stream", query), headers, deadline)
            head, begun = read_head(sock, deadline)
            status, found = parse(head, address)
            if status != 200 or not found.get("content-type", "").startswith("text/event-stream"):
                body = read_body(sock, begun, found, deadline, MOST_LINE)
                document = read(Exchange(status, found, body), address)
                raise DaemonError(f"{address}: {document.get('title', 'no stream')}")
            sock.settimeout(SILENCE)
            yield messages(_lines(sock, begun))
    except TimeoutError:
        raise DaemonError(f"{address}: nothing came in time") from None
    except (Malformed, TooMuch) as error:
        raise DaemonError(f"{address}: {error}") from None
    except OSError as error:
        raise failure(address, error) from None


def _lines(sock: socket.socket, begun: bytes) -> Iterator[str]:
    """Lines, until the connection ends; the last one only if it ended."""
    buffer = begun
    while True:
        *whole, buffer = buffer.split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
        if len(buffer) > MOST_LINE:
            raise Malformed("a line of the stream has no end")
        more = sock.recv(_CHUNK)
        if not more:
            return
        buffer += more


def messages(lines: Iterator[str]) -> Iterator[Message]:
    """What lines say; a message that did not end, or is no JSON object, is none."""
    kind, number, data = "", "", list[str]()
    for line in lines:
        if not line:
            document = _document("\n".join(data))
            if document is not None:
                yield Message(kind or "message", document, number)
            kind, number, data = "", "", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "id":
            number = value
        elif name == "data":
            data.append(value)
            if sum(map(len, data)) > MOST_LINE:
                raise Malformed("a message of the stream has no end")


def _document(text: str) -> dict[str, Any] | None:
    try:
        document = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
