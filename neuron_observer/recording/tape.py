"""The tape: hears what one reader reads of a host, tick by tick, and hands it on in packed chunks.

It compares nothing that the reader has compared already: of files that are read in sets it is told
which changed. What it holds itself is what has not been packed yet, and the little that is read one
by one (processes, links, directories), so that it can say at any time what stands: the base.
"""

from __future__ import annotations

import errno
import stat
import threading
from contextlib import contextmanager
from itertools import chain
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.recording import encoding, filters
from neuron_observer.recording.heard import (
    LOOSE,
    Changed,
    FileSetTape,
    Hearing,
    LooseTape,
    content_or_errno,
)
from neuron_observer.recording.standing import Standing, row_of
from neuron_observer.sources.hostfs import Entry

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from neuron_observer.recording.heard import Files, Heard, Told
    from neuron_observer.sources.filesets import Content
    from neuron_observer.sources.form import Patch
    from neuron_observer.sources.hostfs import Space
    from neuron_observer.sources.lines import LineSource
    from neuron_observer.sources.replay import Log
    from neuron_observer.sources.workers import Answer, Request

MOST_WAITING = 4096  # changes that are not packed yet
LONGEST_WAITING = 15.0  # seconds of ticks that are not packed yet
_CHANGE_BYTES = 100  # what a change takes until it is packed, about
# what a path gives because of what stands there: a folder is no link, a link is no file
_OF_THE_KIND = (errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENOTDIR)
_COUNTS = ("cut", "dropped", "overruns", "restarts", "errors")


class Chunk(NamedTuple):
    """Ticks, packed."""

    content: bytes
    begin: float  # monotonic, of the first
    end: float  # of the last
    ticks: int


class _Tick(NamedTuple):
    monotonic: float
    wall: float
    lanes: tuple[str, ...]
    heard: list[Heard]


