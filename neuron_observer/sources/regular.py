"""A file that somebody else wrote, in a folder where anybody may: opened so that it cannot harm.

No link is followed, nothing but a regular file is taken (a FIFO or a device is not waited for),
and never is it mapped: a file that is cut while it is mapped ends the program that reads it.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Protocol

from neuron_observer.sources.filesets import open_read_only
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.tapped import tape_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from neuron_observer.sources.form import Patch
    from neuron_observer.sources.hostfs import HostFs


class Regular(Protocol):
    """An open regular file."""

    uid: int | None  # whose; None in a recording
    changed: float | None  # wall clock; None in a recording
    size: int | None  # bytes; None in a recording

    def read(self, limit: int) -> bytes:
        """At most so many bytes from the start; the host's tape hears of a file read whole."""
        ...

    def piece(self, offset: int, length: int) -> bytes:
        """At most so many bytes from there; nobody hears of it."""
        ...

    def tell(self, pieces: Sequence[Patch]) -> bool:
        """Have the tape hear of pieces that were read; False if it needs the whole file first."""
        ...


def regular(host: HostFs, path: str) -> AbstractContextManager[Regular]:
    """A file by its path below the root; OSError where it is none, or no regular one."""
    if isinstance(host, DirectoryFs):
        return _Open(host, path)
    return _Held(host, path)


class _Open:
    """A class of its own, no generator: 64 files are opened at a time."""

    __slots__ = ("_descriptor", "_path", "_tape", "_where", "changed", "size", "uid")

    def __init__(self, host: DirectoryFs, path: str) -> None:
        self._path, self._where = path, f"{host.root.rstrip('/')}/{path}"
        self._tape = tape_of(host)
        self.uid: int | None = None
        self.changed: float | None = None
        self.size: int | None = None

    def __enter__(self) -> _Open:  # noqa: PYI034 - `Self` comes with Python 3.11
        self._descriptor = open_read_only(self._where)
        try:
            status = os.fstat(self._descriptor)
            _check(status.st_mode, self._path)
        except BaseException:
            os.close(self._descriptor)
            raise
        self.uid, self.changed, self.size = status.st_uid, status.st_mtime, status.st_size
        return self

    def __exit__(self, *_raised: object) -> None:
        os.close(self._descriptor)

    def read(self, limit: int) -> bytes:
        content = os.pread(self._descriptor, limit, 0)
        if self._tape is not None and len(content) < limit:
            self._tape.read(self._path, content)
        return content

    def piece(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def tell(self, pieces: Sequence[Patch]) -> bool:
        return self._tape is None or self._tape.pieces(self._path, self.size or 0, pieces)


class _Held:
    """A file of a host that is held in memory, or of a recording."""

    def __init__(self, host: HostFs, path: str) -> None:
        self._host, self._path = host, path
        self.uid: int | None = None
        self.changed: float | None = None
        self.size: int | None = None

    def __enter__(self) -> _Held:  # noqa: PYI034 - the same
        _check(self._host.lstat(self._path).st_mode, self._path)
        return self

    def __exit__(self, *_raised: object) -> None:
        """Nothing is open."""

    def read(self, limit: int) -> bytes:
        return self._host.read(self._path, limit)

    def piece(self, offset: int, length: int) -> bytes:
        return self.read(offset + length)[offset:]

    def tell(self, _pieces: Sequence[Patch]) -> bool:
        return True  # its tape heard each read


def _check(mode: int, path: str) -> None:
    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISLNK, "a link"), (stat.S_ISDIR, "a folder"))
        kind = next((word for test, word in kinds if test(mode)), "a device or a socket")
        raise OSError(errno.EINVAL, f"{kind}, no regular file", path)
