"""Listening sockets that the service manager opened for us. Source: sd_listen_fds(3).

Whoever starts us with descriptors says for which process they are, how many and what each is
called. Anything in it that is not as it should be is an error: a daemon that served a descriptor
it takes for a listener would be worse than one that does not start.
"""

from __future__ import annotations

import os
import socket
import stat
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_VARIABLES = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
_FIRST = 3  # SD_LISTEN_FDS_START
_MOST = 64  # more are no configuration but a mistake
_FAMILIES = (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)
_REMEDY = (
    "The .socket units pass ListenStream= sockets with Accept=no; `systemctl cat"
    " neuron-observer.socket` shows what stands there now."
)


class Inherited(NamedTuple):
    """A listening stream socket and its FileDescriptorName=, empty if it has none."""

    name: str
    sock: socket.socket


def inherited_sockets(environ: MutableMapping[str, str], pid: int) -> tuple[Inherited, ...]:
    """The sockets that are meant for this process; the environment forgets of them.

    None if there are none, or if they are meant for another process. `UsageError` if what is said
    of them is malformed or one of them is no listening stream socket.
    """
    meant, number, names = (environ.pop(name, None) for name in _VARIABLES)
    if meant is None or number is None:
        return ()
    if not (meant.isascii() and meant.isdigit()):
        raise UsageError(f"LISTEN_PID={meant}: no process id", remedy=_REMEDY)
    if int(meant) != pid:
        return ()
    if not (number.isascii() and number.isdigit() and int(number) <= _MOST):
        raise UsageError(f"LISTEN_FDS={number}: no number up to {_MOST}", remedy=_REMEDY)
    descriptors = range(_FIRST, _FIRST + int(number))
    called = [""] * len(descriptors) if names is None else names.split(":")
    if not descriptors:
        return ()
    if len(called) != len(descriptors):
        raise UsageError(
            f"LISTEN_FDNAMES={names}: {len(called)} names for {number} sockets", remedy=_REMEDY
        )
    return tuple(map(_taken, called, descriptors))


def _taken(name: str, descriptor: int) -> Inherited:
    """A descriptor as a socket, which our children do not inherit."""
    try:
        os.set_inheritable(descriptor, False)
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise _refused(name, descriptor, "no socket")
    except OSError as error:
        raise _refused(name, descriptor, error.strerror or "unusable") from None
    sock = socket.socket(fileno=descriptor)
    listens = sock.type == socket.SOCK_STREAM and sock.getsockopt(
        socket.SOL_SOCKET, socket.SO_ACCEPTCONN
    )
    if sock.family not in _FAMILIES or not listens:
        sock.detach()
        raise _refused(name, descriptor, "no listening stream socket")
    return Inherited(name, sock)


def _refused(name: str, descriptor: int, why: str) -> UsageError:
    called = f" ({name})" if name else ""
    return UsageError(f"inherited descriptor {descriptor}{called}: {why}", remedy=_REMEDY)
