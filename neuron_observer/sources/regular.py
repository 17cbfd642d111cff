"""A file that somebody else wrote, in a folder where anybody may: opened so that it cannot harm.

No link is followed, nothing but a regular file is taken (a FIFO or a device is not waited for),
and never is it mapped: a file that is cut while it is mapped ends the program that reads it.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from neuron_observer.sources.filesets import open_read_only
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.tapped import told_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.sources.hostfs import HostFs


class Regular:
    """An open regular file; `uid` and `changed` (wall clock) are None in a recording."""

    def __init__(
        self, uid: int | None, changed: float | None, read: Callable[[int], bytes]
    ) -> None:
        self.uid = uid
        self.changed = changed
        self.read = read  # at most so many bytes from the start


@contextmanager
def regular(host: HostFs, path: str) -> Iterator[Regular]:
    """A file by its path below the root; OSError where it is none, or no regular one."""
    if not isinstance(host, DirectoryFs):
        _check(host.lstat(path).st_mode, path)
        yield Regular(None, None, lambda limit: host.read(path, limit))
        return
    descriptor = open_read_only(f"{host.root.rstrip('/')}/{path}")
    try:
        status = os.fstat(descriptor)
        _check(status.st_mode, path)
        read = told_whole(host, path, partial(_from_start, descriptor))
        yield Regular(status.st_uid, status.st_mtime, read)
    finally:
        os.close(descriptor)


def _from_start(descriptor: int, limit: int) -> bytes:
    return os.pread(descriptor, limit, 0)


def _check(mode: int, path: str) -> None:
    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISLNK, "a link"), (stat.S_ISDIR, "a folder"))
        kind = next((word for test, word in kinds if test(mode)), "a device or a socket")
        raise OSError(errno.EINVAL, f"{kind}, no regular file", path)
