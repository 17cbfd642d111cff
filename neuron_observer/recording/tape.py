"""The tape: hears what one reader reads of a host, tick by tick, and hands it on in packed chunks.

It compares nothing that the reader has compared already: of files that are read in sets it is told
which changed. What it holds itself is what has not been packed yet, and the little that is read one
by one (processes, links, directories), so that it can say at any time what stands: the base.
"""

from __future__ import annotations

import errno
import stat
import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from neuron_observer.recording import encoding, filters
from neuron_observer.recording.heard import (
    LOOSE,
    Changed,
    FileSetTape,
    LooseTape,
    Took,
    content_or_errno,
    process_of,
)
from neuron_observer.sources.hostfs import Entry

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from neuron_observer.recording.heard import Files
    from neuron_observer.sources.filesets import Content
    from neuron_observer.sources.hostfs import Space
    from neuron_observer.sources.lines import LineSource
    from neuron_observer.sources.replay import Log
    from neuron_observer.sources.workers import Answer, Request

Heard: TypeAlias = "str | Took | Changed"

MOST_WAITING = 4096  # changes that are not packed yet
LONGEST_WAITING = 15.0  # seconds of ticks that are not packed yet
_ROW = 64  # bytes of a row that weigh as much as a file that changed
_GONE = (errno.ENOENT, errno.ESRCH)
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
        self._heard: deque[Heard] = deque()  # of the tick at hand; any thread adds
        self._lock = threading.Lock()  # of what stands
        self._ticks: list[_Tick] = []
        self._waiting = 0
        self._structure: list[str] | None = None  # rows, while the host is looked at anew
        self._packed_structure = b""
        self._sets: dict[tuple[str, tuple[str, ...]], FileSetTape] = {}  # by folder and names
        self._next_set = LOOSE + 1
        self._loose = LooseTape(self._heard)
        self._rows: dict[tuple[str, str], str] = {}  # path and kind → what stands
        self._processes: set[str] = set()
        self._logs: dict[str, str] = {}
        self._periods: dict[str, float] = {}

    # What is heard.

    def read(self, path: str, content: Content) -> None:
        """A file was read one by one."""
        found = content_or_errno(content)
        if isinstance(found, bytes):
            held = filters.held(path, found, self._scrub)
            if held is None:
                return
            found = held
        if self._structure is not None:
            if isinstance(found, bytes):
                self._structure.append(encoding.file_row(path, found))
            elif found != errno.ENOENT:
                self._structure.append(encoding.error_row(path, found))
            return
        with self._lock:
            self._loose.hear(path, found)

    def listed(self, path: str, entries: Sequence[Entry] | OSError) -> None:
        """A directory was listed."""
        if isinstance(entries, OSError):
            self._stands(path, "dir", entries)
        elif path == "proc" or path.endswith("/fd"):
            self.named(path, [name for name, _ in entries])
        else:
            if path in filters.SCRUBBED_FOLDERS:
                entries = [Entry(self._scrub(name), kind) for name, kind in entries]
            self._stands(path, "dir", encoding.folder_row(path, entries))

    def named(self, path: str, names: Sequence[str] | OSError) -> None:
        """A directory of /proc was listed: the processes, or the descriptors of one."""
        if isinstance(names, OSError):
            self._stands(path, "dir", names)
        elif path == "proc":
            self._note_processes({name for name in names if name.isdecimal()})
        elif path.endswith("/fd"):
            self._note_descriptors(path, names)

    def _note_processes(self, now: set[str]) -> None:
        with self._lock:
            begun, ended = now - self._processes, self._processes - now
            self._processes = now
            for pid in ended:
                self._loose.forget(f"proc/{pid}/")
                below = f"proc/{pid}/"
                for key in [key for key in self._rows if key[0].startswith(below)]:
                    del self._rows[key]
                self._heard.append(encoding.gone_row(f"proc/{pid}"))
        for pid in sorted(begun, key=int):
            self._heard.append(_process_row(pid))

    def _note_descriptors(self, folder: str, names: Sequence[str]) -> None:
        """Of a table of descriptors the devices only (`linked`); those that are closed are gone."""
        known = [path for path, kind in list(self._rows) if kind == "link"]
        here = set(names)
        for path in known:
            above, _, name = path.rpartition("/")
            if above == folder and name not in here:
                self._gone(path)
        self._rows.pop((folder, "error"), None)

    def linked(self, path: str, target: str | OSError) -> None:
        """A link was read; of descriptors only devices are held."""
        if isinstance(target, OSError):
            self._stands(path, "link", target)
        elif "/fd/" in path and "/dev/neuron" not in target:
            self._gone(path)
        else:
            self._stands(path, "link", encoding.row("host", [path, "l", target]))

    def stood(self, path: str, status: os.stat_result | OSError) -> None:
        """It was asked what stands at a path."""
        if isinstance(status, OSError):
            self._stands(path, "stat", status)
            return
        device = status.st_rdev if stat.S_ISCHR(status.st_mode) else 0
        fields = [path, status.st_mode, device, status.st_ino, status.st_ctime_ns or 0]
        self._stands(path, "stat", encoding.row("stat", fields))

    def space(self, mount: str, space: Space | None) -> None:
        """It was asked how full a file system is."""
        told = (None, None) if space is None else (space.size, space.available)
        self._stands(mount, "space", encoding.row("space", [mount, *told]))

    def answered(self, request: Request, answer: Answer) -> None:
        """A device's firmware answered."""
        files = self._sets.get((request.folder, tuple(request.names)))
        if files is not None:
            fields = [files.number, answer.read_at, list(answer.seconds)]
            self._heard.append(encoding.row("answer", fields))

    def lines(self, word: Log, source: LineSource, lines: Sequence[bytes]) -> None:
        """A log was polled."""
        counts = source.counts
        told = {count: value for count in _COUNTS if (value := getattr(counts, count))}
        named = {"name": source.name, "error": source.error, **told}
        row = encoding.row("log", [word, named])
        if self._logs.get(word) != row:
            self._logs[word] = row
            self._heard.append(row)
        for line in lines:
            self._heard.append(encoding.row(word, [0, self._scrub(encoding.text_of(line))]))

    def files(self, base: str, names: Sequence[str]) -> FileSetTape:
        """These will be read together, again and again."""
        key = base, tuple(names)
        with self._lock:
            if key in self._sets:
                self._sets.pop(key).retire()
            files = FileSetTape(self._heard, self._next_set, base, key[1], lean=self._lean)
            self._sets[key] = files
            self._next_set += 1
        if self._structure is not None:
            self._structure.append(files.table())
        else:
            self._heard.append(files.table())
        return files

    @contextmanager
    def around(self) -> Iterator[None]:
        """Meanwhile the host is looked at anew; of what stood below /sys nothing counts."""
        self.flush()  # while it is known which files were which
        with self._lock:
            for files in self._sets.values():
                files.retire()
            self._sets.clear()
            self._loose.forget("sys/")
            self._rows = {
                key: row for key, row in self._rows.items() if not key[0].startswith("sys/")
            }
            self._structure = []
        try:
            yield
        finally:
            rows, self._structure = self._structure, None
            self._packed_structure = encoding.packed(rows)
            if self._ticks or self._heard:  # not the first look
                self._heard.append(encoding.gone_row("sys"))
                self._heard.extend(rows)

    def _stands(self, path: str, kind: str, found: str | OSError) -> None:
        """A row, or why there is none: told if it is not what it was."""
        if isinstance(found, OSError):
            number = found.errno or errno.EIO
            if number in _GONE and (self._structure is not None or path.startswith("proc/")):
                self._gone(path)
                return
            kind, found = "error", encoding.error_row(path, number)
        if self._structure is not None:
            self._structure.append(found)
            return
        with self._lock:
            if kind != "error":
                self._rows.pop((path, "error"), None)
            if self._rows.get((path, kind)) == found:
                return
            self._rows[path, kind] = found
        self._heard.append(found)

    def _gone(self, path: str) -> None:
        with self._lock:
            known = [key for key in self._rows if key[0] == path]
            for key in known:
                del self._rows[key]
        if known:
            self._heard.append(encoding.gone_row(path))

    # What becomes of it.

    def tick(self, monotonic: float, wall: float, lanes: Collection[str]) -> None:
        """All that was heard since the last one belongs to this turn of the reader.

        What fails here must not hit the reader: it costs what waited, and is in `error`.
        """
        try:
            self._tick(monotonic, wall, lanes)
        except Exception as error:  # noqa: BLE001 - whatever it is, the host is read on
            self.error = f"{type(error).__name__}: {error}"
            self._ticks, self._waiting = [], 0

    def _tick(self, monotonic: float, wall: float, lanes: Collection[str]) -> None:
        heard: list[Heard] = []
        while self._heard:
            one = self._heard.popleft()
            heard.append(one)
            if isinstance(one, str):
                self._waiting += 1 + len(one) // _ROW
            elif isinstance(one, Changed):
                self._waiting += len(one.positions)
        self._ticks.append(_Tick(monotonic, wall, tuple(lanes), heard))
        begin = self._ticks[0].monotonic
        if self._waiting >= MOST_WAITING or monotonic - begin >= LONGEST_WAITING:
            self.flush()

    def periods(self, periods: Mapping[str, float]) -> None:
        """Seconds by lane, from the next tick on."""
        if periods != self._periods:
            self._periods = dict(periods)
            self._heard.append(encoding.row("periods", self._periods))

    @property
    def waiting_bytes(self) -> int:
        """What is not packed yet takes about so much."""
        return self._waiting * 100

    def flush(self) -> None:
        """Hand on what waits, packed."""
        ticks, self._ticks, self._waiting = self._ticks, [], 0
        if ticks:
            rows = [row for tick in ticks for row in _tick_rows(tick)]
            begin, end = ticks[0].monotonic, ticks[-1].monotonic
            self._take(Chunk(encoding.packed(rows), begin, end, len(ticks)))

    def _forget_ended(self) -> None:
        """What was heard of processes that had ended by then."""
        for path, kind in list(self._rows):
            pid = process_of(path)
            if pid and pid not in self._processes:
                del self._rows[path, kind]
        self._loose.forget_ended(self._processes)

    def base(self) -> bytes:
        """All that stands, packed; call it when nothing waits."""
        with self._lock:
            self._forget_ended()
            rows = [*self._rows.values(), *map(_process_row, sorted(self._processes, key=int))]
            rows += [*self._logs.values(), *self._loose.standing()]
            for files in self._sets.values():
                rows += [files.table(), *files.standing()]
        if self._periods:
            rows.append(encoding.row("periods", self._periods))
        return encoding.packed(["#base"]) + self._packed_structure + encoding.packed(rows)


def _tick_rows(tick: _Tick) -> Iterator[str]:
    yield encoding.row("tick", [tick.monotonic, tick.wall, list(tick.lanes)])
    took: list[Took] = []
    changes: dict[Files, tuple[list[int], list[bytes | int]]] = {}
    for one in tick.heard:
        if isinstance(one, str):
            yield one
        elif isinstance(one, Took):
            took.append(one)
        else:
            positions, contents = changes.setdefault(one.files, ([], []))
            positions += one.positions
            contents += one.contents
    for files, (positions, contents) in changes.items():
        yield from files.rows(positions, contents)
    if took:
        told = [[files.number, at, seconds] for files, at, seconds in took if not files.retired]
        yield encoding.row("took", told)


def _process_row(pid: str) -> str:
    return encoding.row("host", [f"proc/{pid}", "d", ""])
