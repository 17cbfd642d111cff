"""The dumps of a flight recorder on the disk: one file each, bounded in number of bytes."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.contract import instant
from neuron_observer.recording.encoding import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = "recordings"  # below the state directory
_UNFINISHED = ".part"
_NAME = re.compile(r"[^a-z0-9-]+")


class Dumps:
    """A folder of dumps; it is made when the first is written, the state directory is not."""

    def __init__(self, state: str | os.PathLike[str], limit: int) -> None:
        """`limit`: bytes that all of them may take; the oldest go first."""
        self.folder = Path(state, FOLDER)
        self.limit = limit

    def write(self, at: float, why: str, parts: Sequence[bytes]) -> Path:
        """A file of that time (wall clock), whole or not at all; OSError."""
        size = sum(map(len, parts))
        if size > self.limit:
            raise OSError(errno.EFBIG, f"{size} bytes, and all may take {self.limit}")
        self.folder.mkdir(mode=0o750, exist_ok=True)
        self._sweep(size)
        path = self._free(at, why)
        unfinished = path.with_name(path.name + _UNFINISHED)
        try:
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(path)
        except OSError:
            with suppress(OSError):
                unfinished.unlink()
            raise
        return path

    def _sweep(self, size: int) -> None:
        """Make room: what was never finished goes, then the oldest."""
        for left in self.folder.glob(f"*{SUFFIX}{_UNFINISHED}"):
            left.unlink(missing_ok=True)
        known = self.known()
        sizes = [path.stat().st_size for path in known]
        while known and sum(sizes) + size > self.limit:
            known.pop(0).unlink(missing_ok=True)
            sizes.pop(0)

    def known(self) -> list[Path]:
        """Those that are there, the oldest first."""
        try:
            return sorted(self.folder.glob(f"*{SUFFIX}"))
        except OSError:
            return []

    def bytes(self) -> int:
        """What they take."""
        total = 0
        for path in self.known():
            with suppress(OSError):
                total += path.stat().st_size
        return total

    def _free(self, at: float, why: str) -> Path:
        stamp = (instant(at) or "").replace(":", "").replace("-", "").partition(".")[0] + "Z"
        stem = f"{stamp}-{_NAME.sub('-', why.lower()).strip('-')[:60] or 'dump'}"
        path, number = self.folder / f"{stem}{SUFFIX}", 1
        while path.exists():
            number += 1
            path = self.folder / f"{stem}-{number}{SUFFIX}"
        return path
