"""The state directory: the database, its lock, and what was set aside."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from neuron_observer.errors import HostError

NAME = "state.db"
LOCK = "lock"
_BESIDE = ("", "-wal", "-shm")  # the files of one database
MOST_ASIDE = 4  # corrupt or of another machine; newer ones are never removed


class HeldError(HostError):
    """Another daemon uses the directory."""


class Directory:
    """A state directory; it is made if it is not there, the folders above it are not.

    A path of which more is missing is a slip, or of a disk that is not mounted (yet): what is
    written there would be lost to sight once it is. systemd makes its StateDirectory whole.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.database = self.path / NAME
        self._lock: IO[bytes] | None = None

    def hold(self) -> None:
        """Take it for this process. `HeldError` if another has it, `OSError` if it cannot be."""
        if self._lock is not None:
            return
        self.path.mkdir(mode=0o750, exist_ok=True)
        lock = _opened(self.path / LOCK)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = (lock.read(32) or b"unknown").decode("ascii", "replace").strip()
            lock.close()
            raise HeldError(
                f"{self.path}: another daemon uses this directory (pid {holder})",
                remedy="One daemon a directory: stop the other, or give this one its own --state.",
            ) from None
        with suppress(OSError):  # read-only, full: the number only helps a person
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n".encode())
            lock.flush()
        self._lock = lock

    def release(self) -> None:
        """Let others have it."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def set_aside(self, why: str) -> Path:
        """Rename the database, with what belongs to it, to a name that is free."""
        target = self._free(f"{NAME}.{why}")
        for end in reversed(_BESIDE):  # the database last: until then it is complete
            with suppress(FileNotFoundError):
                Path(f"{self.database}{end}").rename(f"{target}{end}")
        self._prune()
        return target

    def _free(self, name: str) -> Path:
        number = 1
        while (self.path / f"{name}.{number}").exists():
            number += 1
        return self.path / f"{name}.{number}"

    def _prune(self) -> None:
        aside = [
            one
            for one in self.path.glob(f"{NAME}.*")
            if not one.name.endswith(_BESIDE[1:]) and ".newer" not in one.name
        ]
        aside.sort(key=lambda one: one.stat().st_mtime)
        for old in aside[:-MOST_ASIDE]:
            for end in _BESIDE:
                Path(f"{old}{end}").unlink(missing_ok=True)

    def bytes(self) -> int:
        """What the database takes on the disk, with its log."""
        sizes = 0
        for end in _BESIDE[:2]:
            with suppress(OSError):
                sizes += Path(f"{self.database}{end}").stat().st_size
        return sizes

    def log_bytes(self) -> int:
        """What of it is the write-ahead log."""
        with suppress(OSError):
            return Path(f"{self.database}-wal").stat().st_size
        return 0


def _opened(path: Path) -> IO[bytes]:
    """The lock file; on a read-only disk as it is there."""
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640), "r+b")
    except OSError:
        return path.open("rb")
