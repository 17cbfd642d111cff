"""User and password for a daemon, from the environment or ~/.netrc; never shown, never in a URL."""

from __future__ import annotations

import os
from base64 import b64encode
from typing import TYPE_CHECKING

from neuron_observer.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.client.address import Address

USER = "NEURON_OBSERVER_CONNECT_USER"
PASSWORD = "NEURON_OBSERVER_CONNECT_PASSWORD"  # noqa: S105 - the name of a variable
_HERE = ("127.0.0.1", "::1", "localhost")


def authorization(address: Address) -> Iterator[str]:
    """The header line of basic auth (RFC 7617), where there is something to say."""
    safe = address.scheme == "https" or address.host in _HERE
    found = _given() or (_from_netrc(address.host) if safe else None)
    if found is None:
        return
    if not safe:
        raise UsageError(
            f"{address}: a password would go over the network in the clear",
            remedy="Use https, or leave user and password out.",
        )
    user, password = found
    if ":" in user:
        raise UsageError("a user's name has no colon (RFC 7617)")
    yield f"Authorization: Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


def _given() -> tuple[str, str] | None:
    user, password = os.environ.get(USER), os.environ.get(PASSWORD)
    if user is None and password is None:
        return None
    if not user or password is None:
        raise UsageError(f"{USER} and {PASSWORD} go together", remedy="Set both, or none.")
    return user, password


def _from_netrc(host: str) -> tuple[str, str] | None:
    """What ~/.netrc (or the file that NETRC names) has for a host."""
    file = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")  # noqa: PTH111 - one word of it
    if not os.path.exists(file):  # noqa: PTH110 - the same
        return None
    from netrc import NetrcParseError, netrc  # noqa: PLC0415 - where there is one

    try:
        found = netrc(file).authenticators(host)
    except NetrcParseError as error:  # its text names the line, never a password
        raise InputError(f"{file}: line {error.lineno} cannot be read") from None
    except (OSError, UnicodeError):
        raise InputError(f"{file}: cannot be read", remedy="chmod 600, and UTF-8.") from None
    return (found[0] or found[1], found[2] or "") if found else None
