"""What comes by itself while a host is read: lines of the kernel log, reports of neuron-monitor.

Both are taken with every tick, as far as they are there; neither is ever waited for.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.collectors.kmsg import KernelLogCollector, LookBack, OwnReads
from neuron_observer.derive import make_batch
from neuron_observer.live.classifier import LineClassifier
from neuron_observer.model import NODE, Batch, Missing, Place, Why
from neuron_observer.rules.matcher import Matcher
from neuron_observer.sources.hostfs import LoggingHost, RecordedHost
from neuron_observer.sources.kernel import open_kernel_log
from neuron_observer.sources.pump import PumpedLines
from neuron_observer.sources.tapped import tapped_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.kmsg import Cursor, KernelBatch
    from neuron_observer.collectors.monitor import Mode
    from neuron_observer.live.monitor import MonitorReader
    from neuron_observer.model import Cell, Event
    from neuron_observer.rules.pattern import Pattern
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.lines import LineSource


class MonitorFeed(NamedTuple):
    """Where reports of neuron-monitor come from."""

    mode: Mode
    path: str = "-"  # of a pipe or a file
    command: Sequence[str] = ()  # of a child; none: the usual one


class KernelReader:
    """The kernel log of a host: events, and a batch of what became of its lines."""

    name = "kernel_log"

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        own: OwnReads,
        *,
        patterns: Sequence[Pattern] = (),
        cursor: Cursor | None = None,
        keep: bool = False,
        news: Callable[[], None] | None = None,
    ) -> None:
        """Kept open, a thread takes the lines in and calls `news` when the driver's have come.

        Without `patterns` the shipped ones say what a line means.
        """
        self._host, self._clock = host, clock
        self.classifier = LineClassifier(Matcher(patterns) if patterns else None)
        source = _kernel_source(host, self.classifier.matcher, pump=keep, news=news)
        self.announced = news is not None and isinstance(source, PumpedLines)
        self._source = tapped_lines(host, "kernel", source)
        live = not isinstance(host, RecordedHost) or host.timed
        self._collector = KernelLogCollector(
            self._source,
            LookBack(self._boot_id, self._boot_time, cursor),
            own_read=own if live else None,
            classify=self.classifier,
        )
        self._last: Batch | None = None
        self._found: KernelBatch | None = None  # what it is made of

    @property
    def cursor(self) -> Cursor | None:
        """How far the log has been read, to be stored by who wants to go on from there."""
        return self._collector.cursor

    def poll(self) -> tuple[list[Batch], tuple[Event, ...]]:
        """The batch and the events of what came since the last call."""
        now = self._clock.monotonic()
        found = self._collector.collect(self._clock.wall())
        if self._last and found is self._found:
            self._last = self._last._replace(read_at=now, changed=())
        else:
            self._last = make_batch(self.name, self._rows(found), now, self._last)
        self._found = found
        return [self._last], found.events

    def close(self) -> None:
        """Give the log up."""
        self._source.close()

    def _rows(self, found: KernelBatch) -> dict[str, list[tuple[Place, Cell]]]:
        counts = found.counts
        told: dict[str, Cell] = {
            "read": counts.read,
            "known": self.classifier.known,
            "novel": self.classifier.novel,
            "ours": counts.ours,
            "lost": counts.lost,
            "dropped": counts.dropped,
            "cut": counts.cut,
            "suppressed": counts.suppressed,
        }
        if found.error and not counts.read:
            told = dict.fromkeys(told, _unreadable(self._source.name, found.error))
        return {f"host.kernel_log.{name}": [(NODE, cell)] for name, cell in told.items()}

    def _boot_id(self) -> str | None:
        return self._first_word("proc/sys/kernel/random/boot_id")

    def _boot_time(self) -> float | None:
        try:
            return self._clock.wall() - float(self._first_word("proc/uptime") or "")
        except ValueError:
            return None

    def _first_word(self, path: str) -> str | None:
        try:
            words = self._host.read(path).decode("ascii", "replace").split()
        except OSError:
            return None
        return words[0] if words else None


_REASONS = {
    os.strerror(errno.EPERM): Why.DENIED,
    os.strerror(errno.EACCES): Why.DENIED,
    os.strerror(errno.ENOENT): Why.UNSUPPORTED,
}


def _unreadable(name: str, error: str) -> Missing:
    return Missing(_REASONS.get(error, Why.FAILED), f"kernel log, {name}: {error}")


def _kernel_source(
    host: HostFs, matcher: Matcher, *, pump: bool, news: Callable[[], None] | None
) -> LineSource:
    if isinstance(host, RecordedHost):
        return host.lines("kernel")
    if isinstance(host, LoggingHost):
        return host.kernel_log()
    source = open_kernel_log(host.root)
    return PumpedLines(source, wanted=matcher.holds, news=news) if pump else source


def _monitor(host: HostFs, clock: Clock, feed: MonitorFeed) -> MonitorReader:
    from neuron_observer.live.monitor import MonitorReader  # noqa: PLC0415 - off by default

    return MonitorReader(host, clock, feed)


class LiveReader:
    """Both, as far as they were asked for."""

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        feed: MonitorFeed | None,
        open_kernel: Callable[[OwnReads], KernelReader] | None,
    ) -> None:
        self._clock = clock
        self._open_kernel = open_kernel
        self._own = OwnReads()
        self._owed_since: float | None = None
        self.kernel: KernelReader | None = None  # None until the log could be opened
        self.monitor = _monitor(host, clock, feed) if feed else None

    @property
    def announced(self) -> bool:
        """Whether `news` is called for all that comes, so that nobody has to look for it."""
        heard = self.kernel.announced if self.kernel else self._open_kernel is None
        return heard and self.monitor is None

    def readers(self, events: list[Event]) -> list[tuple[str, Callable[[], list[Batch]]]]:
        """Name and read of each, to be fenced one by one; events go into the list."""
        found: list[tuple[str, Callable[[], list[Batch]]]] = []
        opens = self._open_kernel
        if opens:
            found.append((KernelReader.name, lambda: self._read_kernel(opens, events)))
        if self.monitor:
            found.append((self.monitor.name, self.monitor.poll))
        return found

    def _read_kernel(
        self, opens: Callable[[OwnReads], KernelReader], events: list[Event]
    ) -> list[Batch]:
        self.kernel = self.kernel or opens(self._own)
        if self._owed_since is not None:
            self._own.add(self._owed_since, self._clock.monotonic())
        batches, found = self.kernel.poll()
        events.extend(found)
        return batches

    def note_reads(self, begin: float, owed_since: float | None) -> None:
        """Registers were read from `begin` until now, and one maybe still is, since then."""
        before = begin if self._owed_since is None else self._owed_since
        self._own.add(min(begin, before), self._clock.monotonic())
        self._owed_since = owed_since

    def close(self) -> None:
        """Give the sources up."""
        if self.kernel:
            self.kernel.close()
        if self.monitor:
            self.monitor.close()
