"""A host tree in one file: listings and captures, read back as a host root.

The form of its rows is told in `sources.rows`.
"""

from __future__ import annotations

import errno
import gzip
import os
import stat
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_observer.errors import InputError
from neuron_observer.sources.filesets import EachFile
from neuron_observer.sources.form import patched
from neuron_observer.sources.hostfs import DEFAULT_LIMIT, Entry, EntryKind, resolve_link
from neuron_observer.sources.passes import Node, Pass, merged
from neuron_observer.sources.replay import ListedLines
from neuron_observer.sources.rows import RowReader, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from neuron_observer.sources.lines import LineSource
    from neuron_observer.sources.passes import Folder
    from neuron_observer.sources.replay import Log

MOVING = "normal"  # the lane of what moves all the time
REGISTERS = "firmware"  # that of what shows a fault, and is read seldom
_LAST_TICKS = 4  # that are kept apart

__all__ = ["Listing", "ListingFs", "Node", "Pass", "encode", "opened_rows", "read_listing"]


@dataclass(slots=True)
class Listing:
    """A parsed listing: its header and its passes, the first of them complete."""

    header: dict[str, Any]
    passes: list[Pass]

    @property
    def recorded_at(self) -> float | None:
        """Wall-clock seconds of the first pass; a plain listing does not tell."""
        try:
            return datetime.fromisoformat(self.header["at"].replace("Z", "+00:00")).timestamp()
        except (LookupError, AttributeError, ValueError, OverflowError):
            return None

    @property
    def eve(self) -> int:
        """The pass before the last look: before registers answered last, else the last but one.

        What a recording begins with is no look: not all of it had been read by then.
        """
        answered = [number for number, one in enumerate(self.passes) if one.answers]
        if answered and answered[-1] and self.passes[answered[-1] - 1].tick:
            return answered[-1] - 1
        return max(len(self.passes) - 2, 0)


