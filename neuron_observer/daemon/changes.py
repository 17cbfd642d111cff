"""The log of what changed from frame to frame: numbered, in bounded memory.

An entry is kept as the bytes that clients get. Its id names this run of the daemon too, so that an
id of a run before is never taken for one of this.
"""

from __future__ import annotations

import json
import os
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.daemon.differences import Differences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.daemon.differences import Kind
    from neuron_observer.model import Frame

MOST = 2000  # entries
MOST_BYTES = 1_000_000
ID = r"[0-9a-f]{8}-\d{1,15}"


class Change(NamedTuple):
    """One entry."""

    id: str
    number: int
    kind: Kind
    seen: float  # monotonic
    at: float  # wall clock, of the event or of the frame
    device: int | None  # that it is about; None: the node
    body: bytes  # its document


class Since(NamedTuple):
    """Entries after an id, how many after it are no longer here, and where to go on."""

    changes: Sequence[Change]
    missed: int | None  # None: nobody can tell
    last_id: str


class Changes:
    """The log; the loop's thread notes, any thread reads."""

    def __init__(self, *, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._boot = os.urandom(4).hex()  # of this run
        self._most = most
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._held: deque[Change] = deque()
        self._bytes = 0
        self._last = 0  # number
        self._differences = Differences()
        self._listeners: list[Callable[[Sequence[Change]], None]] = []

    def subscribe(self, listener: Callable[[Sequence[Change]], None]) -> None:
        """Have a function called with new entries, in the loop's thread."""
        self._listeners.append(listener)

    def note(self, frame: Frame) -> None:
        """Keep what a frame changes; call it with every one."""
        new: list[Change] = []
        for kind, at, device, document in self._differences.of(frame):
            number = self._last + len(new) + 1
            told = {"id": self._id(number), "type": kind, **document}
            body = json.dumps(told).encode()
            seen = frame.snapshot.monotonic
            new.append(Change(told["id"], number, kind, seen, at, device, body))
        if not new:
            return
        with self._lock:
            self._last += len(new)
            self._held.extend(new)
            self._bytes += sum(len(change.body) for change in new)
            while len(self._held) > self._most or self._bytes > self._most_bytes:
                self._bytes -= len(self._held.popleft().body)
        for listener in self._listeners:
            listener(new)

    def _id(self, number: int) -> str:
        return f"{self._boot}-{number}"

    def held(self) -> Since:
        """All that is here, oldest first."""
        with self._lock:
            return Since(list(self._held), 0, self._id(self._last))

    def after(self, told: str) -> Since:
        """What came after an id; all that is here where the id is none of this run."""
        boot, _, digits = told.partition("-")
        held, _, last_id = here = self.held()
        known = boot == self._boot and digits.isascii() and digits.isdigit() and len(digits) < 16
        last = int(last_id.partition("-")[2])
        if not known or int(digits) > last:
            return here._replace(missed=None)
        oldest = held[0].number if held else last + 1
        new = [one for one in held if one.number > int(digits)]
        return Since(new, max(oldest - int(digits) - 1, 0), last_id)
