"""The host's files, read-only. Paths are relative to the root: `sys/devices/…`, `proc/stat`.

Any write to a Neuron counter file clears it and a write to `reset` resets the chip, so this port
has no way to write: descriptors are opened O_RDONLY in one place, `open_read_only`.
"""

from __future__ import annotations

import errno
import os
import stat
from itertools import repeat
from operator import itemgetter
from typing import (
    TYPE_CHECKING,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    cast,
    runtime_checkable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.sources.aio import Reads
    from neuron_observer.sources.lines import LineSource

DEFAULT_LIMIT = 4096 + 1  # a sysfs file is at most one page; one byte more tells a longer one
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
MANY = 16  # files that are worth to be read in one system call
_REOPEN = {errno.ENODEV, errno.ENOENT, errno.ESTALE, errno.EBADF}

EntryKind: TypeAlias = Literal["file", "dir", "link", "other"]
Content: TypeAlias = "bytes | OSError"


class Entry(NamedTuple):
    """One name in a directory."""

    name: str
    kind: EntryKind


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


class HostFs(Protocol):
    """A host's files. All methods raise OSError as the kernel would."""

    root: str

    def read(self, path: str, limit: int = DEFAULT_LIMIT) -> bytes:
        """At most `limit` bytes from the start of a file, in one read."""
        ...

    def entries(self, path: str) -> list[Entry]:
        """What a directory holds, sorted by name; links are told, not followed."""
        ...

    def readlink(self, path: str) -> str:
        """Where a link points, as written."""
        ...

    def lstat(self, path: str) -> os.stat_result:
        """Mode, owner and device number of the path itself."""
        ...

    def file_set(
        self, base: str, names: Sequence[str], limits: Sequence[int], *, keep: bool
    ) -> FileSet:
        """Files below `base`, with kept descriptors or opened anew at each read."""
        ...


@runtime_checkable
class LoggingHost(Protocol):
    """A host in memory that lives by the machine's clock and has its own kernel log: simulated."""

    def kernel_log(self) -> LineSource:
        """Records as /dev/kmsg gives them, from the oldest on."""
        ...


class Space(NamedTuple):
    """How large a file system is, and what a user can still fill: bytes."""

    size: int
    available: int


@runtime_checkable
class MeasuredHost(Protocol):
    """A host in memory that tells how full its file systems are; of a real one the kernel does."""

    def space(self, mount: str) -> Space | None:
        """Of the file system at a mount point; None if it is not known."""
        ...


def resolve_link(path: str, target: str) -> str:
    """Where a link at `path` leads, by its text alone; never above the root."""
    joined = target if target.startswith("/") else f"{os.path.dirname(path)}/{target}"  # noqa: PTH120 - text, no file
    return os.path.normpath("/" + joined.lstrip("/")).lstrip("/")


class DirectoryFs:
    """A directory that is, or plays the part of, a host's root."""

    def __init__(self, root: str = "/") -> None:
        self.root = root
        self._prefix = root.rstrip("/") + "/"

    def read(self, path: str, limit: int = DEFAULT_LIMIT) -> bytes:
        """At most `limit` bytes from the start of a file, in one read."""
        descriptor = open_read_only(self._prefix + path)
        try:
            return os.read(descriptor, limit)
        finally:
            os.close(descriptor)

    def entries(self, path: str) -> list[Entry]:
        """What a directory holds, sorted by name."""
        with os.scandir(self._prefix + path) as found:
            return sorted([Entry(one.name, _kind(one)) for one in found], key=itemgetter(0))

    def names(self, path: str) -> list[str]:
        """What a directory holds, unsorted, without saying what each is."""
        return os.listdir(self._prefix + path)  # noqa: PTH208 - as readlink

    def readlink(self, path: str) -> str:
        """Where a link points, as written."""
        return os.readlink(self._prefix + path)  # noqa: PTH115 - thousands of calls a second

    def lstat(self, path: str) -> os.stat_result:
        """Mode, owner and device number of the path itself."""
        return os.lstat(self._prefix + path)

    def file_set(
        self, base: str, names: Sequence[str], limits: Sequence[int], *, keep: bool
    ) -> FileSet:
        """Files below `base`."""
        folder = self._prefix + base
        return KeptFiles(folder, names, limits) if keep else FreshFiles(folder, names, limits)


def names_in_folder(host: HostFs, path: str) -> list[str]:
    """Names alone, in any order: half the cost where there are thousands, as in /proc."""
    if isinstance(host, DirectoryFs):
        return host.names(path)
    return [entry.name for entry in host.entries(path)]


def _kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "dir"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def open_read_only(path: str, folder: int | None = None) -> int:
    """A descriptor that can only read, follows no link and never blocks in open."""
    return os.open(path, _FLAGS, dir_fd=folder)


class FreshFiles:
    """Files opened, read once and closed at each read, relative to their common folder."""

    kept = 0

    def __init__(self, folder: str, names: Sequence[str], limits: Sequence[int]) -> None:
        self._folder = folder
        self._files = tuple(zip(names, limits, strict=True))

    def read(self) -> list[Content]:
        """Open, read, close each file."""
        try:
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            return [error] * len(self._files)
        try:
            return [self._one(name, limit, folder) for name, limit in self._files]
        finally:
            os.close(folder)

    @staticmethod
    def _one(name: str, limit: int, folder: int) -> Content:
        try:
            descriptor = os.open(name, _FLAGS, dir_fd=folder)
        except OSError as error:
            return error
        try:
            return os.read(descriptor, limit)
        except OSError as error:
            return error
        finally:
            os.close(descriptor)

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
        self._descriptors: list[int] = [-1] * len(self._names)
        self._open = 0
        self._reads: Reads | None = None  # of all descriptors as they are
        self._tried = False

    @property
    def kept(self) -> int:
        """Descriptors held now."""
        return self._open

    def read(self) -> list[Content]:
        """One read from the beginning a file; a file that fails costs only itself."""
        if self._open == len(self._names):
            try:
                return self._all()
            except OSError:
                self._read_singly()  # and find out below which one it was
        return [self._one(number) for number in range(len(self._names))]

    def _all(self) -> list[Content]:
        if not self._tried and len(self._names) >= MANY:
            from neuron_observer.sources.aio import open_reads  # noqa: PLC0415 - costs ctypes

            self._reads, self._tried = open_reads(self._descriptors, self._limits), True
        if self._reads:
            return cast("list[Content]", self._reads.read())
        return list(map(os.pread, self._descriptors, self._limits, repeat(0)))

    def _read_singly(self) -> None:
        """Until a descriptor is new: a kernel without AIO for such files is not asked each time."""
        if self._reads:
            self._reads.close()
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


def is_character_device(mode: int) -> bool:
    """Whether an lstat mode is a character device's."""
    return stat.S_ISCHR(mode)
