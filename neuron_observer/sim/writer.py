"""A simulated host in a directory: written once, then moved in place.

Readers keep descriptors, so a file is rewritten where it is. It never holds half a value: a text
of another length is first brought to its length with newlines, then written in one call.
Only a directory that is empty or that carries our mark is ever touched.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.errors import InputError, UsageError
from neuron_observer.sim.host_tree import KMSG

if TYPE_CHECKING:
    from neuron_observer.sim.fs import SimulatedFs
    from neuron_observer.sim.tree import Leaf, Tree

MARK = ".neuron-simulation"
TOPS = ("sys", "proc", "dev")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_OLD = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class DirectoryWriter:
    """Keeps a directory like a simulated host."""

    def __init__(self, host: SimulatedFs, root: str) -> None:
        self._host = host
        self._root = claim(root)
        self._written: dict[str, bytes] = {}
        self._tree: Tree | None = None
        self._logged = 0  # sequence number of the next kernel line
        self.files = 0  # files written or rewritten by the last call

    def write(self) -> None:
        """Bring the directory to the present: files that came, went or changed.

        Raises InputError if the directory cannot be written any more.
        """
        try:
            self._write()
        except OSError as error:
            raise InputError(
                f"{error.filename or self._root}: {error.strerror}",
                remedy="The simulation needs its directory to itself; start it again.",
            ) from error

    def _write(self) -> None:
        tree, self.files = self._host.tree, 0
        if tree is not self._tree:
            self._remove(tree)
            self._create(tree)
            self._tree = tree
        for path, before in self._written.items():
            render = tree.leaves[path].render
            content = render() if render else b""
            if content != before:
                rewrite(self._at(path), before, content, tree.leaves[path].mode)
                self._written[path] = content
                self.files += 1
        self._log()

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}"

    def _create(self, tree: Tree) -> None:
        for folder in sorted(tree.folders):
            Path(self._at(folder)).mkdir(exist_ok=True)
        for path, leaf in tree.leaves.items():
            known = self._tree.leaves.get(path) if self._tree else None
            if known is None or _form(known) != _form(leaf):
                self._make(path, leaf)

    def _make(self, path: str, leaf: Leaf) -> None:
        where = Path(self._at(path))
        where.unlink(missing_ok=True)
        if leaf.kind == "link":
            where.symlink_to(leaf.target)
            return
        content = leaf.render() if leaf.render else b""
        descriptor = os.open(where, _NEW, 0o600)
        try:
            os.write(descriptor, content)
            os.fchmod(descriptor, leaf.mode)
        finally:
            os.close(descriptor)
        if path != KMSG:
            self._written[path] = content
        self.files += 1

    def _remove(self, tree: Tree) -> None:
        """Files, then folders, that are no more."""
        before = self._tree
        if before is None:
            return
        for path in before.leaves.keys() - tree.leaves.keys():
            Path(self._at(path)).unlink(missing_ok=True)
            self._written.pop(path, None)
        for folder in sorted(before.folders.keys() - tree.folders.keys(), reverse=True):
            with suppress(FileNotFoundError):
                Path(self._at(folder)).rmdir()

    def _log(self) -> None:
        """Append what the kernel printed to the file that plays /dev/kmsg."""
        records, oldest = self._host.records(self._logged)
        if records:
            with Path(self._at(KMSG)).open("ab") as log:
                log.write(b"".join(record + b"\n" for record in records))
            self._logged = max(self._logged, oldest) + len(records)


def _form(leaf: Leaf) -> tuple[str, int, str]:
    """What needs a new file if it differs; the content is looked at in every round."""
    return leaf.kind, leaf.mode, leaf.target


def rewrite(where: str, before: bytes, content: bytes, mode: int) -> None:
    """Replace a file's bytes in place; at any instant it holds a whole value."""
    try:
        descriptor = os.open(where, _OLD)
    except PermissionError:  # a read-only file of an ordinary user
        Path(where).chmod(mode | 0o200)
        descriptor = os.open(where, _OLD)
        Path(where).chmod(mode)
    try:
        if len(content) > len(before):
            os.pwrite(descriptor, b"\n" * (len(content) - len(before)), len(before))
        os.pwrite(descriptor, content.ljust(len(before), b"\n"), 0)
        if len(content) < len(before):
            os.ftruncate(descriptor, len(content))
    finally:
        os.close(descriptor)


def claim(root: str) -> str:
    """The real path of a directory that a simulation may fill: ours, empty or not there.

    Raises UsageError for `/` and whatever holds files of others, InputError if it cannot be made.
    """
    path = Path(root).resolve()
    remedy = "Name an empty directory, or one that does not exist."
    if path == Path("/"):
        raise UsageError("a simulation is never written to /", remedy=remedy)
    try:
        path.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in path.iterdir()}
    except OSError as error:
        raise InputError(f"{root}: {error.strerror}", remedy=remedy) from error
    strange = names - {MARK, *TOPS}
    if names and (MARK not in names or strange):
        raise UsageError(f"{root}: is not empty and no simulation of ours", remedy=remedy)
    for name in names - {MARK}:
        place = path / name
        if place.is_symlink() or os.path.ismount(place) or not place.is_dir():
            raise UsageError(f"{place}: was not made by a simulation", remedy=remedy)
        shutil.rmtree(place)
    (path / MARK).write_text(json.dumps({"schema": "neuron-observer/simulation/1"}) + "\n")
    return str(path)
