"""The unix socket of the command line: one file, made anew at each start and removed at the end."""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BACKLOG = 128
_LONGEST = 107  # bytes of a path (unix(7): sun_path)
_EVERYBODY = 0o666  # whoever is on this machine may read; changes are for root (routes.owner_only)
_FORM = "--socket takes a path in a folder that is there, such as /run/neuron-observer."


@contextmanager
def listen_unix(path: str) -> Iterator[socket.socket]:
    """A listening socket at a path, which is gone afterwards; `UsageError` if it cannot be had.

    What a daemon left behind that is no more is replaced, anything else at that path is not.
    """
    if len(os.fsencode(path)) > _LONGEST:
        raise UsageError(f"{path}: longer than {_LONGEST} bytes", remedy=_FORM)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            _remove_left_behind(path)
            listener.bind(path)
            Path(path).chmod(_EVERYBODY)
            listener.listen(_BACKLOG)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}", remedy=_remedy(error)) from None
        ours = _identity(path)
        try:
            yield listener
        finally:
            with suppress(OSError):
                if _identity(path) == ours:  # another daemon may have taken the place
                    Path(path).unlink()


def _identity(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino


def _remove_left_behind(path: str) -> None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(errno.EEXIST, "there is a file that is no socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.settimeout(1.0)
        try:
            other.connect(path)
        except ConnectionRefusedError:
            Path(path).unlink()
        else:
            raise OSError(errno.EADDRINUSE, "another daemon listens there")


def _remedy(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "Stop it (systemctl stop neuron-observer), or name another path with --socket."
    if error.errno == errno.EEXIST:
        return "Remove it, or name another path with --socket."
    return _FORM
