"""What a stream has to say to one client, from any thread."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Outlet:
    """Holds what is sent until the server takes it; over a limit it is `full` and stays so."""

    def __init__(self, most: int, wake: Callable[[], None]) -> None:
        self.full = False
        self._most = most
        self._wake = wake
        self._lock = Lock()
        self._held: list[bytes] = []
        self._untaken = 0  # bytes held here and by the connection
        self._closed = False

    def send(self, data: bytes) -> None:
        """Never waits; a client that is gone or too slow hears nothing."""
        with self._lock:
            if self._closed or self.full:
                return
            self._untaken += len(data)
            self.full = self._untaken > self._most
            if not self.full:
                self._held.append(data)
        self._wake()

    def take(self) -> list[bytes]:
        """What was sent since the last call."""
        with self._lock:
            held, self._held = self._held, []
            return held

    def left(self, size: int) -> None:
        """So many bytes went to the client."""
        with self._lock:
            self._untaken -= size

    def close(self) -> None:
        """Hear nothing more."""
        with self._lock:
            self._closed = True
            self._held.clear()
