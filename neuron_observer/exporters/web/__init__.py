"""TLS and basic authentication, of files that may be replaced while the daemon runs.

A file that changed is read again at the next connection or request, at most once a second. If what
it says now is wrong, the old certificate and the old passwords stay in use, and it is said why.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from neuron_observer.clock import Clock
    from neuron_observer.exporters.web.passwords import Passwords
    from neuron_observer.exporters.web.settings import WebSettings
    from neuron_observer.exporters.web.tls import Secured

    _Mark: TypeAlias = tuple[tuple[int, int, int] | None, ...]

_LOOK_AGAIN = 1.0  # seconds


class Web:
    """What is in force. `ConfigError` if the first reading fails."""

    def __init__(
        self,
        read: Callable[[], WebSettings],
        clock: Clock,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._read = read
        self._clock = clock
        self._report = report
        self._look_at = clock.monotonic() + _LOOK_AGAIN
        self._said = ""
        self._settings = read()
        self._mark: _Mark | None = _mark(self._settings.files())
        self._secured, self._passwords = _made(self._settings, clock)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """What every answer has."""
        return self._settings.headers

    @property
    def encrypts(self) -> bool:
        """Whether connections are by TLS."""
        return self._secured is not None

    @property
    def asks(self) -> bool:
        """Whether a client must say or show who it is."""
        tls = self._settings.tls
        return bool(self._settings.users or (tls and tls.client_certificate == "required"))

    def secured(self) -> Secured | None:
        """How a new connection is made secure; None for not at all."""
        self._refresh()
        return self._secured

    def admits(self, authorization: str) -> bool | None:
        """Whether a request with this header may be answered; None if that must be checked."""
        self._refresh()
        return True if self._passwords is None else self._passwords.known(authorization)

    def check(self, authorization: str) -> bool:
        """The same, computed; for a thread that may wait."""
        passwords = self._passwords
        return True if passwords is None else passwords.check(authorization)

    def _refresh(self) -> None:
        now = self._clock.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_AGAIN
        mark = _mark(self._settings.files())
        if mark == self._mark:
            return
        try:
            settings = self._read()
            mark = _mark(settings.files())
            made = _made(settings, self._clock)
        except (ConfigError, OSError) as error:  # replaced while it was being read
            self._mark = None  # what is missing may be in a file that is not watched yet
            self._say(f"{error}\n  Until then the old certificate and passwords stay in use.")
            return
        self._settings, self._mark, (self._secured, self._passwords) = settings, mark, made
        self._said = ""
        self._report(f"{settings.file}: read again, because it or a file that it names changed")

    def _say(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self._report(text)


def _mark(files: Iterable[str]) -> _Mark:
    """What changes when a file is replaced or written to."""
    found: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 - a path as it was written
        except OSError:
            found.append(None)
        else:
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


def _made(settings: WebSettings, clock: Clock) -> tuple[Secured | None, Passwords | None]:
    """Imports what is asked for only: OpenSSL is 5 MB."""
    secured, passwords = None, None
    if settings.tls:
        from neuron_observer.exporters.web import tls  # noqa: PLC0415 - see above

        secured = tls.secured(settings.tls)
    if settings.users:
        from neuron_observer.exporters.web.passwords import Passwords  # noqa: PLC0415 - see above

        passwords = Passwords(settings.users, clock)
    return secured, passwords
