"""What a tape hears of files: of those that are read together, and of those read one by one."""

from __future__ import annotations

import errno
from collections import deque
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from neuron_observer.picking import picker
from neuron_observer.recording import encoding, filters
from neuron_observer.recording.patches import BLOCK, narrowed, patches, weight
from neuron_observer.sources.form import Patch, patched

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from neuron_observer.recording.patches import Patches
    from neuron_observer.sources.filesets import Content

LARGE = 2048  # bytes of a file of which only what changed is held
PORTION = 1 << 15  # bytes of a row, about
LOOSE = 0  # the number of the set of files that are read one by one
_BYTES = {bytes}


class Changed:
    """Some files of a set are not what they were: their bytes, or an errno."""

    __slots__ = ("contents", "files", "positions")

    def __init__(self, files: Files, positions: Sequence[int], contents: Sequence[Told]) -> None:
        self.files = files
        self.positions = positions
        self.contents = contents


# Files of a set were read (monotonic), and it took so many seconds: a hundred times a second.
Took: TypeAlias = "tuple[FileSetTape, float, float]"
# What else is heard is a row already.
Heard: TypeAlias = "str | Took | Changed"
Told: TypeAlias = "bytes | int | Patches"  # of a file: its bytes, an errno, or what changed in it


class Files(Protocol):
    """A set of files, as rows."""

    def rows(self, positions: list[int], contents: list[Told]) -> Iterable[str]:
        """Rows of contents that are new."""
        ...


class Hearing:
    """What was heard since the last tick; any thread adds."""

    def __init__(self) -> None:
        self.items: deque[Heard] = deque()
        self.weight = 0  # how many files changed, about

    def add(self, row: str) -> None:
        """A row, as it will stand."""
        self.items.append(row)
        self.weight += 1 + len(row) // 64

    def take(self) -> list[Heard]:
        """All of it; nothing is lost that comes meanwhile."""
        return [self.items.popleft() for _ in range(len(self.items))]


def process_of(path: str) -> str:
    """The process that a path is of; empty if it is of none."""
    if not path.startswith("proc/"):
        return ""
    pid = path[5:].partition("/")[0]
    return pid if pid.isdecimal() else ""


def content_or_errno(content: Content) -> bytes | int:
    """An error holds the stack that it was raised in: its number is enough."""
    return (content.errno or errno.EIO) if isinstance(content, OSError) else content


def _fixed(content: bytes | bytearray | int) -> bytes | int:
    return bytes(content) if isinstance(content, bytearray) else content


class FileSetTape:
    """Hears what becomes of files that are read together; their reader says what changed."""

    def __init__(
        self,
        hearing: Hearing,
        number: int,
        base: str,
        names: Sequence[str],
        *,
        lean: bool = False,
        known: bool = False,
    ) -> None:
        """`known`: its table stands elsewhere."""
        self.number, self.base, self.names = number, base, names
        self.retired = False
        self._known = known
        self._hearing = hearing
        self._last: Sequence[Content] = ()  # the reader holds them too
        self._errors: dict[int, int] = {}  # by position, as far as they were told
        cpu = lean and base == "proc" and "stat" in names
        self._lean = names.index("stat") if cpu else -1
        self._lean_stat = filters.LeanStat()
        self._positions: Sequence[int] = ()
        self._pick = picker(())

    def took(self, read_at: float, seconds: float) -> tuple[float, float]:
        """They were read."""
        self._hearing.items.append((self, read_at, seconds))
        return read_at, seconds

    def changed(self, positions: Sequence[int], contents: Sequence[Content]) -> None:
        """Some of them are not what they were."""
        self._last = contents
        if positions is not self._positions:  # most often the same ones change again
            self._positions, self._pick = positions, picker(positions)
        picked: Sequence[Told] = self._pick(contents)
        if self._lean >= 0 or set(map(type, picked)) != _BYTES:
            picked = [self._held(position, contents[position]) for position in positions]
        self._hearing.weight += len(picked)
        self._hearing.items.append(Changed(self, positions, picked))

    def _held(self, position: int, content: Content) -> bytes | int:
        found = content_or_errno(content)
        if isinstance(found, bytes) and position == self._lean:
            return self._lean_stat(found)
        return found

    def retire(self) -> None:
        """Nobody reads them any more."""
        self.retired = True

    def rows(self, positions: list[int], contents: list[Told]) -> list[str]:
        """Rows of contents; of errors those that were not told yet."""
        if self.retired:
            return []
        found: list[str] = []
        if self._errors or set(map(type, contents)) != _BYTES:
            positions, contents = self._without_errors(positions, contents, found)
        if contents:
            texts = cast("list[bytes]", contents)  # no errno is left
            found += encoding.set_rows(self.number, self._path, positions, texts)
        return found

    def _without_errors(
        self, positions: list[int], contents: list[Told], told: list[str]
    ) -> tuple[list[int], list[Told]]:
        """What could be read; rows of errors that are new are added to `told`."""
        where: list[int] = []
        read: list[Told] = []
        for position, one in zip(positions, contents, strict=True):
            if isinstance(one, bytes):
                self._errors.pop(position, None)
                where.append(position)
                read.append(one)
            elif isinstance(one, int) and self._errors.get(position) != one:
                self._errors[position] = one
                told.append(encoding.error_row(self._path(position), one))
        return where, read

    def table(self) -> str:
        """The row that says which they are."""
        return encoding.row("files", [self.number, self.base, list(self.names)])

    def standing(self) -> list[str]:
        """Rows of all of them."""
        self._errors.clear()
        held: list[Told] = [self._held(n, one) for n, one in enumerate(self._last)]
        rows = self.rows(list(range(len(held))), held)
        return rows if self._known else [self.table(), *rows]

    def _path(self, position: int) -> str:
        name = self.names[position]
        return f"{self.base}/{name}" if self.base else name