@contextmanager
def opened_rows(file: str) -> Iterator[Iterable[str]]:
    """The rows of a file, plain or gzip; InputError where it cannot be read to its end."""
    path = Path(file)
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with (
            gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8")
        ) as rows:
            yield rows
    except UnicodeDecodeError:
        raise InputError(
            f"{file}: is no text, so neither a listing nor a capture",
            remedy="`neuron-observer capture` makes a file that plays the part of a host.",
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{file}: not a whole listing: {error}") from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error


def read_listing(file: str) -> Listing:
    """Read a listing or capture, plain or gzip; InputError names the line that is wrong.

    Of a recording the first pass is all but its last ticks: it would not fit into memory.
    """
    reader = RowReader(file)
    passes: list[Pass] = []
    with opened_rows(file) as rows:
        for row in rows:
            done = reader.take(row)
            if done is not None:
                _add(passes, done)
    _add(passes, reader.latest)
    listing = Listing(reader.header, passes)
    if not any(one.nodes for one in listing.passes):
        raise InputError(f"{file}: the listing is empty")
    return listing


def _add(passes: list[Pass], one: Pass) -> None:
    """Of a recording only the last ticks that read all that moves are passes of their own."""
    before = passes[-1] if passes else None
    if before and before.tick and one.tick and MOVING not in one.tick.lanes:
        at = before.at
        passes[-1] = merged(before, one)
        passes[-1].at = at
        return
    passes.append(one)
    while len(passes) > _LAST_TICKS and (passes[1].tick or passes[1].whole):
        at = _joint(passes)
        passes[at : at + 2] = [merged(passes[at], passes[at + 1])]


def _joint(passes: Sequence[Pass]) -> int:
    """The first pass and the next become one, unless registers answered last in the next.

    What stood before that answer, and what it said, are two reads of them.
    """
    answered = [number for number, one in enumerate(passes) if one.answers]
    return 1 if answered and answered[-1] == 1 else 0


def _special(node: Node) -> os.stat_result:
    """A device node: its mode holds its type, its content is `MAJOR:MINOR`."""
    major, _, minor = node.content.partition(b":")
    numbers = int(major), int(minor)
    return os.stat_result((node.mode, 0, 0, 1, 0, 0, 0, 0, 0, 0), {"st_rdev": os.makedev(*numbers)})


class ListingFs:
    """A listing that plays the part of a host; `advance` moves it to its next pass."""

    timed = False  # whether lines of its logs are of the clock by which it is read

    def __init__(self, listing: Listing, root: str) -> None:
        self.root = root
        self.listing = listing
        self.number = self._begin = 0
        self.unreadable: dict[str, str] = {}  # log (`kernel`, `monitor`) → why it cannot be read
        self._nodes: dict[str, Node] = {}
        self._folders: dict[str, dict[str, EntryKind]] = {"": {}}
        self.apply(listing.passes[0])

    @classmethod
    def open(cls, file: str) -> ListingFs:
        """The host in `file`."""
        return cls(read_listing(file), file)

    def lines(self, word: Log) -> LineSource:
        """Its lines of a log, as the host goes from pass to pass."""
        return ListedLines(self, word)

    @property
    def until_next(self) -> float | None:
        """Seconds from this pass to the next; None at the last."""
        later = self.listing.passes[self.number + 1 :]
        return max(later[0].at - self.listing.passes[self.number].at, 0.0) if later else None

    @property
    def recorded(self) -> set[str] | None:
        """The lanes that were read since `go_on` was asked last; None: it has no ticks.

        To be due is not to be read: registers are asked aside and answer when they do.
        """
        passes = self.listing.passes[self._begin : self.number + 1]
        ticks = [one.tick for one in passes if one.tick]
        if not ticks:
            return None
        lanes = {lane for tick in ticks for lane in tick.lanes} - {REGISTERS}
        return lanes | {REGISTERS} if any(one.answers for one in passes) else lanes

    def go_on(self) -> float | None:
        """Go to the next pass, by ticks to the last; seconds between, None if this is the last."""
        begin, self._begin = self.listing.passes[self.number].at, self.number + 1
        passed = None
        while self.advance():
            now = self.listing.passes[self.number]
            passed = max(now.at - begin, 0.0)
            if now.tick is None:
                break
        return passed

    def advance(self) -> bool:
        """Go on to the next pass; False after the last."""
        if self.number + 1 >= len(self.listing.passes):
            return False
        self.number += 1
        self.apply(self.listing.passes[self.number])
        return True

    def apply(self, one: Pass) -> None:
        """Let what a pass saw come to be."""
        if one.whole:
            self._nodes.clear()
            self._folders = {"": {}}
        for path, node in one.nodes.items():
            if node.error == errno.ENOENT:
                self._forget(path)
            elif node.names is not None:
                self._list(path, node.names)
            else:
                self._nodes[path] = node
                self._register(path, node.kind)
        for path, patches in one.patches.items():
            before = self._nodes.get(path)
            if before is not None:
                content = patched(before.content, patches)
                self._nodes[path] = replace(before, content=content)

    def _list(self, path: str, names: Folder) -> None:
        """A directory holds this and nothing else."""
        for name in self._folders.get(path, {}).keys() - names.keys():
            self._forget(f"{path}/{name}" if path else name)
        self._register(path, "dir")
        self._folders[path] = dict(names)
        for name, kind in names.items():
            if kind == "dir":
                self._folders.setdefault(f"{path}/{name}" if path else name, {})

    def _forget(self, path: str) -> None:
        """Take away what stands at a path and below, and the folders that held nothing else."""
        for name in list(self._folders.get(path, ())):
            self._forget(f"{path}/{name}")
        self._nodes.pop(path, None)
        while path:
            folder, _, name = path.rpartition("/")
            names = self._folders.get(folder, {})
            names.pop(name, None)
            if names or not folder:
                return
            self._folders.pop(folder, None)
            path = folder

    def _register(self, path: str, kind: EntryKind) -> None:
        if kind == "dir":
            self._folders.setdefault(path, {})
        while path:
            folder, _, name = path.rpartition("/")
            known = folder in self._folders
            self._folders.setdefault(folder, {})[name] = kind
            if known:
                return
            path, kind = folder, "dir"

    def _find(self, path: str) -> Node:
        node = self._nodes.get(path)
        if node is None or node.kind == "dir":
            number = errno.EISDIR if path in self._folders else errno.ENOENT
            raise OSError(number, os.strerror(number), path)
        return node

    def read(self, path: str, limit: int = DEFAULT_LIMIT) -> bytes:
        """At most `limit` bytes from the start of a file."""
        node = self._find(path)
        number = errno.ELOOP if node.kind == "link" else node.error
        if number:
            raise OSError(number, os.strerror(number), path)
        return node.content[:limit]

    def entries(self, path: str) -> list[Entry]:
        """What a directory holds, sorted by name."""
        if path not in self._folders:
            node = self._nodes.get(path)
            number = (node.error or errno.ENOTDIR) if node else errno.ENOENT
            raise OSError(number, os.strerror(number), path)
        return sorted(Entry(name, kind) for name, kind in self._folders[path].items())

    def readlink(self, path: str) -> str:
        """Where a link points, as written."""
        node = self._nodes.get(path) if path in self._folders else self._find(path)
        if node is None or node.kind != "link":
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        return node.target

    def lstat(self, path: str) -> os.stat_result:
        """Mode of the path; a listing knows no owner."""
        if path in self._folders:
            mode = stat.S_IFDIR | 0o755
        else:
            node = self._find(path)
            if node.kind == "other":
                return _special(node)
            mode = node.mode | (stat.S_IFLNK if node.kind == "link" else stat.S_IFREG)
        return os.stat_result((mode, 0, 0, 1, 0, 0, 0, 0, 0, 0))

    def file_set(
        self,
        base: str,
        names: Sequence[str],
        limits: Sequence[int],
        *,
        keep: bool,  # noqa: ARG002 - nothing to keep in memory
    ) -> EachFile:
        """Files below `base`."""
        return EachFile(self, [resolve_link("", f"{base}/{name}") for name in names], limits)
