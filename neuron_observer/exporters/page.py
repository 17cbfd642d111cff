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
from neuron_observer.exporters.own import tail
from neuron_observer.exporters.ranks import ranks_told
from neuron_observer.exporters.series import blocks_of, repeated, shown
from neuron_observer.model import Why

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.catalogue.families import Family
    from neuron_observer.catalogue.spec import Detail
    from neuron_observer.clock import Clock
    from neuron_observer.exporters.own import Scrapes
    from neuron_observer.exporters.series import Sample
    from neuron_observer.feed import Feed
    from neuron_observer.model import Batch, Frame, Place

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
        self.names = {section.family.name for section in sections}
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
    """A batch on the page; it stays while the batch has the same rows."""

    def __init__(
        self, batch: Batch, shown: Sequence[Family], hidden: set[tuple[str, Place]]
    ) -> None:
        self.layout = batch.layout
        self.hidden = hidden
        self.writers = [Writer(block) for block in blocks_of(batch.layout, shown, hidden)]
        self.batch = batch
        self.missing: Counter[Why] = Counter()
        self.update(batch)

    def fits(self, batch: Batch) -> bool:
        """Whether a batch has the rows that this slot was made for."""
        same = batch.layout is self.layout or batch.layout.columns == self.layout.columns
        if same:
            self.layout = batch.layout
        return same

    def update(self, batch: Batch) -> set[str]:
        """Write what differs from the batch before; the names of the families that do."""
        self.batch = batch
        self.missing = judged.count_missing(batch.cells)
        return {w.block.family.name for w in self.writers if w.update(batch.cells)}


class _Done(NamedTuple):
    """A page without its end."""

    frame: Frame | None
    too_old: bool
    series: int


class Page:
    """The page of a feed. Any thread may render; one does at a time."""

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        *,
        detail: Detail = "core",
        job_labels: bool = False,
        stale_after: float = STALE_AFTER,
    ) -> None:
        """`job_labels`: also a series a device and job, which ends with the job."""
        self.feed = feed
        self.clock = clock
        self.stale_after = stale_after
        self._detail = detail
        self._shown = shown(detail)
        self._job_labels = job_labels
        self._memory = judged.Memory()
        self._lock = Lock()
        self._slots: list[_Slot] = []
        self._sections: dict[str, _Section] = {}
        self._runs: list[_Run] = []
        self._done: _Done | None = None
        self.scrapes: Scrapes | None = None  # counted by whoever serves it
        self._ends: dict[tuple[Format, bool], tuple[list[bytes], int, int]] = {}

    def note(self, frame: Frame) -> None:
        """Remember what no later frame repeats; call it with every frame, scraped or not.

        It waits for nobody who renders.
        """
        self._memory.note(frame)

    def show(self, detail: Detail, *, job_labels: bool) -> None:
        """Have other series from the next scrape on."""
        with self._lock:
            if (shown(detail), job_labels) == (self._shown, self._job_labels):
                return
            self._detail, self._shown, self._job_labels = detail, shown(detail), job_labels
            self._slots, self._done = [], None

    def render(self, form: Format = Format.TEXT, *, gzip: bool = False) -> bytes:
        """The whole page, in UTF-8, compressed if asked for."""
        return b"".join(self.parts(form, gzip=gzip))

    def parts(self, form: Format = Format.TEXT, *, gzip: bool = False) -> tuple[bytes, ...]:
        """The same in pieces; all but the last are shared by all who ask for the same frame."""
        with self._lock:
            frame = self.feed.latest()
            age = None if frame is None else self.clock.monotonic() - frame.snapshot.monotonic
            self._render(frame, too_old=age is not None and age > self.stale_after)
            parts, checksum, size = self._body(form, gzip=gzip)
            tail = self._tail(form, age)
        if not gzip:
            return (*parts, tail)
        packer = zlib.compressobj(1, zlib.DEFLATED, _RAW)
        end = packer.compress(tail) + packer.flush()
        sums = struct.pack("<LL", zlib.crc32(tail, checksum), (size + len(tail)) & 0xFFFFFFFF)
        return (_GZIP_HEAD, *parts, end + sums)

    def _render(self, frame: Frame | None, *, too_old: bool) -> None:
        done = self._done
        if done and done.frame is frame and done.too_old is too_old:
            return
        batches = frame.snapshot.batches if frame and not too_old else ()
        changed = self._update(batches) if self._fit(batches) else self._plan(batches)
        for name in changed:
            self._sections[name].write()
        changed.update(self._judge(frame, too_old=too_old))
        for run in self._runs:
            if not changed.isdisjoint(run.names):
                run.forget()
        self._ends.clear()
        series = sum(section.series for section in self._sections.values())
        self._done = _Done(frame, too_old, series)

    def _judge(self, frame: Frame | None, *, too_old: bool) -> Iterable[str]:
        if frame and not self._memory.ran:
            self.note(frame)
        missing = sum((slot.missing for slot in self._slots), Counter[Why]())
        families = judged.judged(frame, missing, self._memory, too_old=too_old)
        if frame and self._job_labels and not too_old:
            families |= judged.jobs_told(frame)
        if frame and not too_old:
            families |= ranks_told(frame, self._detail)
        for family in judged.JUDGED:
            section = self._sections[family.name]
            if section.set(families.get(family.name, ())):
                yield family.name

    def _fit(self, batches: Sequence[Batch]) -> bool:
        return len(self._slots) == len(batches) > 0 and all(
            slot.fits(batch) for slot, batch in zip(self._slots, batches, strict=True)
        )

    def _update(self, batches: Sequence[Batch]) -> set[str]:
        """Take the cells of batches that fit; the families that changed."""
        changed: set[str] = set()
        for slot, batch in zip(self._slots, batches, strict=True):
            if batch is not slot.batch:
                changed |= slot.update(batch)
        return changed

    def _plan(self, batches: Sequence[Batch]) -> set[str]:
        """Lay the page out anew for these batches; slots that fit one of them stay."""
        before = {_key(slot.batch): slot for slot in self._slots}
        families = sorted((*self._shown, *judged.JUDGED), key=lambda family: family.name)
        self._sections = {family.name: _Section(family) for family in families}
        self._slots = []
        for batch, hidden in zip(batches, repeated(batches), strict=True):
            slot = before.pop(_key(batch), None)
            if slot and slot.hidden == hidden and slot.fits(batch):
                slot.update(batch)
            else:
                slot = _Slot(batch, self._shown, hidden)
            self._slots.append(slot)
            for writer in slot.writers:
                self._sections[writer.block.family.name].writers.append(writer)
        self._runs = [_Run(sections) for sections in _runs(self._sections.values())]
        return set(self._sections)

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
        found = tail(age, self._done.series if self._done else 0, self.scrapes)
        text = "".join([head(family, form) + lines(family, [one]) for family, one in found])
        return text.encode() + (EOF if form is Format.OPENMETRICS else b"")


def _key(batch: Batch) -> tuple[str, str, int | None]:
    return batch.collector, batch.lane, batch.device


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
