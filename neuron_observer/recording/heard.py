"""What a tape hears of files: of those that are read together, and of those read one by one."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, NamedTuple, Protocol

from neuron_observer.recording import encoding, filters

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Collection, Iterable, Sequence

    from neuron_observer.sources.filesets import Content

LOOSE = 0  # the number of the set of files that are read one by one


class Took(NamedTuple):
    """Files of a set were read (monotonic), and it took so many seconds."""

    files: FileSetTape
    read_at: float
    seconds: float


class Changed(NamedTuple):
    """Some files of a set are not what they were: their bytes, or an errno."""

    files: Files
    positions: Sequence[int]
    contents: Sequence[bytes | int]


class Files(Protocol):
    """A set of files, as rows."""

    def rows(self, positions: Sequence[int], contents: Sequence[bytes | int]) -> list[str]:
        """Rows of contents that are new."""
        ...


def process_of(path: str) -> str:
    """The process that a path is of; empty if it is of none."""
    if not path.startswith("proc/"):
        return ""
    pid = path[5:].partition("/")[0]
    return pid if pid.isdecimal() else ""


def content_or_errno(content: Content) -> bytes | int:
    """An error holds the stack that it was raised in: its number is enough."""
    return (content.errno or errno.EIO) if isinstance(content, OSError) else content


class FileSetTape:
    """Hears what becomes of files that are read together; their reader says what changed."""

    def __init__(
        self,
        heard: deque[str | Took | Changed],
        number: int,
        base: str,
        names: Sequence[str],
        *,
        lean: bool,
    ) -> None:
        self.number, self.base, self.names = number, base, names
        self.retired = False
        self._heard = heard
        self._last: Sequence[Content] = ()  # the reader holds them too
        self._errors: dict[int, int] = {}  # by position, as far as they were told
        cpu = base == "proc" and "stat" in names and lean
        self._lean = names.index("stat") if cpu else -1
        self._lean_stat = filters.LeanStat()

    def took(self, read_at: float, seconds: float) -> tuple[float, float]:
        """They were read."""
        self._heard.append(Took(self, read_at, seconds))
        return read_at, seconds

    def changed(self, positions: Sequence[int], contents: Sequence[Content]) -> None:
        """Some of them are not what they were."""
        self._last = contents
        picked = [self._held(position, contents[position]) for position in positions]
        self._heard.append(Changed(self, positions, picked))

    def _held(self, position: int, content: Content) -> bytes | int:
        if type(content) is bytes and position != self._lean:
            return content
        found = content_or_errno(content)
        return found if isinstance(found, int) else self._lean_stat(found)

    def retire(self) -> None:
        """Nobody reads them any more."""
        self.retired = True

    def rows(self, positions: Sequence[int], contents: Sequence[bytes | int]) -> list[str]:
        """Rows of contents; of errors those that were not told yet."""
        if self.retired:
            return []
        found: list[str] = []
        read: list[tuple[int, bytes]] = []
        for position, one in zip(positions, contents, strict=True):
            if isinstance(one, bytes):
                read.append((position, one))
            elif self._errors.get(position) != one:
                self._errors[position] = one
                found.append(encoding.error_row(self._path(position), one))
        if self._errors:
            for position, _ in read:
                self._errors.pop(position, None)
        if read:
            where, texts = [one for one, _ in read], [one for _, one in read]
            found += encoding.set_rows(self.number, self._path, where, texts)
        return found

    def table(self) -> str:
        """The row that says which they are."""
        return encoding.row("files", [self.number, self.base, list(self.names)])

    def standing(self) -> list[str]:
        """Rows of all of them."""
        self._errors.clear()
        held = [self._held(position, one) for position, one in enumerate(self._last)]
        return self.rows(range(len(held)), held)

    def _path(self, position: int) -> str:
        name = self.names[position]
        return f"{self.base}/{name}" if self.base else name


class LooseTape:
    """Hears what is read one by one, and compares it itself."""

    def __init__(self, heard: deque[str | Took | Changed]) -> None:
        self._heard = heard
        self._positions: dict[str, int] = {}
        self._paths: dict[int, str] = {}  # of what waits to be packed, too
        self._last: dict[int, bytes | int] = {}
        self._told: set[int] = set()  # positions of which a recording knows the path
        self._next = 0

    def hear(self, path: str, content: bytes | int) -> None:
        """A file was read, or could not be."""
        position = self._positions.get(path)
        if content in (errno.ENOENT, errno.ESRCH) and path.startswith("proc/"):
            if position is not None:  # of a process that is gone nothing is held
                self.forget(path)
                self._heard.append(encoding.gone_row(path))
            return
        if position is None:
            position = self._positions[path] = self._next
            self._paths[position] = path
            self._next += 1
        elif self._last[position] == content:
            return
        self._last[position] = content
        self._heard.append(Changed(self, (position,), (content,)))

    def forget(self, below: str) -> None:
        """Nothing stands below a path any more."""
        for path in [path for path in list(self._positions) if path.startswith(below)]:
            self._drop(path)

    def _drop(self, path: str) -> None:
        position = self._positions.pop(path)
        del self._last[position]
        self._told.discard(position)

    def forget_ended(self, alive: Collection[str]) -> None:
        """Nothing is held of processes that are not there."""
        for path in list(self._positions):
            pid = process_of(path)
            if pid and pid not in alive:
                self._drop(path)

    def rows(self, positions: Iterable[int], contents: Iterable[bytes | int]) -> list[str]:
        """Rows of contents that are new; the last word of each counts."""
        found: list[str] = []
        read: dict[int, bytes] = {}
        for position, one in zip(positions, contents, strict=True):
            path = self._paths[position]
            if isinstance(one, int):
                read.pop(position, None)
                found.append(encoding.error_row(path, one))
                continue
            if position not in self._told:
                self._told.add(position)
                found.append(encoding.row("file", [LOOSE, position, path]))
            read[position] = one
        if read:
            found += encoding.set_rows(
                LOOSE, self._paths.__getitem__, list(read), list(read.values())
            )
        return found

    def standing(self) -> list[str]:
        """Rows of all of them; of those that are gone the paths are forgotten."""
        positions = dict(self._positions)
        self._paths = {position: path for path, position in positions.items()}
        self._told = set()
        known = [(position, self._last[position]) for position in self._paths]
        return [
            encoding.row("files", [LOOSE, "", []]),
            *self.rows([one for one, _ in known], [one for _, one in known]),
        ]