class LooseTape:
    """Hears what is read one by one, and compares it itself."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._positions: dict[str, int] = {}
        self._paths: dict[int, str] = {}  # of what waits to be packed, too
        self._last: dict[int, bytes | bytearray | int] = {}
        self._told: set[int] = set()  # positions of which a recording knows the path
        self._next = 0

    def hear(self, path: str, content: bytes | int) -> None:
        """A file was read, or could not be."""
        position = self._positions.get(path)
        if content in (errno.ENOENT, errno.ESRCH) and path.startswith("proc/"):
            if position is not None:  # of a process that is gone nothing is held
                self._drop(path)
                self._hearing.add(encoding.gone_row(path))
            return
        if position is None:
            position = self._positions[path] = self._next
            self._paths[position] = path
            self._next += 1
        elif self._last[position] == content:
            return
        before = self._last.get(position)
        self._last[position] = content
        told: Told = content
        if isinstance(content, bytes) and len(content) > LARGE:
            if isinstance(before, bytes | bytearray) and len(before) == len(content):
                told = patches(before, content)
            blocks = weight(told) if isinstance(told, tuple) else len(content) // BLOCK
            self._hearing.weight += blocks
        self._hearing.weight += 1
        self._hearing.items.append(Changed(self, (position,), (told,)))

    def pieces(self, path: str, size: int, pieces: Iterable[Patch]) -> bool:
        """Parts of a file were read; False if the whole was not, or had another length."""
        position = self._positions.get(path, -1)
        last = self._last.get(position)
        if last is None or isinstance(last, int) or len(last) != size:
            return False
        if isinstance(last, bytes):  # once: then it is changed where it stands
            last = self._last[position] = bytearray(last)
        told: list[tuple[int, bytes]] = []
        for offset, piece in pieces:
            told += narrowed(last, offset, piece)
            last[offset : offset + len(piece)] = piece
        if told:
            self._hearing.weight += 1 + weight(told)
            self._hearing.items.append(Changed(self, (position,), (tuple(told),)))
        return True

    def forget(self, below: str) -> None:
        """Nothing stands below a folder any more."""
        for path in [path for path in self._positions if path.startswith(below)]:
            self._drop(path)

    def holds_only(self, folder: str, names: Collection[str]) -> None:
        """A folder was listed: of what it no longer holds nothing is held."""
        begin = len(folder) + 1
        inside = [path for path in self._positions if path.startswith(f"{folder}/")]
        for path in inside:
            if "/" not in path[begin:] and path[begin:] not in names:
                self._drop(path)
                self._hearing.add(encoding.gone_row(path))

    def forget_ended(self, alive: Collection[str]) -> None:
        """Nothing is held of processes that are not there."""
        for path in list(self._positions):
            pid = process_of(path)
            if pid and pid not in alive:
                self._drop(path)

    def _drop(self, path: str) -> None:
        position = self._positions.pop(path)
        del self._last[position]
        self._told.discard(position)

    def rows(self, positions: Sequence[int], contents: Sequence[Told]) -> Iterator[str]:
        """Rows of contents that are new, made as they are taken; the last word of each counts."""
        read: dict[int, bytes] = {}
        for position, one in zip(positions, contents, strict=True):
            path = self._paths[position]
            if isinstance(one, int):
                read.pop(position, None)
                yield encoding.error_row(path, one)
                continue
            if isinstance(one, tuple):
                if position in read:
                    read[position] = patched(read[position], map(Patch._make, one))
                else:
                    yield encoding.patch_row(LOOSE, position, one)
                continue
            if position not in self._told:
                self._told.add(position)
                yield encoding.row("file", [LOOSE, position, path])
            read[position] = one
        for some in _portions(read):
            path_of = self._paths.__getitem__
            yield from encoding.set_rows(LOOSE, path_of, some, [read[one] for one in some])

    def standing(self) -> Iterator[str]:
        """Rows of all of them as they are now; of those that are gone the paths are forgotten."""
        self._paths = {position: path for path, position in self._positions.items()}
        self._told = set()
        contents = [_fixed(self._last[position]) for position in self._paths]
        table = encoding.row("files", [LOOSE, "", []])
        return chain([table], self.rows([*self._paths], contents))


def _portions(read: Mapping[int, bytes]) -> Iterator[list[int]]:
    """Few at a time, if they are large: as text they take several times their bytes."""
    some: list[int] = []
    size = 0
    for position, content in read.items():
        some.append(position)
        size += len(content)
        if size >= PORTION:
            yield some
            some, size = [], 0
    if some:
        yield some
