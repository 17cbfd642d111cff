"""The host's files, read-only. Paths are relative to the root: `sys/devices/…`, `proc/stat`.

Any write to a Neuron counter file clears it and a write to `reset` resets the chip, so this port
has no way to write: descriptors are opened O_RDONLY in one place, `open_read_only`.
"""

from __future__ import annotations

import os
import stat
from operator import itemgetter
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from neuron_observer.sources.filesets import FreshFiles, KeptFiles, open_read_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.sources.filesets import Content, FileSet
    from neuron_observer.sources.lines import LineSource

DEFAULT_LIMIT = 4096 + 1  # a sysfs file is at most one page; one byte more tells a longer one

EntryKind: TypeAlias = Literal["file", "dir", "link", "other"]


class Entry(NamedTuple):
    """One name in a directory."""

    name: str
    kind: EntryKind


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
    available: int | None  # None: what is mounted there is only read


@runtime_checkable
class MeasuredHost(Protocol):
    """A host in memory that tells how full its file systems are; of a real one the kernel does."""

    def space(self, mount: str) -> Space | None:
        """Of the file system at a mount point; None if it is not known."""
        ...


class Witness(Protocol):
    """Who sees what is read of files that are read together, again and again."""

    def took(self, read_at: float, seconds: float) -> tuple[float, float]:
        """They were read (monotonic), and it took so long; when that counts as having been."""
        ...

    def changed(self, positions: Sequence[int], contents: Sequence[Content]) -> None:
        """Of all contents those at some positions are not what they were."""
        ...


@runtime_checkable
class WitnessedHost(Protocol):
    """A host that sees what is read of it: one that is recorded, or a recording of one."""

    def witness(self, base: str, names: Sequence[str]) -> Witness:
        """Who sees these files below `base`."""
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


def is_character_device(mode: int) -> bool:
    """Whether an lstat mode is a character device's."""
    return stat.S_ISCHR(mode)
