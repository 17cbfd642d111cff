"""Files that are read together become a batch: bytes are compared first, parsed only if changed."""

from __future__ import annotations

import errno
from itertools import compress
from operator import gt, ne
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from neuron_observer.collectors.decoding import decoder
from neuron_observer.collectors.guards import TIMELESS
from neuron_observer.collectors.layouts import Rows, Sources, once
from neuron_observer.model import Batch, Column, Layout, Missing, Why
from neuron_observer.parsers.sysfs import COUNT_MAX, counts
from neuron_observer.picking import picker
from neuron_observer.sources.filesets import KeptFiles
from neuron_observer.sources.hostfs import DEFAULT_LIMIT, WitnessedHost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from neuron_observer.catalogue.spec import MetricSpec, Source
    from neuron_observer.clock import Clock
    from neuron_observer.model import Cell, Place
    from neuron_observer.picking import Pick
    from neuron_observer.sources.filesets import Content
    from neuron_observer.sources.hostfs import HostFs, Witness

COUNT_BYTES = 32  # enough for any 64-bit number; a longer answer is no number
CPU_STAT_BYTES = 1 << 18  # /proc/stat has a line a processor and a word an interrupt
_DENIED = {errno.EACCES, errno.EPERM}
_REASONS = {
    errno.ENOENT: "the file is gone",
    errno.ENODEV: "the device is gone",
    errno.ELOOP: "a link where a file should be",
    errno.EISDIR: "a directory where a file should be",
}
# What a file gives that was there before: its driver went, or moved it.
GONE = frozenset(Missing(Why.FAILED, _REASONS[number]) for number in (errno.ENOENT, errno.ENODEV))
_TOO_LONG = Missing(Why.FAILED, "longer than its form allows")


class BatchName(NamedTuple):
    """Who reads a batch, how often, of which device (None: of the node)."""

    collector: str
    lane: str
    device: int | None = None


class Target(NamedTuple):
    """A cell that comes from a file."""

    spec: MetricSpec
    source: Source
    place: Place
    limit: int | None  # the largest value that can be true here


class FileRead(NamedTuple):
    """One file of a batch and the cells that come from it."""

    path: str  # below the batch's base
    targets: tuple[Target, ...]


class Absent(NamedTuple):
    """A cell that no file gives, and why."""

    spec: MetricSpec
    place: Place
    reason: Missing


# From the cells as parsed and the wall clock to the cells as published.
Guard: TypeAlias = "Callable[[Layout, list[Cell], float], list[Cell]]"


def source_prefix(base: str) -> str:
    """How a source below `base` is named: below /sys without it, elsewhere in full."""
    if base == "sys":
        return ""
    return f"{base.removeprefix('sys/')}/" if base.startswith("sys/") else f"/{base}/"


def missing_for(error: OSError) -> Missing:
    """Why a file that cannot be read gives no value."""
    if error.errno in _DENIED:
        return Missing(Why.DENIED, errno.errorcode.get(error.errno or 0, "denied"))
    name = errno.errorcode.get(error.errno or 0, "error")
    return Missing(Why.FAILED, _REASONS.get(error.errno or 0, name))


def make_layout(files: Sequence[FileRead], absent: Sequence[Absent], below: str) -> Layout:
    """Rows by metric, then by place; `below` is the base as a source names it."""
    rows: dict[str, list[tuple[Place, str]]] = {}
    for file in files:
        for target in file.targets:
            part = target.source.part
            path = f"{file.path}#{part}" if part else file.path
            rows.setdefault(target.spec.id, []).append((target.place, path))
    for cell in absent:
        rows.setdefault(cell.spec.id, []).append((cell.place, ""))
    columns: dict[str, Column] = {}
    paths: list[str] = []
    for metric, places in rows.items():
        columns[metric] = Column(metric, len(paths), once(tuple([place for place, _ in places])))
        paths += [path for _, path in places]
    return Layout(columns, Sources(below, paths), Rows(columns))


