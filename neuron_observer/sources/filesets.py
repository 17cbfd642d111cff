"""Files that are read together, again and again: opened anew each time, or kept open.

Any write to a Neuron counter file clears it, so descriptors are opened read-only, and only here.
"""

from __future__ import annotations

import errno
import os
from array import array
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.sources.aio import Reads
    from neuron_observer.sources.hostfs import HostFs

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
MANY = 16  # files that are worth to be read in one system call
_REOPEN = {errno.ENODEV, errno.ENOENT, errno.ESTALE, errno.EBADF}
Content: TypeAlias = "bytes | OSError"


class FileSet(Protocol):
    """Files that are read together, again and again."""

    @property
    def kept(self) -> int:
        """Descriptors held between reads."""
        ...

    def read(self) -> list[Content]:
        """The content of each file, or the error that reading it gave; never raises OSError."""
        ...

    def close(self) -> None:
        """Give the descriptors back."""
        ...


def open_read_only(path: str) -> int:
    """A descriptor that can only read, follows no link and never blocks in open."""
    return os.open(path, _FLAGS)


class FreshFiles:
    """Files opened, read once and closed at each read, relative to their common folder."""

    kept = 0

    def __init__(self, folder: str, names: Sequence[str], limits: Sequence[int]) -> None:
        self._folder = folder
        self._names, self._limits = tuple(names), tuple(limits)

    def read(self) -> list[Content]:
        """Open, read, close each file."""
        try:
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            return [error] * len(self._names)
        contents: list[Content] = []
        read, close = os.read, os.close
        opened = partial(os.open, flags=_FLAGS, dir_fd=folder)
        try:
            for name, limit in zip(self._names, self._limits, strict=True):
                try:
                    descriptor = opened(name)
                    try:
                        contents.append(read(descriptor, limit))
                    finally:
                        close(descriptor)
                except OSError as error:
                    contents.append(error)
        finally:
            close(folder)
        return contents

    def close(self) -> None:
        """Nothing is held."""


class EachFile:
    """Files read together, each through its host's own `read`: for hosts that hold nothing open."""

    kept = 0

    def __init__(self, host: HostFs, paths: Sequence[str], limits: Sequence[int]) -> None:
        self._host = host
        self._files = tuple(zip(paths, limits, strict=True))

    def read(self) -> list[Content]:
        """Each file's bytes or error."""
        return [self._one(path, limit) for path, limit in self._files]

    def _one(self, path: str, limit: int) -> Content:
        try:
            return self._host.read(path, limit)
        except OSError as error:
            return error

    def close(self) -> None:
        """Nothing is held."""


class KeptFiles:
    """Files whose descriptors stay open; sysfs makes the value anew at every pread from 0.

    A kept sysfs descriptor costs 4.7 KiB of kernel memory and gives ENODEV for ever once its
    device directory is gone, so it is then opened again by path.
    """

    def __init__(self, folder: str, names: Sequence[str], limits: Sequence[int]) -> None:
        self._folder = folder
        self._names = tuple(names)
        self._limits = tuple(limits)
        self._descriptors = array("i", [-1]) * len(self._names)
        self._open = 0
        self._reads: Reads | None = None  # of all descriptors as they are
        self._tried = False
        self._fetched: list[Content] | None = None  # None: it lies with `_reads`

    @property
    def kept(self) -> int:
        """Descriptors held now."""
        return self._open

    def read(self) -> list[Content]:
        """One read from the beginning a file; a file that fails costs only itself."""
        self.fetch()
        return self.contents()

    def fetch(self) -> None:
        """Read, and look at nothing yet."""
        self._fetched = None
        if self._open == len(self._names):
            try:
                self._fetch_all()
            except OSError:
                self._read_singly()  # and find out below which one it was
            else:
                return
        self._fetched = [self._one(number) for number in range(len(self._names))]

    def _fetch_all(self) -> None:
        if not self._tried and len(self._names) >= MANY:
            from neuron_observer.sources.aio import open_reads  # noqa: PLC0415 - costs ctypes

            self._reads, self._tried = open_reads(self._descriptors, self._limits), True
        if self._reads:
            self._reads.fetch()
        else:
            self._fetched = list(map(os.pread, self._descriptors, self._limits, repeat(0)))

    def contents(self) -> list[Content]:
        """What was fetched last."""
        if self._fetched is None and self._reads:
            return cast("list[Content]", self._reads.contents())
        return self._fetched or []

    def changed_since(self, contents: object) -> list[int] | None:
        """What differs now from what the read before the last gave; None if that is not known."""
        return self._reads.changed_since(contents) if self._reads else None

    def _read_singly(self) -> None:
        """Until a descriptor is new: a kernel without AIO for such files is not asked each time."""
        self._reads = None

    def _one(self, number: int) -> Content:
        was_open = self._descriptors[number] >= 0
        content = self._try(number)
        if was_open and isinstance(content, OSError) and content.errno in _REOPEN:
            return self._try(number)
        return content

    def _try(self, number: int) -> Content:
        try:
            if self._descriptors[number] < 0:
                path = f"{self._folder}/{self._names[number]}"
                self._descriptors[number] = open_read_only(path)
                self._open += 1
            return os.pread(self._descriptors[number], self._limits[number], 0)
        except OSError as error:
            self._drop(number)
            return error

    def _drop(self, number: int) -> None:
        if self._descriptors[number] >= 0:
            os.close(self._descriptors[number])
            self._open -= 1
        self._descriptors[number] = -1
        self._read_singly()
        self._tried = False

    def close(self) -> None:
        """Close all descriptors."""
        for number in range(len(self._names)):
            self._drop(number)
