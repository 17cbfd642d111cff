"""The files of a simulated host: what stands at each path, and what makes its content."""

from __future__ import annotations

import errno
import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.sources.hostfs import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.sources.hostfs import EntryKind

    Render = Callable[[], bytes]


class Leaf(NamedTuple):
    """A file or link."""

    kind: EntryKind  # file, link, other: a device node
    mode: int
    render: Render | None = None  # of a file
    target: str = ""  # of a link
    seconds: Callable[[], float] | None = None  # how long a read takes, where it can hang
    number: int = 0  # of a device node: st_rdev


class Tree:
    """Leaves by path from the root, and folders by what they hold."""

    def __init__(self) -> None:
        self.leaves: dict[str, Leaf] = {}
        self.folders: dict[str, dict[str, EntryKind]] = {"": {}}

    def add(self, path: str, leaf: Leaf) -> None:
        """A leaf, and the folders above it."""
        self.leaves[path] = leaf
        kind = leaf.kind
        while path:
            folder, _, name = path.rpartition("/")
            known = self.folders.get(folder)
            if known is not None:
                known[name] = kind
                return
            self.folders[folder] = {name: kind}
            path, kind = folder, "dir"

    def file(
        self,
        path: str,
        mode: int,
        render: Render,
        seconds: Callable[[], float] | None = None,
    ) -> None:
        """A file whose content is made at each read."""
        self.add(path, Leaf("file", mode, render, seconds=seconds))

    def text(self, path: str, mode: int, text: str) -> None:
        """A file that stays as it is."""
        content = text.encode()
        self.add(path, Leaf("file", mode, lambda: content))

    def link(self, path: str, target: str) -> None:
        """A symbolic link."""
        self.add(path, Leaf("link", 0o777, target=target))

    def folder(self, path: str) -> None:
        """A folder that may be empty."""
        parent, _, name = path.rpartition("/")
        if path not in self.folders:
            self.folders[path] = {}
            if parent not in self.folders:
                self.folder(parent)
            self.folders[parent][name] = "dir"

    def entries(self, path: str) -> list[Entry]:
        """What a folder holds, sorted by name."""
        if path not in self.folders:
            raise error(errno.ENOTDIR if path in self.leaves else errno.ENOENT, path)
        return sorted(Entry(name, kind) for name, kind in self.folders[path].items())

    def find(self, path: str) -> Leaf:
        """The leaf at a path."""
        leaf = self.leaves.get(path)
        if leaf is None:
            raise error(errno.EISDIR if path in self.folders else errno.ENOENT, path)
        return leaf


def error(number: int, path: str) -> OSError:
    """The error that the kernel would give."""
    return OSError(number, os.strerror(number), path)


def field(owner: object, name: str) -> Render:
    """A decimal number and a newline, from a field of an object."""
    return partial(_number, owner, name)


def _number(owner: Any, name: str) -> bytes:
    return b"%d\n" % getattr(owner, name)