class _Counted(NamedTuple):
    """Files that changed together, and those among them that hold one count."""

    changed: list[int]
    contents: Pick
    largest: list[int]  # that each may hold
    rows: tuple[int, ...]
    cells: Pick  # of the rows
    others: list[int]


_NOTHING = _Counted([], picker(()), [], (), picker(()), [])


class FileBatch:
    """One lane of one device (or of the node): its files, its layout, its last cells."""

    def __init__(
        self,
        name: BatchName,
        host: HostFs,
        base: str,
        files: Sequence[FileRead],
        *,
        absent: Sequence[Absent] = (),
        keep: bool = False,
        guard: Guard | None = None,
    ) -> None:
        self.name = name
        self.layout = make_layout(files, absent, source_prefix(base))
        self.paths = once(tuple(file.path for file in files))
        self.base = base
        index = self.layout.rows
        self._largest = once(tuple(map(_largest_count, files)))
        self._decoders = once(tuple(decoder(file) for file in files))
        rows = [tuple([index[t.spec.id, t.place] for t in file.targets]) for file in files]
        self._first_row = once(tuple([some[0] for some in rows]))
        self._rows = {number: some for number, some in enumerate(rows) if len(some) > 1}
        self.limits = once(tuple(_size(file) for file in files))
        self._files = host.file_set(base, self.paths, self.limits, keep=keep)
        self._kept = self._files if isinstance(self._files, KeptFiles) else None
        self._fetched: list[Content] = []
        self._times = 0.0, 0.0, 0.0  # begin, seconds and wall clock of fetching
        self._counted = _NOTHING
        self._guard = guard
        self._witness: Witness | None = None
        if isinstance(host, WitnessedHost):
            self._witness = host.witness(base, self.paths)
        self._raw: list[Content] = [b"\xff unread"] * len(files)
        self._parsed: list[Cell] = [Missing(Why.NOT_YET)] * len(self.layout.sources)
        for cell in absent:
            self._parsed[index[cell.spec.id, cell.place]] = cell.reason
        self._published = self._parsed
        self._trusted: tuple[list[Cell], list[Cell]] = ([], [])  # as parsed, as guarded

    @property
    def kept(self) -> int:
        """Descriptors held between reads."""
        return self._files.kept

    def first_target(self, number: int) -> tuple[str, Place]:
        """The metric and place of the first cell that file `number` gives."""
        row = self._first_row[number]
        return next(
            (column.metric, column.places[row - column.start])
            for column in self.layout.columns.values()
            if 0 <= row - column.start < len(column.places)
        )

    def close(self) -> None:
        """Give the descriptors back."""
        self._files.close()

    def poll(self, clock: Clock) -> Batch:
        """Read all files once."""
        self.fetch(clock)
        return self.look()

    def fetch(self, clock: Clock) -> None:
        """Read all files once; `look` says what came."""
        begin = clock.monotonic()
        if self._kept:
            self._kept.fetch()
        else:
            self._fetched = self._files.read()
        wall = clock.wall() if self._guard else 0.0
        self._times = begin, clock.monotonic() - begin, wall

    def look(self) -> Batch:
        """Make a batch of what was fetched last."""
        raw = self._kept.contents() if self._kept else self._fetched
        return self.take(raw, *self._times)

    def take(self, raw: list[Content], read_at: float, seconds: float, wall: float) -> Batch:
        """Make a batch of what somebody else read from `paths`."""
        if self._witness:
            read_at, seconds = self._witness.took(read_at, seconds)
        before, untouched = self._published, self._published is self._parsed
        rows = self._parse(raw)
        cells = self._guarded(self._guard, wall) if self._guard else self._parsed
        if cells is before:  # not one byte is another
            return Batch(*self.name, self.layout, cells, read_at, seconds)
        if self._guard or not untouched:
            rows = tuple(compress(range(len(cells)), map(ne, cells, before)))
        self._published = cells
        pick = self._counted.cells if rows is self._counted.rows else picker(rows)
        moved = [*map(ne, pick(cells), pick(before))]
        # the same object as the time before tells that the same rows changed
        changed = rows if all(moved) else tuple(compress(rows, moved))
        return Batch(*self.name, self.layout, cells, read_at, seconds, changed)

    def _guarded(self, guard: Guard, wall: float) -> list[Cell]:
        """What a guard makes of what was parsed; asked again only if its answer may differ."""
        parsed, cells = self._trusted
        if parsed is not self._parsed or guard not in TIMELESS:
            cells = guard(self.layout, self._parsed, wall)
            self._trusted = self._parsed, cells
        return cells

    def _parse(self, raw: list[Content]) -> tuple[int, ...]:
        """Parse the files whose bytes are not what they were; the rows that they give."""
        before, self._raw = self._raw, raw
        changed = self._changed(before)
        if not changed:
            return ()
        if self._witness:
            self._witness.changed(changed, raw)
        self._parsed = self._parsed.copy()
        if self._counted.changed is not changed:
            self._counted = self._count(changed)
        _, contents, largest, rows, _, others = self._counted
        values = counts(contents(raw))
        if values is None or any(map(gt, values, largest)):
            return self._parse_each(changed, before)
        parsed = self._parsed
        for row, value in zip(rows, values, strict=True):
            parsed[row] = value
        return rows + self._parse_each(others, before) if others else rows

    def _changed(self, before: list[Content]) -> list[int]:
        """Which files' bytes are not what they were; the same list while the same ones change."""
        raw = self._raw
        if raw is before:
            return []
        told = self._kept.changed_since(before) if self._kept else None
        if told is not None:
            return told
        return [] if raw == before else list(compress(range(len(raw)), map(ne, raw, before)))

    def _count(self, changed: list[int]) -> _Counted:
        numbers = [number for number in changed if self._largest[number]]
        rows = tuple([self._first_row[number] for number in numbers])
        return _Counted(
            changed,
            picker(numbers),
            [self._largest[number] for number in numbers],
            rows,
            picker(rows),
            [number for number in changed if not self._largest[number]],
        )

    def _parse_each(self, numbers: Iterable[int], before: list[Content]) -> tuple[int, ...]:
        return tuple(
            row
            for number in numbers
            if not _same_error(self._raw[number], before[number])
            for row in self._decode(number)
        )

    def _decode(self, number: int) -> tuple[int, ...]:
        raw, rows = self._raw[number], self._rows.get(number) or (self._first_row[number],)
        if isinstance(raw, OSError):
            found: tuple[Cell, ...] = (missing_for(raw),) * len(rows)
        elif len(raw) >= self.limits[number]:
            found = (_TOO_LONG,) * len(rows)
        else:
            found = self._decoders[number](raw)
        for row, cell in zip(rows, found, strict=True):
            self._parsed[row] = cell
        return rows

    def missing(self, reason: Missing, read_at: float) -> Batch:
        """All cells missing for one reason: nothing was read."""
        self._published = [reason] * len(self.layout.sources)
        return Batch(*self.name, self.layout, self._published, read_at)


def _same_error(one: Content, other: Content) -> bool:
    return isinstance(one, OSError) and isinstance(other, OSError) and one.errno == other.errno


def _largest_count(file: FileRead) -> int:
    """The largest value of a file that holds one count; 0 for any other file."""
    target = file.targets[0]
    if len(file.targets) > 1 or target.source.format != "count":
        return 0
    return COUNT_MAX if target.limit is None else target.limit


_SIZES: dict[str, int] = {
    "count": COUNT_BYTES,
    "number": COUNT_BYTES,
    "heartbeat": COUNT_BYTES,
    "cpu_stat": CPU_STAT_BYTES,
}


def _size(file: FileRead) -> int:
    return _SIZES.get(file.targets[0].source.format, DEFAULT_LIMIT)
