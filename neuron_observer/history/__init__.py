"""The last minutes of every reading, in a bounded number of bytes.

Each batch name (collector, lane, device) has a track: the stretch that grows with every read, and
the ones before it, packed. What comes out is what was read, with the times at which it was read
(of equal numbers one stands for the other: 0 for 0.0).
When the bytes run out the oldest stretches go, and `shortened` says so.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import lru_cache
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING

from neuron_observer.history.stretch import Stretch, Unpacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.history.stretch import Packed, Series
    from neuron_observer.model import Batch, Place, Snapshot, Value

WINDOW = 900.0  # seconds
LIMIT = 8_000_000  # bytes
_CACHED = 16  # unpacked stretches: a screen asks for the same ones again and again
_TURN = 16  # of so many tracks one is packed at a time, so that no tick packs all of them
_SWEEP = 5.0  # seconds between two looks at what is too old or too much
_ROW_BYTES = 300  # a row of a layout that nobody else holds any more

_oldest = attrgetter("oldest")
_read_time = attrgetter("read_time")


class _Track:
    """What was read under one batch name and one layout."""

    def __init__(self, batch: Batch) -> None:
        self.rows = batch.layout.rows
        self.device = batch.device
        self._seen = batch
        self._open: Stretch | None = Stretch(batch.cells, batch.read_at)
        self._packed: deque[Packed] = deque()
        self._packed_size = 0
        self._layout_size = 0  # while somebody else holds the layout too

    def fits(self, batch: Batch) -> bool:
        """Whether a batch is of these rows."""
        return batch.layout is self._seen.layout or batch.layout.rows == self.rows

    def add(self, batch: Batch) -> bool:
        """Take a batch; whether it is time to pack the open stretch."""
        seen = self._seen
        if batch.read_at == seen.read_at:  # the one that is here already, perhaps marked as stale
            return False
        self._seen = batch
        if self._open:
            return self._open.add(seen.cells, batch.cells, batch.read_at, batch.changed)
        self._open = Stretch(batch.cells, batch.read_at)
        return False

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return self._packed_size + self._layout_size + (self._open.size if self._open else 0)

    @property
    def oldest(self) -> float:
        """The last read (monotonic) of its oldest stretch; infinite if it has none."""
        if self._packed:
            return self._packed[0].last
        return self._seen.read_at if self._open else inf

    def pack(self) -> None:
        """Pack the open stretch; the next read begins another."""
        if self._open:
            packed, self._open = self._open.pack(), None
            self._packed.append(packed)
            self._packed_size += packed.size

    def retire(self) -> None:
        """Nothing more will come: another layout took its place."""
        self.pack()
        self._layout_size = len(self.rows) * _ROW_BYTES

    def drop_oldest(self) -> int:
        """Forget the oldest stretch; the bytes that it took."""
        before = self.size
        if self._packed:
            self._packed_size -= self._packed.popleft().size
        else:
            self._open = None
        return before - self.size

    def between(self, begin: float, end: float, row: int) -> tuple[list[bytes], Series | None]:
        """Packed stretches that reach into a time, oldest first, and one row of the open one."""
        packed = [s.content for s in self._packed if s.last >= begin and s.first <= end]
        return packed, self._open.series(row) if self._open else None


class History:
    """What was read over the last minutes; one thread adds, any thread may ask."""

    def __init__(self, *, window: float = WINDOW, limit: int = LIMIT) -> None:
        self._window = window
        self._limit = limit
        self._lock = threading.Lock()
        self._tracks: dict[tuple[str, str, int | None], _Track] = {}
        self._retired: list[_Track] = []  # their layout was replaced by another
        self._homes: dict[int | None, list[_Track]] = {}  # by device; empty: to be made anew
        self._full: dict[_Track, None] = {}  # to be packed, longest waiting first
        self._begin: float | None = None  # monotonic; what was read before is not held
        self._now = 0.0  # monotonic, of the last snapshot
        self._last: tuple[Batch, ...] = ()
        self._swept = 0.0
        self._overflowed = False
        self._unpacked = lru_cache(_CACHED)(Unpacked)

    @property
    def seconds(self) -> float:
        """The window that is held."""
        begin = self._now if self._begin is None else self._begin
        return min(self._now - begin, self._window)

    @property
    def shortened(self) -> bool:
        """Whether bytes ran out, so that the window is shorter than it should be."""
        return self._overflowed and self.seconds < self._window

    @property
    def bytes(self) -> int:
        """Bytes that are taken, about."""
        with self._lock:
            return sum(track.size for track in self._all())

    def _all(self) -> list[_Track]:
        return [*self._retired, *self._tracks.values()]

    def add(self, snapshot: Snapshot) -> None:
        """Take what was read since the last snapshot."""
        with self._lock:
            self._now = snapshot.monotonic
            if self._begin is None:
                self._begin = self._swept = self._now
            known, self._last = set(map(id, self._last)), snapshot.batches
            for batch in snapshot.batches:
                if id(batch) not in known:  # most are those of the snapshot before
                    self._add(batch)
            for track in list(self._full)[: len(self._tracks) // _TURN + 1]:
                del self._full[track]
                track.pack()
            if self._now - self._swept >= _SWEEP:
                self._swept = self._now
                self._forget(self._now - self._window)
                self._shrink(self._begin)

    def _add(self, batch: Batch) -> None:
        name = batch.collector, batch.lane, batch.device
        track = self._tracks.get(name)
        if track is None:
            self._tracks[name] = _Track(batch)
            self._homes.clear()
        elif not track.fits(batch):
            track.retire()
            self._retired.append(track)
            self._tracks[name] = _Track(batch)
            self._homes.clear()
        elif track.add(batch):
            self._full[track] = None

    def _forget(self, horizon: float) -> None:
        """Drop what is older than the window."""
        for track in self._all():
            while track.oldest < horizon:
                track.drop_oldest()
        self._homes.clear()
        self._retired = [track for track in self._retired if track.oldest < inf]
        self._tracks = {name: track for name, track in self._tracks.items() if track.oldest < inf}

    def _shrink(self, begin: float) -> None:
        """Drop the oldest stretches while they are too many bytes."""
        excess = sum(track.size for track in self._all()) - self._limit
        while excess > 0:
            track = min(self._all(), key=_oldest)
            if track.oldest == inf:
                break
            self._overflowed = True
            self._begin = begin = max(begin, track.oldest)
            excess -= track.drop_oldest()

    def values(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """What was read over the last `seconds`, oldest first; nothing where it was missing."""
        since = self._now - seconds
        found: list[Value] = []
        for series in self._series(metric, place, since, inf):
            found += series.values(since)
        return sorted(found, key=_read_time)

    def last(self, metric: str, place: Place, begin: float, end: float) -> Value | None:
        """What was read last between two instants (monotonic); None if nothing is held of them."""
        told = [series.last(begin, end) for series in self._series(metric, place, begin, end)]
        return max((one for one in told if one is not None), key=_read_time, default=None)

    def _series(self, metric: str, place: Place, begin: float, end: float) -> list[Series]:
        """A metric in every stretch that reaches into a time."""
        parts = []
        with self._lock:
            for track in self._of(place.device):
                row = track.rows.get((metric, place))
                if row is not None:
                    parts.append((row, *track.between(begin, end, row)))
        found: list[Series] = []
        for row, packed, last in parts:
            found += [self._unpacked(content).series(row) for content in packed]
            if last:
                found.append(last)
        return found

    def _of(self, device: int | None) -> list[_Track]:
        """Tracks that may tell of a device: no batch of another does."""
        if not self._homes:
            for track in self._all():
                self._homes.setdefault(track.device, []).append(track)
        own = self._homes.get(device, []) if device is not None else []
        return [*own, *self._homes.get(None, [])]
