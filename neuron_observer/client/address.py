"""Where a daemon is, from what a user wrote: http, https or unix URLs."""

from __future__ import annotations

import os
from typing import NamedTuple

from neuron_observer.errors import UsageError

SOCKET = "/run/neuron-observer/observer.sock"
PORT = 9744  # of a daemon that was told no other
_FORM = (
    "--connect takes http://HOST:PORT, https://HOST:PORT or unix:///PATH, for example"
    " http://127.0.0.1:9744."
)
_PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """A unix socket's path, or a host and port; `ca_file`: who vouches for a certificate."""

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""  # of the socket; of others what stands before /api
    ca_file: str | None = None

    @property
    def authority(self) -> str:
        """Host and port, as a Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return "localhost" if self.scheme == "unix" else f"{host}:{self.port}"

    @property
    def prefix(self) -> str:
        """What stands before /api, where a proxy put it there."""
        return "" if self.scheme == "unix" else self.path

    @property
    def short(self) -> str:
        """What tells it apart from others of its kind: without scheme and the usual port."""
        return str(self).partition("://")[2].removesuffix(f":{PORT}")

    def __str__(self) -> str:
        """As a URL."""
        if self.scheme == "unix":
            return f"unix://{self.path}"
        return f"{self.scheme}://{self.authority}{self.path}"


def parse(url: str, ca_file: str | None = None) -> Address:
    """An address; `UsageError` for anything that is none."""
    if ca_file is not None and not url.startswith("https:"):
        raise UsageError("--ca-file goes with an https URL", remedy=_FORM)
    if url.startswith("unix:"):
        path = url.removeprefix("unix:").removeprefix("//")
        if not path.startswith("/") or "\0" in path:
            raise UsageError(f"{url}: no absolute path", remedy=_FORM)
        return Address("unix", path=path)
    from urllib.parse import urlsplit  # noqa: PLC0415 - a socket needs none

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{url}: {error}", remedy=_FORM) from None
    if "@" in parts.netloc:
        raise UsageError(
            "--connect: a password in a URL is seen by everybody on this machine",
            remedy="Put it into ~/.netrc, or NEURON_OBSERVER_CONNECT_USER and _PASSWORD.",
        )
    if parts.scheme not in _PORTS or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"{url}: no address of a daemon", remedy=_FORM)
    if not (url.isascii() and url.isprintable()) or " " in url:
        raise UsageError("--connect: a URL has printable ASCII characters only", remedy=_FORM)
    port = _PORTS[parts.scheme] if port is None else port
    return Address(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), ca_file)


def local() -> Address | None:
    """The unix socket of this machine's daemon, where a file is there; None: do not ask."""
    path = os.environ.get("NEURON_OBSERVER_SOCKET", SOCKET)
    return Address("unix", path=path) if path and os.path.exists(path) else None  # noqa: PTH110 - pathlib costs a tenth of what a start may
