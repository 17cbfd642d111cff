"""TLS to a daemon: the certificate is always checked, against the system's or a named authority."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from neuron_observer.errors import DaemonError, InputError

if TYPE_CHECKING:
    import socket

    from neuron_observer.client.address import Address


def wrapped(plain: socket.socket, address: Address) -> socket.socket:
    """The same connection, encrypted; `DaemonError` where the certificate is not to be trusted."""
    try:
        context = ssl.create_default_context(cafile=address.ca_file)
    except (OSError, ssl.SSLError) as error:
        plain.close()
        raise InputError(
            f"{address.ca_file}: {error.strerror or error}", remedy="--ca-file takes a PEM file."
        ) from None
    try:
        return context.wrap_socket(plain, server_hostname=address.host)
    except ssl.SSLCertVerificationError as error:
        plain.close()
        raise DaemonError(
            f"{address}: its certificate is not trusted: {error.verify_message}",
            remedy="--ca-file FILE names the authority that signed it.",
        ) from None
    except ssl.SSLError as error:
        plain.close()
        raise DaemonError(
            f"{address}: no TLS: {error.reason or error}",
            remedy="Without `tls_server_config` in its web-config.yml a daemon speaks http.",
        ) from None
    except BaseException:
        plain.close()
        raise
