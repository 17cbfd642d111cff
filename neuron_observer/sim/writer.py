"""A simulated host in a directory: written once, then moved in place.

Readers keep descriptors, so a file is rewritten where it is. It never holds half a value: a text
of another length is first brought to its length with newlines, then written in one call. The first
time all files are made aside, so nobody takes half a host for a whole one.
Only a directory that is empty or that carries our mark is ever touched, by one simulation at once.
"""

from __future__ import annotations

import errno
import fcntl
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
TOPS = ("dev", "proc", "sys")  # in this order they appear
ASIDE = ".neuron-simulation.new"  # where they are made
_ANOTHER_TOO = "name an empty directory, or one that does not exist."
_ANOTHER = _ANOTHER_TOO.capitalize()
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ROOM = "A node is up to 15,000 small files, some 60 MiB: make room, or name another directory."
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_OLD = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW


class DirectoryWriter:
    """Keeps a directory like a simulated host."""

    def __init__(self, host: SimulatedFs, root: str) -> None:
        self._host = host
        self._root, self._lock = claim(root)
        self._place = self._root  # where files are made
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
                f"{error.filename or self._root}: {error.strerror}", remedy=_remedy(error)
            ) from error

    def close(self) -> None:
        """Leave the directory to others."""
        os.close(self._lock)

    def _write(self) -> None:
        tree, self.files = self._host.tree, 0
        if self._tree is None:
            self._appear(tree)
        elif tree is not self._tree:
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
        return f"{self._place}/{path}"

    def _appear(self, tree: Tree) -> None:
        """Make everything aside, then bring it in."""
        self._place = f"{self._root}/{ASIDE}"
        Path(self._place).mkdir(exist_ok=True)
        self._create(tree)
        for top in TOPS:
            with suppress(FileNotFoundError):
                Path(self._at(top)).rename(f"{self._root}/{top}")
        Path(self._place).rmdir()
        self._place = self._root

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
    """Replace a file's bytes in place; at any instant it holds a whole value.

    A read that the truncation at the end overtakes may see zeros behind the value.
    """
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


def claim(root: str) -> tuple[str, int]:
    """The real path of a directory that a simulation may fill, and the descriptor that holds it.

    It is ours, empty or not there. What an earlier simulation left is removed.
    Raises UsageError for `/`, whatever holds files of others and a directory that another
    simulation keeps moving; InputError if it cannot be made.
    """
    path = Path(root).resolve()
    if path == Path("/"):
        raise UsageError("a simulation is never written to /", remedy=_ANOTHER)
    try:
        path.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in path.iterdir()}
        _refuse_strange(path, names)
        lock = _hold(path)
        for name in names - {MARK}:
            shutil.rmtree(path / name)
    except OSError as error:
        remedy = _ROOM if error.errno in _FULL else _ANOTHER
        raise InputError(f"{path}: {error.strerror}", remedy=remedy) from error
    return str(path), lock


def _refuse_strange(path: Path, names: set[str]) -> None:
    if names and (MARK not in names or names - {MARK, ASIDE, *TOPS}):
        raise UsageError(f"{path}: is not empty and no simulation of ours", remedy=_ANOTHER)
    for name in names - {MARK}:
        place = path / name
        if place.is_symlink() or os.path.ismount(place) or not place.is_dir():
            raise UsageError(f"{place}: was not made by a simulation", remedy=_ANOTHER)


def _hold(path: Path) -> int:
    """Mark the directory and lock it; the lock goes with the process, however that ends."""
    lock = os.open(path / MARK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.pwrite(lock, (json.dumps({"schema": "neuron-observer/simulation/1"}) + "\n").encode(), 0)
    except BlockingIOError as error:
        os.close(lock)
        raise UsageError(
            f"{path}: another simulation keeps it moving", remedy="End that one, or " + _ANOTHER_TOO
        ) from error
    except OSError:
        os.close(lock)
        raise
    return lock


def _remedy(error: OSError) -> str:
    """What to do when the directory cannot be written any more."""
    if error.errno in _FULL:
        return _ROOM
    return "The simulation needs its directory to itself; start it again."
