"""The unix socket that this machine's own programs ask, by which the kernel says who asks.

Source: unix(7); systemd's RuntimeDirectory= makes the folder.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from neuron_observer.errors import UsageError
from neuron_observer.exporters.listener import BACKLOG

if TYPE_CHECKING:
    from collections.abc import Iterator

MODE = 0o660  # its user and its group may ask
_REMEDIES = {
    errno.ENOENT: "The folder is missing: RuntimeDirectory= of the unit makes it, or mkdir.",
    errno.EACCES: "The daemon's user must be able to write to the folder (ls -ld).",
    errno.EPERM: "The daemon's user must be able to write to the folder (ls -ld).",
    errno.EROFS: "The folder is read-only: name a socket below /run.",
    errno.EADDRINUSE: "Another daemon started at the same moment: stop one of them.",
}
_REMEDY = "A socket's path is absolute, of at most 107 bytes, in a folder that may be written to."


@contextmanager
def unix_socket(path: str, mode: int = MODE) -> Iterator[socket.socket]:
    """A listening socket; its file is gone afterwards, if nobody else has replaced it.

    A socket file that a dead daemon left is replaced. `UsageError` where one that lives listens,
    where something else stands, or where it cannot be made.
    """
    _make_room(path)
    listener = socket.socket(socket.AF_UNIX)
    try:
        made = _bind(listener, path, mode)
    except OSError as error:
        listener.close()
        remedy = _REMEDIES.get(error.errno or 0, _REMEDY)
        raise UsageError(f"{path}: {error.strerror or error}", remedy=remedy) from None
    try:
        yield listener
    finally:
        listener.close()
        with suppress(OSError):
            if os.lstat(path).st_ino == made:
                os.unlink(path)  # noqa: PTH108 - a path as it was written


def _bind(listener: socket.socket, path: str, mode: int) -> int:
    """The number of the file that was made."""
    before = os.umask(0o177)  # nobody gets in before the mode is what it shall be
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    os.chmod(path, mode)  # noqa: PTH101 - a path as it was written
    listener.listen(BACKLOG)
    return os.lstat(path).st_ino


def _make_room(path: str) -> None:
    """Remove the socket file of a daemon that is no more; nothing else, ever."""
    try:
        found = os.lstat(path)
    except OSError:  # nothing there, or what `bind` will say better
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise UsageError(
            f"{path} is there and is no socket, so it is left alone",
            remedy="Name another path for the socket, or move that file away.",
        )
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(1.0)
        try:
            caller.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)  # noqa: PTH108 - a path as it was written
            return
        except OSError as error:
            why = f"cannot be asked whether it lives: {error.strerror or error}"
        else:
            why = "a daemon answers there already"
    raise UsageError(
        f"{path}: {why}",
        remedy=f"Stop the other daemon (ss -lxp 'src {path}' names it), or name another path.",
    )
