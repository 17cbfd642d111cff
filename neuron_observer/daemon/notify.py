"""What a daemon tells the service manager: ready, how the host is, still alive, on its way out.

A datagram of `KEY=value` lines to the socket that NOTIFY_SOCKET names; nothing where it names none.
Whether it arrives never matters to the daemon. Source: sd_notify(3), sd_watchdog_enabled(3).
"""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from neuron_observer.clock import Clock
    from neuron_observer.model import Frame

_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
_BEATS = 4  # in the time that the watchdog allows: two may get lost
_STATUS_LENGTH = 300  # characters; a line of `systemctl status`


class Notifier:
    """Tells a service manager; silent without an address."""

    def __init__(self, clock: Clock, address: str | None, watchdog: float | None = None) -> None:
        """The address as in NOTIFY_SOCKET, the seconds that the watchdog allows between beats."""
        self._clock = clock
        self._socket: socket.socket | None = None
        self._address = b""
        if address and address[0] in "/@" and len(address) > 1:
            if address[0] == "@":  # a name in the abstract namespace, which is no file
                address = f"\0{address[1:]}"
            self._address = os.fsencode(address)
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
        self._interval = None if watchdog is None else watchdog / _BEATS
        self._last_beat: float | None = None
        self._ready = False
        self._status = ""

    @classmethod
    def of(cls, environ: MutableMapping[str, str], pid: int, clock: Clock) -> Notifier:
        """As the environment says, which is then emptied of it: our children are not spoken to."""
        address, microseconds, meant = (environ.pop(name, "") for name in _VARIABLES)
        watchdog = None
        if _number(microseconds) and (not meant or meant == str(pid)):
            watchdog = int(microseconds) / 1e6
        return cls(clock, address, watchdog)

    def note(self, frame: Frame) -> None:
        """A frame is there: with the first we are ready, and each may have another verdict."""
        self.status(status_line(frame))
        if not self._ready:
            self._ready = self._send("READY=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`; sent only if it is another one."""
        if text != self._status and self._send(f"STATUS={text}"):
            self._status = text

    def beat(self) -> None:
        """Called by whoever must not hang, as often as it likes: feeds the watchdog."""
        if self._interval is None:
            return
        now = self._clock.monotonic()
        due = self._last_beat is None or now - self._last_beat >= self._interval
        if due and self._send("WATCHDOG=1"):
            self._last_beat = now

    @contextmanager
    def reloading(self) -> Iterator[None]:
        """The configuration is read anew for as long as this lasts, however it ends."""
        now = int(self._clock.monotonic() * 1e6)
        self._send(f"RELOADING=1\nMONOTONIC_USEC={now}")
        try:
            yield
        finally:
            self._send("READY=1")

    def stopping(self) -> None:
        """We are on our way out."""
        self._send("STOPPING=1\nSTATUS=stopping")

    def close(self) -> None:
        """Nothing more will be told."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, text: str) -> bool:
        if self._socket is not None:
            with suppress(OSError):  # the manager is busy, or gone
                self._socket.sendto(text.encode(errors="replace"), self._address)
                return True
        return False


def status_line(frame: Frame) -> str:
    """The verdict in one line that fits a screen."""
    snapshot, health = frame.snapshot, frame.health
    devices = f"{len(snapshot.devices)} device{'' if len(snapshot.devices) == 1 else 's'}"
    driver = f"driver {snapshot.driver.version or snapshot.driver.state}"
    reason = " ".join(health.reason.split())
    line = f"{health.verdict.value}: {reason}; {devices}, {driver}"
    return line if len(line) <= _STATUS_LENGTH else f"{line[: _STATUS_LENGTH - 1]}…"


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0
