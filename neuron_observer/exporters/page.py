"""The Prometheus page: rendered once a frame, and of that only what changed.

Families are kept in runs of some hundred series. A run is written, and compressed, anew when one
of its series changed; the compressed runs of a page stand one after the other in one gzip member
(each ends at a byte and refers to nothing before it). What changes with every scrape, the frame's
age, stands at the end.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.exporters import judged
from neuron_observer.exporters.exposition import EOF, Format, Writer, head, lines
from neuron_observer.exporters.judged import STALE_AFTER
from neuron_observer.exporters.series import blocks, shown
from neuron_observer.model import Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.catalogue.families import Family
    from neuron_observer.catalogue.spec import Detail
    from neuron_observer.clock import Clock
    from neuron_observer.exporters.series import Sample
    from neuron_observer.feed import Feed
    from neuron_observer.model import Batch, Frame

_RUN = 300  # series in a run, at least
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\x04\xff"  # no name, no time, fastest, any system
_RAW = -zlib.MAX_WBITS  # deflate without a head of its own


class _Section:
    """A family on the page: its lines, from the blocks of several batches."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self._heads: dict[Format, bytes] = {}
        self.writers: list[Writer] = []
        self.lines = b""
        self.series = 0

    def head(self, form: Format) -> bytes:
        """What stands above the lines."""
        if form not in self._heads:
            self._heads[form] = head(self.family, form).encode()
        return self._heads[form]

    def write(self) -> None:
        """Take the lines of the blocks."""
        self.lines = "".join([writer.text for writer in self.writers]).encode()
        self.series = sum([writer.series for writer in self.writers])

    def set(self, samples: Sequence[Sample]) -> bool:
        """Take lines that are no block's; whether they differ."""
        before, self.lines = self.lines, lines(self.family, samples).encode()
        self.series = len(samples)
        return self.lines != before


class _Run:
    """Neighbouring families that are written and compressed together."""

    def __init__(self, sections: list[_Section]) -> None:
        self.sections = sections
        self.plain: dict[Format, bytes] = {}
        self.deflated: dict[Format, bytes] = {}

    def forget(self) -> None:
        """A line changed."""
        self.plain.clear()
        self.deflated.clear()

    def text(self, form: Format) -> bytes:
        """The lines of all families that have any."""
        if form not in self.plain:
            parts = [part for s in self.sections if s.lines for part in (s.head(form), s.lines)]
            self.plain[form] = b"".join(parts)
        return self.plain[form]

    def block(self, form: Format) -> bytes:
        """The same compressed, up to a full flush."""
        if form not in self.deflated:
            packer = zlib.compressobj(1, zlib.DEFLATED, _RAW)
            packed = packer.compress(self.text(form)) + packer.flush(zlib.Z_FULL_FLUSH)
            self.deflated[form] = packed
        return self.deflated[form]


class _Slot:
    """A batch on the page."""

    def __init__(self, batch: Batch, writers: list[tuple[Writer, _Section]]) -> None:
        self.layout = batch.layout
        self.writers = writers
        self.batch: Batch | None = None
        self.missing: Counter[Why] = Counter()

    def fits(self, batch: Batch) -> bool:
        """Whether a batch has the rows that this slot was made for."""
        if batch.layout is self.layout:
            return True
        same = batch.layout.columns == self.layout.columns
        if same:
            self.layout = batch.layout
        return same

    def update(self, batch: Batch) -> set[_Section]:
        """Write what differs from the batch before; the families that do."""
        if batch is self.batch:
            return set()
        self.batch = batch
        cells = batch.cells
        self.missing = judged.count_missing(cells)
        return {section for writer, section in self.writers if writer.update(cells)}


class _Done(NamedTuple):
    """A page without its end."""

    frame: Frame | None
    too_old: bool
    series: int


