"""`/api/v1/stream`: what changes, as it changes, as server-sent events.

Whoever comes back with Last-Event-ID gets what he missed as far as it is held; what is not held any
more is told as a gap, never passed over. Nothing is queued here: the server drops a client that
leaves too much untaken, and he comes back. Source: HTML Living Standard §9.2.
"""

from __future__ import annotations

import json
import re
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING

from neuron_observer import contract
from neuron_observer.daemon.changes import ID
from neuron_observer.daemon.differences import KINDS
from neuron_observer.daemon.standing import frame_id
from neuron_observer.exporters.message import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.daemon.asked import Asked
    from neuron_observer.daemon.changes import Change
    from neuron_observer.daemon.standing import Standing
    from neuron_observer.exporters.message import Send
    from neuron_observer.model import Frame

HEARTBEAT = 15.0  # seconds
MOST_BACKLOG = 262_144  # bytes that are sent at once of what a client missed
MOST_CLIENTS = 64


class _Client:
    """One listener: where it is in the log, and what it wants."""

    def __init__(self, send: Send, asked: Asked, position: str, *, local: bool) -> None:
        self.send = send
        self.kinds = frozenset(asked["type"] or KINDS)
        self.devices: tuple[int, ...] | None = asked["device"]
        self.frames = bool(asked["frames"])
        self.local = local
        self.position = position  # id of the last entry that was looked at
        self.lock = Lock()

    def wants(self, change: Change) -> bool:
        """Whether an entry is one that was asked for; verdicts and the node concern everybody."""
        fits = self.devices is None or change.device is None or change.device in self.devices
        return change.kind in self.kinds and fits


class Full(Exception):  # noqa: N818 - an answer, not an error of ours
    """There are as many listeners as there may be."""


class Streams:
    """All open streams."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        self.clients: frozenset[_Client] = frozenset()  # replaced, never changed
        self._changed = Condition()
        self._beating = False
        standing.changes.subscribe(self._spread)

    def open(self, asked: Asked, last_event_id: str, *, local: bool = False) -> Stream:
        """A stream that begins now, or after what a client had last.

        `local`: by the unix socket, whose clients have room of their own. `Full` where none is.
        """
        if sum(client.local is local for client in self.clients) >= MOST_CLIENTS:
            raise Full

        def begin(send: Send) -> Callable[[], None]:
            position = last_event_id or self._standing.changes.held().last_id
            client = _Client(send, asked, position, local=local)
            send(b"retry: 2000\n" + self._comment())
            self._catch_up(client)
            with self._changed:
                self.clients |= {client}
                if not self._beating:
                    self._beating = True
                    Thread(target=self._beat, name="heartbeat", daemon=True).start()
            self._catch_up(client)  # what came in between
            return lambda: self._leave(client)

        return Stream(begin)

    def note(self, frame: Frame) -> None:
        """Tell of a frame to those who want to know of each."""
        wanting = [client for client in self.clients if client.frames]
        if wanting:
            told = _message("frame", json.dumps(_summary(frame)).encode())
            for client in wanting:
                client.send(told)

    def _spread(self, _: Sequence[Change]) -> None:
        for client in self.clients:
            self._catch_up(client)

    def _catch_up(self, client: _Client) -> None:
        """Send what a client has not had yet, in one piece, from the log."""
        with client.lock:
            before = client.position
            changes, missed, client.position = self._standing.changes.after(before)
            wanted = [change for change in changes if client.wants(change)]
            parts = _newest(wanted)
            left_out = len(wanted) - len(parts)
            if missed or missed is None or left_out:
                parts.insert(0, _gap(before, None if missed is None else missed + left_out))
            if parts:
                client.send(b"".join(parts))

    def _leave(self, client: _Client) -> None:
        with self._changed:
            self.clients -= {client}
            self._changed.notify()

    def beat(self) -> None:
        """Tell every client that the daemon is there, and how old its frame is."""
        comment = self._comment()
        for client in self.clients:
            client.send(comment)

    def _beat(self) -> None:
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: not self.clients, HEARTBEAT):
                    self._beating = False
                    return
            self.beat()

    def _comment(self) -> bytes:
        aged = self._standing.last()
        if aged is None:
            return b": no frame yet\n\n"
        stale = ", stale" if aged.stale else ""
        return f": frame {aged.age:.1f} s old{stale}\n\n".encode()


def _message(kind: str, body: bytes, number: str = "") -> bytes:
    head = f"id: {number}\n" if number else ""
    return f"{head}event: {kind}\ndata: ".encode() + body + b"\n\n"


def _newest(changes: Sequence[Change]) -> list[bytes]:
    """The newest entries that may be sent at once, as messages, oldest first."""
    parts: list[bytes] = []
    size = 0
    for change in reversed(changes):
        part = _message(change.kind, change.body, change.id)
        size += len(part)
        if size > MOST_BACKLOG:
            break
        parts.append(part)
    return parts[::-1]


def _gap(after: str, missed: int | None) -> bytes:
    """What is told in the place of entries that cannot be sent; `missed` null: nobody can tell."""
    known = after if re.fullmatch(ID, after, re.ASCII) else None
    why = "the id is of another run of the daemon" if missed is None else "no longer held"
    told = {"type": "gap", "after": known, "missed": missed, "why": why}
    return _message("gap", json.dumps(told).encode())


def _summary(frame: Frame) -> dict[str, object]:
    return {
        "type": "frame",
        "at": contract.instant(frame.snapshot.at),
        "id": frame_id(frame),
        "verdict": frame.health.verdict.value,
        "reason": frame.health.reason,
        "findings": len(frame.findings),
    }
