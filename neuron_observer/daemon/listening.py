"""What a daemon listens on: addresses, a unix socket, or what systemd opened for it."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from neuron_observer.exporters.listener import bound, listen, open_to_all, parse_address
from neuron_observer.exporters.unix_socket import MODE, unix_socket

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from neuron_observer.exporters.web import Web

_WAYS = "web.config_file (TLS, basic_auth_users) changes that, or --listen 127.0.0.1:9744"


@contextmanager
def listening(
    addresses: Sequence[str], path: str = "", mode: int = MODE
) -> Iterator[list[socket.socket]]:
    """Listening sockets; all are closed afterwards. `UsageError` if one of them cannot be had."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(listen(parse_address(text))) for text in addresses]
        if path:
            sockets.append(stack.enter_context(unix_socket(path, mode)))
        yield sockets


def places(listeners: Sequence[socket.socket], web: Web | None) -> str:
    """Where to ask, as URLs."""
    scheme = "https" if web and web.encrypts else "http"
    return ", ".join(
        f"unix:{listener.getsockname()}"
        if listener.family == socket.AF_UNIX
        else f"{scheme}://{bound(listener)}/metrics"
        for listener in listeners
    )


def warning(listeners: Sequence[socket.socket], web: Web | None) -> str:
    """What whoever listens beyond this machine should know; empty if nothing."""
    where = ", ".join(str(bound(listener)) for listener in listeners if open_to_all(listener))
    encrypts, asks = (web.encrypts, web.asks) if web else (False, False)
    if not where or (encrypts and asks):
        return ""
    if asks:
        return f"{where}: passwords go over the network in clear; tls_server_config changes that"
    how = "encrypted, but " if encrypts else ""
    return f"{where}: {how}whoever reaches it can read all that is known here; {_WAYS}"
