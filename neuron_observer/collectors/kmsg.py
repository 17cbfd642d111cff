"""The kernel log of this boot, live: records, what was lost, and events where a line is known.

What a line means is not known here: a `Classify` is handed in. Kernel lines are hearsay (any
program that may open a device can have one printed) and lines that our own reads of firmware
registers cause are marked `ours`, so that they are never evidence (architecture, law 5).
"""

from __future__ import annotations

from collections import deque
from itertools import dropwhile
from typing import TYPE_CHECKING, NamedTuple, Protocol

from neuron_observer.model import Event, Place, Scalar
from neuron_observer.parsers.kmsg import (
    KernelRecord,
    is_dictionary,
    join_pieces,
    parse,
    whole_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.sources.lines import LineSource

LIMIT = 20_000  # records a collection; the rest waits for the next
BURST = 20  # events of one kind and place a collection, and the latest; the rest is counted

# What the driver prints when a read of a firmware register fails (driver 2.24.7 to 2.30.2:
# neuron_sysfs_metrics.c, neuron_fw_io.c, neuron_power.c, neuron_dhal_v3.c, neuron_dhal_vc.c).
# The driver reads the same registers on its own, so the text alone does not make a line ours.
READ_LINES = (
    "sysfs failed to read ",
    "failed to get ecc error count from the device",
    "failed to get hbm reapirable state",  # the driver's spelling
    "bits of the serial number from the device",
    "failed to get api version from the device",
    "failed to get fw build from the device",
    "failed to read misc ram reg at offset",
    "Failed to read firmware API version",
    "failed to read pe ",
    "seq: ",  # `seq: 3, cmd: 1 timed out`: the request below such a read
    "register read failure while reading",
)

_READ_HINTS = ("read ", "seq: ", "failed to get")  # one of them stands in each; fast to rule out


class Classified(NamedTuple):
    """What a line means, as far as an event needs it."""

    kind: str
    place: Place
    message: str
    fields: dict[str, Scalar]


class Classify(Protocol):
    """The pattern matcher."""

    def __call__(self, record: KernelRecord, /) -> Classified | None:
        """The meaning of a record; None for a line that is of no interest."""
        ...


class Cursor(NamedTuple):
    """How far a log has been read; kept across restarts of the daemon."""

    boot_id: str
    sequence: int | None  # None where the source has no sequence numbers
    monotonic: float | None  # of the last record, seconds since boot


class KernelCounts:
    """What became of the records since the collector was made."""

    def __init__(self) -> None:
        self.read = 0  # parsed
        self.lost = 0  # gone before we came to them, by gaps in the sequence numbers
        self.dropped = 0  # thrown away by us for lack of room
        self.cut = 0  # longer than the bound
        self.overruns = 0  # times the kernel lapped us
        self.skipped = 0  # older than the look-back or known from before
        self.ours = 0  # caused by our own reads
        self.suppressed = 0  # events between the burst and the latest of their kind

    def copy(self) -> KernelCounts:
        """As they are now."""
        made = KernelCounts()
        vars(made).update(vars(self))
        return made


class KernelBatch(NamedTuple):
    """What one collection brought."""

    records: tuple[KernelRecord, ...]
    ours: frozenset[int]  # positions in `records` of lines that our own reads caused
    events: tuple[Event, ...]
    counts: KernelCounts
    error: str  # why the log cannot be read; empty while it can


class LookBack(NamedTuple):
    """Where to start in a log that was there before us."""

    boot_id: Callable[[], str | None]  # /proc/sys/kernel/random/boot_id
    boot_time: Callable[[], float | None]  # wall clock at boot: turns record times into instants
    cursor: Cursor | None = None  # as stored; of another boot it says nothing
    seconds: float | None = None  # None: all of this boot


class OwnReads:
    """When we read firmware registers, on the clock of the records; the last 256 reads.

    The kernel's log clock and CLOCK_MONOTONIC drift apart by up to seconds, and a timed-out read
    prints after it began, so a window is widened by `slack` seconds on both sides.
    """

    def __init__(self, slack: float = 2.0, most: int = 256) -> None:
        self._slack = slack
        self._windows: deque[tuple[float, float]] = deque(maxlen=most)

    def add(self, begin: float, end: float) -> None:
        """Note a read that ran from `begin` to `end`; any thread may."""
        self._windows.append((begin - self._slack, end + self._slack))

    def __call__(self, monotonic: float) -> bool:
        """Whether a record of this time may stem from one of our reads."""
        return any(begin <= monotonic <= end for begin, end in list(self._windows))


class KernelLogCollector:
    """Turns the lines of a source into records and events."""

    def __init__(
        self,
        source: LineSource,
        look_back: LookBack,
        *,
        own_read: Callable[[float], bool] | None = None,
        classify: Classify | None = None,
        limit: int = LIMIT,
    ) -> None:
        self._source = source
        self._look_back = look_back
        self._boot_id = look_back.boot_id()
        self._own_read = own_read
        self._classify = classify
        self._limit = limit
        self._gaps = 0
        self._counts = KernelCounts()
        self._last_nothing: KernelBatch | None = None  # without a line
        known = look_back.cursor
        self._known = known if known and known.boot_id == self._boot_id else None
        self._last = self._known.sequence if self._known else None
        self._last_monotonic = self._known.monotonic if self._known else None
        self._oldest: float | None = None

    @property
    def cursor(self) -> Cursor | None:
        """How far we are, to be stored; None while the boot is not known."""
        if self._boot_id is None:
            return None
        return Cursor(self._boot_id, self._last, self._last_monotonic)

    def collect(self, now: float) -> KernelBatch:
        """Take what is there; `now` is the wall clock. Nothing new is the same batch again."""
        lines = self._source.poll(self._limit)
        if not lines:
            return self._nothing()
        boot_time = self._look_back.boot_time()
        if self._oldest is None and self._look_back.seconds is not None and boot_time is not None:
            self._oldest = now - boot_time - self._look_back.seconds
        if self._last is not None:  # the record of these went out with the last collection
            lines = list(dropwhile(is_dictionary, lines))
        parsed = map(parse, whole_records(lines))
        records = tuple(join_pieces(filter(self._is_new, parsed)))
        ours = frozenset(at for at, record in enumerate(records) if self._is_ours(record))
        self._count(len(records), len(ours))
        found = self._events(records, ours, boot_time, now)
        events = tuple(sorted(found, key=lambda event: event.at))
        return KernelBatch(records, ours, events, self._counts.copy(), self._source.error)

    def _nothing(self) -> KernelBatch:
        self._count(0, 0)
        last, error = self._last_nothing, self._source.error
        if last is None or last.error != error or vars(last.counts) != vars(self._counts):
            last = KernelBatch((), frozenset(), (), self._counts.copy(), error)
            self._last_nothing = last
        return last

    def _count(self, read: int, ours: int) -> None:
        source, counts = self._source.counts, self._counts
        counts.read += read
        counts.ours += ours
        counts.dropped, counts.cut = source.dropped, source.cut
        counts.overruns = source.overruns
        counts.lost = max(0, self._gaps - source.dropped)

    def _is_new(self, record: KernelRecord) -> bool:
        known, sequence = self._known, record.sequence
        if sequence is not None:
            if known and known.sequence is not None and sequence <= known.sequence:
                self._counts.skipped += 1
                return False
            if self._last is not None and sequence > self._last + 1:
                self._gaps += sequence - self._last - 1
            self._last = sequence
        if record.monotonic is None:
            return True
        if self._is_old(record.monotonic, by_time=sequence is None):
            self._counts.skipped += 1
            return False
        self._last_monotonic = record.monotonic
        return True

    def _is_old(self, monotonic: float, *, by_time: bool) -> bool:
        known = self._known
        if by_time and known and known.monotonic is not None and monotonic <= known.monotonic:
            return True
        return self._oldest is not None and monotonic < self._oldest

    def _is_ours(self, record: KernelRecord) -> bool:
        return record.monotonic is not None and bool(
            self._own_read and is_read_line(record.message) and self._own_read(record.monotonic)
        )

    def _events(
        self,
        records: tuple[KernelRecord, ...],
        ours: frozenset[int],
        boot_time: float | None,
        now: float,
    ) -> Iterator[Event]:
        if self._classify is None:
            return
        first: dict[tuple[str, Place], int] = {}
        latest: dict[tuple[str, Place], tuple[int, Classified]] = {}
        for at, record in enumerate(records):
            meaning = self._classify(record)
            if meaning is None:
                continue
            key = (meaning.kind, meaning.place)
            first[key] = first.get(key, 0) + 1
            if first[key] <= BURST:
                yield _event(record, meaning, boot_time, now, ours=at in ours)
            else:
                self._counts.suppressed += key in latest
                latest[key] = (at, meaning)
        for at, meaning in latest.values():
            yield _event(records[at], meaning, boot_time, now, ours=at in ours)


def _event(
    record: KernelRecord,
    meaning: Classified,
    boot_time: float | None,
    now: float,
    *,
    ours: bool,
) -> Event:
    fields = meaning.fields | origin(record) | {"ours": int(ours)}
    when = instant(record, boot_time, now)
    return Event(meaning.kind, meaning.place, when, meaning.message, fields)


def is_read_line(text: str) -> bool:
    """Whether the driver prints such a line when a firmware register cannot be read."""
    for hint in _READ_HINTS:
        if hint in text:
            return any(part in text for part in READ_LINES)
    return False


def instant(record: KernelRecord, boot_time: float | None, now: float) -> float:
    """The wall clock of a record; that of reading where it tells none. Never in the future."""
    if record.wall is not None:
        return min(record.wall, now)
    if record.monotonic is None or boot_time is None:
        return now
    return min(boot_time + record.monotonic, now)


def origin(record: KernelRecord) -> dict[str, Scalar]:
    """Who printed a record: `kernel`, `user` or `unknown`, its level and sequence number."""
    by = {True: "kernel", False: "user", None: "unknown"}[record.from_kernel]
    fields: dict[str, Scalar] = {"printed_by": by}
    if record.level is not None:
        fields["level"] = record.level
    if record.sequence is not None:
        fields["sequence"] = record.sequence
    return fields