class Page:
    """The page of a feed. Any thread may render; one does at a time."""

    def __init__(
        self, feed: Feed, clock: Clock, *, detail: Detail = "core", stale_after: float = STALE_AFTER
    ) -> None:
        self.feed = feed
        self.clock = clock
        self.stale_after = stale_after
        self._shown = shown(detail)
        self._memory = judged.Memory()
        self._lock = Lock()
        self._slots: list[_Slot] = []
        self._sections: dict[str, _Section] = {}
        self._runs: list[_Run] = []
        self._done: _Done | None = None
        self._ends: dict[tuple[Format, bool], tuple[list[bytes], int, int]] = {}

    def note(self, frame: Frame) -> None:
        """Remember what no later frame repeats; call it with every frame, scraped or not.

        It waits for nobody who renders.
        """
        self._memory.note(frame.snapshot.runs, frame.snapshot.at)

    def render(self, form: Format = Format.TEXT, *, gzip: bool = False) -> bytes:
        """The whole page, in UTF-8, compressed if asked for."""
        with self._lock:
            frame = self.feed.latest()
            age = None if frame is None else self.clock.monotonic() - frame.snapshot.monotonic
            self._render(frame, too_old=age is not None and age > self.stale_after)
            parts, checksum, size = self._body(form, gzip=gzip)
            tail = self._tail(form, age)
        if not gzip:
            return b"".join((*parts, tail))
        packer = zlib.compressobj(1, zlib.DEFLATED, _RAW)
        end = packer.compress(tail) + packer.flush()
        sums = struct.pack("<LL", zlib.crc32(tail, checksum), (size + len(tail)) & 0xFFFFFFFF)
        return b"".join((_GZIP_HEAD, *parts, end, sums))

    def _render(self, frame: Frame | None, *, too_old: bool) -> None:
        done = self._done
        if done and done.frame is frame and done.too_old is too_old:
            return
        changed: set[_Section] = set()
        if frame is None or too_old:
            self._plan(())
        else:
            batches = frame.snapshot.batches
            if not self._fit(batches):
                self._plan(batches)
            for slot, batch in zip(self._slots, batches, strict=True):
                changed |= slot.update(batch)
        for section in changed:
            section.write()
        changed.update(self._judge(frame, too_old=too_old))
        for run in self._runs:
            if not changed.isdisjoint(run.sections):
                run.forget()
        self._ends.clear()
        series = sum(section.series for section in self._sections.values())
        self._done = _Done(frame, too_old, series)

    def _judge(self, frame: Frame | None, *, too_old: bool) -> Iterable[_Section]:
        if frame and not self._memory.ran:
            self.note(frame)
        missing = sum((slot.missing for slot in self._slots), Counter[Why]())
        families = judged.judged(frame, missing, self._memory.ran, too_old=too_old)
        for family in judged.JUDGED:
            section = self._sections[family.name]
            if section.set(families.get(family.name, ())):
                yield section

    def _fit(self, batches: Sequence[Batch]) -> bool:
        slots = self._slots
        return len(slots) == len(batches) > 0 and all(
            slot.fits(batch) for slot, batch in zip(slots, batches, strict=True)
        )

    def _plan(self, batches: Sequence[Batch]) -> None:
        """Lay the page out for these batches."""
        known = {family.name: _Section(family) for family in (*self._shown, *judged.JUDGED)}
        self._sections = dict(sorted(known.items()))
        self._slots = []
        layouts = [batch.layout for batch in batches]
        for batch, found in zip(batches, blocks(layouts, self._shown), strict=True):
            writers = [(Writer(block), self._sections[block.family.name]) for block in found]
            for writer, section in writers:
                section.writers.append(writer)
            self._slots.append(_Slot(batch, writers))
        self._runs = [_Run(sections) for sections in _runs(self._sections.values())]

    def _body(self, form: Format, *, gzip: bool) -> tuple[list[bytes], int, int]:
        """The runs, the checksum of their text and its length."""
        found = self._ends.get((form, gzip))
        if found is None:
            texts = [run.text(form) for run in self._runs]
            checksum = 0
            for text in texts if gzip else ():
                checksum = zlib.crc32(text, checksum)
            parts = [run.block(form) for run in self._runs] if gzip else texts
            found = self._ends[form, gzip] = parts, checksum, sum(map(len, texts))
        return found

    def _tail(self, form: Format, age: float | None) -> bytes:
        found = judged.tail(age, self._done.series if self._done else 0)
        text = "".join([head(family, form) + lines(family, [one]) for family, one in found])
        return text.encode() + (EOF if form is Format.OPENMETRICS else b"")


def _runs(sections: Iterable[_Section]) -> list[list[_Section]]:
    """Families in runs of at least some hundred series each."""
    found: list[list[_Section]] = [[]]
    size = 0
    for section in sections:
        found[-1].append(section)
        size += sum(len(writer.block.rows) for writer in section.writers)
        if size >= _RUN:
            found.append([])
            size = 0
    return found
