"""The observer's loop: reads each lane when it is due and publishes frame after frame.

A frame is one immutable object, published by one assignment: whoever reads the feed gets the last
one, from any thread, and never waits. What cannot be read is missing in the frame, what went wrong
is told by its runs and events; the loop goes on.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from neuron_observer.collectors import firmware, jobs, sysfs
from neuron_observer.history import History
from neuron_observer.loop.live_feed import LiveFeed
from neuron_observer.loop.own import OwnFigures
from neuron_observer.loop.schedule import Schedule
from neuron_observer.loop.stale import mark_stale
from neuron_observer.model import NODE, Driver, Event, Frame, Health, Run, Snapshot, Verdict
from neuron_observer.sources.wakeups import choose_wakeups

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from neuron_observer.feed import Feed
    from neuron_observer.model import Finding
    from neuron_observer.observer import HostReader
    from neuron_observer.sources.wakeups import Wakeups

Judge: TypeAlias = "Callable[[Snapshot, History], tuple[tuple[Finding, ...], Health]]"
Result = TypeVar("Result")
Listener: TypeAlias = "Callable[[Frame], None]"

PERIODS = {  # seconds; the expensive lane (pe_cntrs) is read on request only
    **{lane: sysfs.PERIODS[lane] for lane in ("fast", "normal", "slow")},
    "firmware": firmware.PERIOD,
    "jobs": jobs.PERIOD,
}
SETTLE = 0.02  # seconds after a wake-up before the next: a flapping link costs little
LONGEST_WAIT = 1.0  # seconds; a signal just before a wait is heard only after it
MOST_TOLD = 1000  # events of others that wait for a frame
TELL_FROM = 1.0  # seconds that a read is late, or that the wall clock is off, to be an event
_WITH_NORMAL = {"fast": "normal"}
_NOT_JUDGED = Health(Verdict.UNKNOWN, "only read, not judged: no rule was evaluated")
_LAST_WAIT = 5.0  # seconds for the loop's thread to end


def not_judged(_snapshot: Snapshot, _history: History) -> tuple[tuple[Finding, ...], Health]:
    """The judge of a loop without rules."""
    return (), _NOT_JUDGED


def _no_text(_finding_id: str) -> str:
    return ""


class Loop:
    """Reads one host for as long as it runs; it owns the reader and closes it."""

    def __init__(
        self,
        reader: HostReader,
        *,
        schedule: Mapping[str, float] | Schedule = PERIODS,
        judge: Judge = not_judged,
        history: History | None = None,
        wakeups: Wakeups | None = None,
        explain: Callable[[str], str] = _no_text,
    ) -> None:
        """The schedule gives seconds by lane; `explain` gives the text of a finding's id."""
        self.reader = reader
        self.schedule = schedule if isinstance(schedule, Schedule) else Schedule(schedule)
        self._clock = reader.clock
        self._judge = judge
        self._history = History() if history is None else history
        self._wakeups = wakeups or choose_wakeups(reader.host, reader.clock)
        self._listeners: list[Listener] = []
        self._pulses: list[Callable[[], None]] = []
        self._told: deque[Event] = deque(maxlen=MOST_TOLD)  # for the next frame
        self._stopped = False
        self._heard = False  # a line of the kernel log has come
        reader.news = self._hear
        self.own = OwnFigures(self.schedule, self._history)
        self._runs: list[Run] = []  # for the next frame
        self._last: Snapshot | None = None
        self._shortened = False
        self._feed = LiveFeed(self._history, self._clock, explain)
        self.feed: Feed = self._feed

    def subscribe(self, listener: Listener) -> None:
        """Have a function called after each frame, in the loop's thread."""
        self._listeners.append(listener)

    def each_pass(self, pulse: Callable[[], None]) -> None:
        """Have a function called whenever `run` came round, at least once in `LONGEST_WAIT`."""
        self._pulses.append(pulse)

    def tell(self, event: Event) -> None:
        """Have an event stand in the next frame, before it is judged; from any thread."""
        self._told.append(event)

    def run(self) -> None:
        """Tick until `stop`."""
        woken = False
        while not self._stopped:
            self.tick(woken=woken)
            for pulse in self._pulses:
                pulse()
            if woken:
                self._clock.wait(min(SETTLE, self._rest()))
            woken = self._wakeups.wait(min(LONGEST_WAIT, self._rest())) or self._heard
            self._heard = False

    def _rest(self) -> float:
        return self.schedule.until_next(self._clock.monotonic())

    def _hear(self) -> None:
        """Look at once, because the driver said something; from any thread."""
        self._heard = True
        self._wakeups.wake()

    def stop(self) -> None:
        """End `run` after the tick at hand; from any thread or signal handler."""
        self._stopped = True
        self._wakeups.wake()

    def close(self) -> None:
        """Give descriptors and workers back."""
        self._wakeups.close()
        self.reader.close()

    def tick(self, *, woken: bool = False, also: Collection[str] = ()) -> Frame | None:
        """Read what is due now and publish a frame; None if nothing is.

        A wake-up makes the fast lane due outside its grid; `also` names others.
        """
        begin = self._clock.monotonic()
        late = self.schedule.late(begin)
        due = self.schedule.due(begin)
        if not (due or woken or also):
            return None
        lanes = dict.fromkeys((*due, *also, *(("fast",) if woken else ())))  # in order, always
        snapshot = self._read(lanes)
        if "normal" in lanes:
            self._fenced("wakeups", self._watch)
        self._fenced("history", partial(self._history.add, snapshot))
        told = [*self._lateness(due), *self._clock_step(snapshot), *self._overflow()]
        told += [self._told.popleft() for _ in range(len(self._told))]
        frame = self._judged(snapshot._replace(events=(*snapshot.events, *told)))
        self._last = snapshot
        self._feed.publish(frame)
        for listener in self._listeners:
            self._fenced("listener", partial(listener, frame))
        self.own.note(late, self._clock.monotonic() - begin)
        return frame

    def _watch(self) -> None:
        """Watch what the driver announces; all that the fast lane is for is then read at once.

        Its own period is not needed as long as that works and all that comes by itself, such as
        lines of the kernel log, wakes as well.
        """
        files, live = self.reader.pollable, self.reader.live
        self._wakeups.watch(files)
        announced = bool(files) and self._wakeups.watched.issuperset(files)
        heard = live is None or live.announced
        self.schedule.follow(_WITH_NORMAL if announced and heard else {})

    def _read(self, lanes: Collection[str]) -> Snapshot:
        """What the reader gives; where it fails as a whole, what it gave last."""
        snapshot = self._fenced("reader", lambda: self.reader.poll(lanes)) or self._last
        now, wall = self._clock.monotonic(), self._clock.wall()
        if snapshot is None:
            unknown = Driver(None, "unknown")
            return Snapshot(wall, now, self.reader.host.root, None, unknown, (), ())
        batches = snapshot.batches
        if snapshot is self._last:
            snapshot = snapshot._replace(at=wall, monotonic=now, events=(), runs=())
            batches = batches[:-1]  # the last one is ours
        batches = mark_stale(batches, snapshot.monotonic, self.schedule.periods)
        own = self.own.batch(self._clock, due="slow" in lanes)
        return snapshot._replace(batches=(*batches, own))

    def _judged(self, snapshot: Snapshot) -> Frame:
        judged = self._fenced("rules", lambda: self._judge(snapshot, self._history))
        runs, self._runs = self._runs, []
        findings, health = judged or ((), Health(Verdict.UNKNOWN, f"no verdict: {runs[-1].error}"))
        return Frame(snapshot._replace(runs=(*snapshot.runs, *runs)), findings, health)

    def _fenced(self, name: str, work: Callable[[], Result]) -> Result | None:
        """Do what may fail and then costs only itself; a frame's runs tell of it."""
        begin = self._clock.monotonic()
        result, error = None, ""
        try:
            result = work()
        except Exception as broken:  # noqa: BLE001 - whatever it is, the loop goes on
            error = f"{type(broken).__name__}: {broken}"
        self._runs.append(Run(name, not error, self._clock.monotonic() - begin, error))
        return result

    def _lateness(self, due: Mapping[str, int]) -> Iterator[Event]:
        late = max(
            (missed * self.schedule.periods[lane] for lane, missed in due.items()), default=0
        )
        if late >= TELL_FROM:
            missed = {lane: times for lane, times in due.items() if times}
            reads = ", ".join(f"{times} {lane}" for lane, times in missed.items())
            message = f"{late:.1f} s late: reads that did not take place: {reads}"
            yield Event("reads_skipped", NODE, self._clock.wall(), message, missed)

    def _clock_step(self, snapshot: Snapshot) -> Iterator[Event]:
        if self._last is None:
            return
        step = snapshot.at - self._last.at - (snapshot.monotonic - self._last.monotonic)
        if abs(step) >= TELL_FROM:
            message = f"the wall clock moved by {step:+.1f} s: it was set, or the machine slept"
            yield Event("clock_stepped", NODE, snapshot.at, message, {"seconds": step})

    def _overflow(self) -> Iterator[Event]:
        before, self._shortened = self._shortened, self._history.shortened
        if self._shortened > before:
            message = f"the history's bytes are used up: it holds {self._history.seconds:.0f} s"
            yield Event("history_shortened", NODE, self._clock.wall(), message)


@contextmanager
def running(loop: Loop) -> Iterator[Feed]:
    """The feed of a loop that runs in a thread of its own; it is stopped and closed at the end."""
    thread = threading.Thread(target=loop.run, name="loop", daemon=True)
    thread.start()
    try:
        yield loop.feed
    finally:
        loop.stop()
        thread.join(_LAST_WAIT)
        if not thread.is_alive():  # a read that hangs keeps what it uses
            loop.close()
