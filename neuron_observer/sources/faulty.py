"""A host whose files misbehave on purpose: EACCES, EIO, ENODEV, reads that block or change.

A directory cannot show these to root, so tests and drills use this second implementation of the
port. It wraps another host and changes what stands below given paths.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from neuron_observer.sources.filesets import EachFile
from neuron_observer.sources.hostfs import DEFAULT_LIMIT, Entry, HostFs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from threading import Event


@dataclass(slots=True)
class Fault:
    """What happens at a path and below it. `contents` come in turn, the last one stays."""

    error: int = 0  # errno of every read and listing
    contents: Iterator[bytes] | None = None  # what successive reads give
    content: bytes = b""  # what the last of them gave
    block: Event | None = None  # a read waits until it is set
    then: Callable[[], None] | None = None  # called at every read, e.g. to move a clock
    hidden: bool = False  # not there: ENOENT, and not listed by its folder


@dataclass(slots=True)
class FaultyFs:
    """`host` with `faults` by path prefix; the longest prefix counts."""

    host: HostFs
    faults: dict[str, Fault] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """The root of the wrapped host."""
        return self.host.root

    @root.setter
    def root(self, value: str) -> None:
        self.host.root = value

    def _fault(self, path: str) -> Fault | None:
        matching = [p for p in self.faults if path == p or path.startswith(p.rstrip("/") + "/")]
        return self.faults[max(matching, key=len)] if matching else None

    def _meet(self, path: str) -> Fault | None:
        fault = self._fault(path)
        if fault is None:
            return None
        if fault.then:
            fault.then()
        if fault.block:
            fault.block.wait()
        number = 2 if fault.hidden else fault.error
        if number:
            raise OSError(number, os.strerror(number), path)
        return fault

    def _look(self, path: str) -> None:
        fault = self._fault(path)
        if fault and fault.hidden:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def read(self, path: str, limit: int = DEFAULT_LIMIT) -> bytes:
        """The wrapped host's bytes, or what the fault makes of them."""
        fault = self._meet(path)
        if fault and fault.contents:
            fault.content = next(fault.contents, fault.content)
            return fault.content[:limit]
        return self.host.read(path, limit)

    def entries(self, path: str) -> list[Entry]:
        """The wrapped host's entries without the hidden ones."""
        fault = self._fault(path)
        if fault and (fault.hidden or fault.error):
            number = 2 if fault.hidden else fault.error
            raise OSError(number, os.strerror(number), path)
        return [
            entry
            for entry in self.host.entries(path)
            if not ((below := self.faults.get(f"{path}/{entry.name}")) and below.hidden)
        ]

    def readlink(self, path: str) -> str:
        """The wrapped host's link, if it is not hidden."""
        self._look(path)
        return self.host.readlink(path)

    def lstat(self, path: str) -> os.stat_result:
        """The wrapped host's mode, if it is not hidden."""
        self._look(path)
        return self.host.lstat(path)

    def file_set(
        self,
        base: str,
        names: Sequence[str],
        limits: Sequence[int],
        *,
        keep: bool,  # noqa: ARG002 - a fault acts at the read, kept or not
    ) -> EachFile:
        """Files below `base`, each with its fault."""
        return EachFile(self, [f"{base}/{name}" for name in names], limits)