class HostTape:
    """Hears a host (`sources.tapped.Tape`); `take` is given chunk after chunk.

    `lean` leaves out what nothing of ours reads and a machine with 192 processors has much of;
    `scrub` is asked about every text that may tell whose host it is.
    """

    def __init__(
        self,
        take: Callable[[Chunk], None],
        *,
        lean: bool = False,
        scrub: Callable[[str], str] = str,
    ) -> None:
        self.error = ""  # why ticks were lost
        self._take, self._lean, self._scrub = take, lean, scrub
        self._hearing = Hearing()
        self._lock = threading.Lock()  # of what stands
        self._ticks: list[_Tick] = []
        self._structure: list[str] | None = None  # rows, while the host is looked at anew
        self._packed_structure = b""
        self._sets: dict[tuple[str, tuple[str, ...]], FileSetTape] = {}  # by folder and names
        self._next_set = LOOSE + 1
        self._loose = LooseTape(self._hearing)
        self._standing = Standing(self._hearing)
        self._logs: dict[str, tuple[object, ...]] = {}
        self._periods: dict[str, float] = {}

    # What is heard.

    def read(self, path: str, content: Content) -> None:
        """A file was read one by one."""
        found = content_or_errno(content)
        if found in _OF_THE_KIND:
            return
        if isinstance(found, bytes):
            held = filters.held(path, found, self._scrub)
            if held is None:
                return
            found = held
        if self._structure is None:
            with self._lock:
                self._loose.hear(path, found)
        elif isinstance(found, bytes):
            self._structure.append(encoding.file_row(path, found))
        elif found != errno.ENOENT:
            self._structure.append(encoding.error_row(path, found))

    def pieces(self, path: str, size: int, pieces: Sequence[Patch]) -> bool:
        """Of a file of this size these pieces were read; False if what it holds is not known."""
        with self._lock:
            return self._structure is None and self._loose.pieces(path, size, pieces)

    def listed(self, path: str, entries: Sequence[Entry] | OSError) -> None:
        """A directory was listed."""
        if isinstance(entries, OSError):
            self._stands(path, "dir", entries)
        elif path == "proc" or path.endswith("/fd"):
            self.named(path, [name for name, _ in entries])
        else:
            if path in filters.SCRUBBED_FOLDERS:
                entries = [Entry(self._scrub(name), kind) for name, kind in entries]
            if self._stands(path, "dir", entries):
                with self._lock:
                    self._loose.holds_only(path, {name for name, _ in entries})

    def named(self, path: str, names: Sequence[str] | OSError) -> None:
        """A directory of /proc was listed: the processes, or the descriptors of one."""
        if isinstance(names, OSError):
            self._stands(path, "dir", names)
            return
        with self._lock:
            if path == "proc":
                now = set(filter(str.isdecimal, names))
                for pid in self._standing.listed_processes(now):
                    self._loose.forget(f"proc/{pid}/")
            elif path.endswith("/fd"):
                self._standing.descriptors(path, names)

    def linked(self, path: str, target: str | OSError) -> None:
        """A link was read; of descriptors only devices are held."""
        if isinstance(target, str) and "/fd/" in path and "/dev/neuron" not in target:
            with self._lock:
                self._standing.gone(path)
        else:
            self._stands(path, "link", target)

    def stood(self, path: str, status: os.stat_result | OSError) -> None:
        """It was asked what stands at a path."""
        if isinstance(status, OSError):
            self._stands(path, "stat", status)
            return
        device = status.st_rdev if stat.S_ISCHR(status.st_mode) else 0
        changed = status.st_ctime_ns or 0  # None in memory
        self._stands(path, "stat", (status.st_mode, device, status.st_ino, changed))

    def space(self, mount: str, space: Space | None) -> None:
        """It was asked how full a file system is."""
        self._stands(mount, "space", tuple(space) if space else (None, None))

    def _stands(self, path: str, kind: str, found: object) -> bool:
        """An answer, or why there is none: told if it is not what it was, as is then said."""
        if isinstance(found, OSError):
            if found.errno in _OF_THE_KIND:
                return False
            kind, found = "error", found.errno or errno.EIO
        if self._structure is None:
            with self._lock:
                return self._standing.stands(path, kind, found)
        if found != errno.ENOENT:
            self._structure.append(row_of(path, kind, found))
        return False

    def answered(self, request: Request, answer: Answer) -> None:
        """A device's firmware answered."""
        files = self._sets.get((request.folder, tuple(request.names)))
        if files is not None:
            fields = [files.number, answer.read_at, list(answer.seconds)]
            self._hearing.add(f"#answer {fields}")

    def lines(self, word: Log, source: LineSource, lines: Sequence[bytes]) -> None:
        """A log was polled."""
        counts = source.counts
        told = (
            *(source.name, source.error, counts.cut, counts.dropped, counts.overruns),
            *(counts.restarts, counts.errors),
        )
        if self._logs.get(word) != told:
            self._logs[word] = told
            self._hearing.add(_log_row(word, told))
        for line in lines:
            text = self._scrub(encoding.text_of(line))
            self._hearing.add(f"#{word} [0,{quoted(text)}]")

    def files(self, base: str, names: Sequence[str]) -> FileSetTape:
        """These will be read together, again and again."""
        key = base, tuple(names)
        with self._lock:
            if key in self._sets:
                self._sets.pop(key).retire()
            known = self._structure is not None
            files = FileSetTape(
                self._hearing, self._next_set, base, key[1], lean=self._lean, known=known
            )
            self._sets[key] = files
            self._next_set += 1
        if self._structure is not None:
            self._structure.append(files.table())
        else:
            self._hearing.add(files.table())
        return files

    @contextmanager
    def around(self) -> Iterator[None]:
        """Meanwhile the host is looked at anew; of what stood below /sys nothing counts."""
        first = not self._ticks and not self._packed_structure
        self.flush()  # while it is known which files were which
        with self._lock:
            for files in self._sets.values():
                files.retire()
            self._sets.clear()
            self._loose.forget("sys/")
            self._standing.forget_tree()
            self._structure = []
        try:
            yield
        finally:
            rows, self._structure = self._structure, None
            self._packed_structure = encoding.packed(rows)
            if not first:
                self._hearing.add(encoding.gone_row("sys"))
                for row in rows:
                    self._hearing.add(row)

    def periods(self, periods: Mapping[str, float]) -> None:
        """Seconds by lane, from the next tick on."""
        if periods != self._periods:
            self._periods = dict(periods)
            self._hearing.add(encoding.row("periods", self._periods))

    # What becomes of it.

    def tick(self, monotonic: float, wall: float, lanes: Collection[str]) -> None:
        """All that was heard since the last one belongs to this turn of the reader.

        What fails here must not hit the reader: it costs what waited, and is in `error`.
        """
        try:
            self._ticks.append(_Tick(monotonic, wall, tuple(lanes), self._hearing.take()))
            waited = monotonic - self._ticks[0].monotonic
            if self._hearing.weight >= MOST_WAITING or waited >= LONGEST_WAITING:
                self.flush()
        except Exception as error:  # noqa: BLE001 - whatever it is, the host is read on
            self.error = f"{type(error).__name__}: {error}"
            self._ticks, self._hearing.weight = [], 0

    @property
    def waiting_bytes(self) -> int:
        """What is not packed yet takes about so much."""
        return self._hearing.weight * _CHANGE_BYTES

    def flush(self) -> None:
        """Hand on what waits, packed."""
        ticks, self._ticks, self._hearing.weight = self._ticks, [], 0
        if ticks:
            rows = chain.from_iterable(map(_tick_rows, ticks))
            begin, end = ticks[0].monotonic, ticks[-1].monotonic
            self._take(Chunk(encoding.packed(rows), begin, end, len(ticks)))

    def base(self) -> tuple[bytes, ...]:
        """All that stands, packed; call it when nothing waits. The second part often stays."""
        with self._lock:
            self._loose.forget_ended(self._standing.processes)
            standing, loose = [*self._standing.rows()], self._loose.standing()
            rest = [row for files in self._sets.values() for row in files.standing()]
        rest += [_log_row(word, told) for word, told in self._logs.items()]
        if self._periods:
            rest.append(encoding.row("periods", self._periods))
        packed = encoding.packed(chain(standing, loose, rest))
        return encoding.packed(["#base"]), self._packed_structure, packed


def _log_row(word: str, told: tuple[object, ...]) -> str:
    name, error, *counts = told
    counted = {count: value for count, value in zip(_COUNTS, counts, strict=True) if value}
    return encoding.row("log", [word, {"name": name, "error": error, **counted}])


def _tick_rows(tick: _Tick) -> Iterator[str]:
    yield encoding.tick_row(tick.monotonic, tick.wall, tick.lanes)
    took: list[tuple[float, float, list[int]]] = []
    changes: dict[Files, tuple[list[int], list[Told]]] = {}
    last_at = last_seconds = None  # sets that are read together have one time, the same object
    for one in tick.heard:
        if isinstance(one, tuple):
            files, read_at, seconds = one
            if files.retired:
                continue
            if read_at is last_at and seconds is last_seconds:
                took[-1][2].append(files.number)
            else:
                took.append((read_at, seconds, [files.number]))
                last_at, last_seconds = read_at, seconds
        elif isinstance(one, Changed):
            positions, contents = changes.setdefault(one.files, ([], []))
            positions += one.positions
            contents += one.contents
        else:
            yield one
    for changed, (positions, contents) in changes.items():
        yield from changed.rows(positions, contents)
    for read_at, seconds, numbers in took:
        yield encoding.took_row(numbers, read_at, seconds)
