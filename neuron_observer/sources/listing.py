"""A host tree in one file: listings and captures, read back as a host root.

A listing has one line a file: kind, path below /sys, content, separated by tabs. Kind is the octal
mode of a file, `l` for a link (content is its target) or `d` for an empty directory; the mode of
a device node holds its type (`020666`), and its content is `MAJOR:MINOR`;
content is a JSON string. Lines that begin with `#` are comments; a capture keeps in them what a
plain listing has no place for (see `CAPTURE` below), so every capture is also a listing.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import stat
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from neuron_observer.errors import InputError
from neuron_observer.sources.filesets import EachFile
from neuron_observer.sources.hostfs import DEFAULT_LIMIT, Entry, EntryKind, resolve_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.sources.lines import LineSource

# First words of the comment lines that mean something, each followed by a JSON value:
#   #capture {"schema": "neuron-observer/capture/1", …}     the first line
#   #at 12.5                                                seconds after the start; a new pass
#   #read [0.000123, 0.000009]   offset and duration in seconds of reading the next row
#   #error ["sys/…", "0400", "EACCES"]   a leaf that could not be read; ENOENT: it is gone
#   #host ["proc/stat", "0444", "cpu …"]                    a file outside /sys
#   #kernel [12.5, "6,1234,5678,-;…"]                       a line of the kernel log
#   #monitor [12.5, "{…}"]                                  a line of neuron-monitor
CAPTURE = ("capture", "at", "read", "error", "host", "kernel", "monitor")
_ERRNO = {name: number for number, name in errno.errorcode.items()}


@dataclass(slots=True)
class Node:
    """What stands at one path."""

    kind: EntryKind
    mode: int = 0o444
    content: bytes = b""
    error: int = 0  # errno of reading it
    target: str = ""


@dataclass(slots=True)
class Pass:
    """Everything that one pass over a host saw, on top of the passes before."""

    at: float = 0.0
    nodes: dict[str, Node] = field(default_factory=dict)
    kernel: list[str] = field(default_factory=list)
    monitor: list[str] = field(default_factory=list)


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


def encode(content: bytes) -> str:
    """Any bytes as a JSON string: UTF-8, and lone surrogates for what is not."""
    return json.dumps(content.decode("utf-8", "surrogateescape"))


def read_listing(file: str) -> Listing:
    """Read a listing or capture, plain or gzip; InputError names the line that is wrong."""
    path = Path(file)
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        with (
            gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8")
        ) as rows:
            return _parse(file, rows)
    except (EOFError, zlib.error, UnicodeDecodeError, gzip.BadGzipFile) as error:
        raise InputError(f"{file}: not a whole listing: {error}") from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error


def _parse(file: str, rows: Iterable[str]) -> Listing:
    listing = Listing({}, [Pass()])
    for number, row in enumerate(rows, start=1):
        try:
            _take(listing, row.rstrip("\n"))
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise InputError(
                f"{file}:{number}: no row of a listing: {row[:60]!r}",
                remedy="A row is: kind, path below /sys, JSON string, separated by tabs.",
            ) from error
    if not any(one.nodes for one in listing.passes):
        raise InputError(f"{file}: the listing is empty")
    return listing


def _take(listing: Listing, row: str) -> None:
    latest = listing.passes[-1]
    if row.startswith("#"):
        word, _, value = row[1:].partition(" ")
        if word in CAPTURE:
            _comment(listing, latest, word, json.loads(value))
        return
    kind, path, content = row.split("\t", 2)
    latest.nodes[f"sys/{path}"] = _node(kind, json.loads(content) if kind != "d" else "")


def _comment(listing: Listing, latest: Pass, word: str, value: Any) -> None:
    if word == "capture":
        listing.header = dict(value)
    elif word == "at" and float(value) > 0:
        listing.passes.append(Pass(float(value)))
    elif word == "error":
        path, mode, name = map(_text, value)
        latest.nodes[path] = Node("file", int(mode, 8), error=_ERRNO[name])
    elif word == "host":
        path, mode, text = map(_text, value)
        latest.nodes[path] = _node(mode, text)
    elif word == "kernel":
        latest.kernel.append(_text(value[1]))
    elif word == "monitor":
        latest.monitor.append(_text(value[1]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _node(kind: str, content: Any) -> Node:
    if kind == "d":
        return Node("dir", 0o755)
    text = _text(content)
    if kind == "l":
        return Node("link", 0o777, target=text)
    if not kind.isdecimal():
        raise ValueError(f"{kind!r:.40} is no mode")
    mode = int(kind, 8)
    return Node(
        "other" if stat.S_IFMT(mode) else "file", mode, text.encode("utf-8", "surrogateescape")
    )


def _special(node: Node) -> os.stat_result:
    """A device node: its mode holds its type, its content is `MAJOR:MINOR`."""
    major, _, minor = node.content.partition(b":")
    numbers = int(major), int(minor)
    return os.stat_result((node.mode, 0, 0, 1, 0, 0, 0, 0, 0, 0), {"st_rdev": os.makedev(*numbers)})


class ListingFs:
    """A listing that plays the part of a host; `advance` moves it to its next pass."""

    def __init__(self, listing: Listing, root: str) -> None:
        self.root = root
        self.listing = listing
        self.number = 0
        self.unreadable: dict[str, str] = {}  # log (`kernel`, `monitor`) → why it cannot be read
        self._nodes: dict[str, Node] = {}
        self._folders: dict[str, dict[str, EntryKind]] = {"": {}}
        self._apply(listing.passes[0])

    @classmethod
    def open(cls, file: str) -> ListingFs:
        """The host in `file`."""
        return cls(read_listing(file), file)

    def lines(self, word: Literal["kernel", "monitor"]) -> LineSource:
        """Lines that it holds, handed on as it goes from pass to pass."""
        from neuron_observer.sources.replay import ListedLines  # noqa: PLC0415 - on request

        return ListedLines(self, word)

    @property
    def until_next(self) -> float | None:
        """Seconds from this pass to the next; None at the last."""
        later = self.listing.passes[self.number + 1 :]
        return max(later[0].at - self.listing.passes[self.number].at, 0.0) if later else None

    def advance(self) -> bool:
        """Go on to the next pass; False after the last."""
        if self.number + 1 >= len(self.listing.passes):
            return False
        self.number += 1
        self._apply(self.listing.passes[self.number])
        return True

    def _apply(self, one: Pass) -> None:
        for path, node in one.nodes.items():
            if node.error == errno.ENOENT:
                self._forget(path)
            else:
                self._nodes[path] = node
                self._register(path, node.kind)

    def _forget(self, path: str) -> None:
        """Take a file away, and the folders that held nothing else."""
        self._nodes.pop(path, None)
        while path:
            folder, _, name = path.rpartition("/")
            names = self._folders.get(folder, {})
            names.pop(name, None)
            if names or not folder:
                return
            del self._folders[folder]
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
