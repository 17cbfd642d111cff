"""The keeper: takes what frames bring, has a thread write it, and lets people have their say.

The loop's thread only collects; a thread of its own writes. Findings that came, went or changed
are on the disk a second later at most, what a person said before the answer is given, all the rest
each minute. If nothing can be written it goes on in memory, says so once, and writes when it can.

What a person says is done between two frames; the frame after is the first that shows it. It is
written and answered with that one, so that whoever looks after the answer sees what it says.
"""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.model import State
from neuron_observer.rules.lifecycle import Life
from neuron_observer.rules.memory import Kept
from neuron_observer.store import acts as people
from neuron_observer.store.figures import StoreFigures
from neuron_observer.store.rows import mark_of
from neuron_observer.store.transaction import Change, Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.kmsg import Cursor
    from neuron_observer.model import Batch, Event, Finding, Frame
    from neuron_observer.store.acts import Act, Done, Judging
    from neuron_observer.store.origin import Origin
    from neuron_observer.store.writer import Status, Writer

    _Said: TypeAlias = "tuple[Act, Future[Done], str]"

GAP = 1.0  # seconds between two writes for what findings and events bring
WHOLE = 60.0  # seconds between two writes of all that changes slowly
_LAST_WAIT = 5.0  # seconds for the last write
_RELOADS = frozenset({"driver_reloaded", "devices_changed"})


class Keeper:
    """Listens to the frames of a loop, in the loop's thread; anybody may `submit` an act."""

    def __init__(
        self,
        writer: Writer,
        judge: Judging,
        clock: Clock,
        *,
        origin: Callable[[], Origin],
        cursor: Callable[[], Cursor | None] = lambda: None,
    ) -> None:
        self._writer, self._judge, self._clock = writer, judge, clock
        self._ask_origin, self._cursor = origin, cursor
        self._figures = StoreFigures(writer.status, clock)
        self._origin = origin()
        self._queue: SimpleQueue[tuple[Act, Future[Done]]] = SimpleQueue()
        self._done: list[_Said] = []  # which the next frame shows
        self._ended: list[Ended] = []
        self._events: list[Event] = []
        self._shown: object = ()  # of the findings of the last frame
        self._changed = False
        self._written = self._whole = float("-inf")  # monotonic
        self._at = 0.0  # wall clock of the last frame
        self._wake = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)

    def start(self) -> None:
        """Write in a thread of its own from now on."""
        self._thread.start()

    def submit(self, act: Act) -> Future[Done]:
        """Have an act carried out; it is answered with the first frame that shows it.

        `UsageError` at once if it cannot be meant so.
        """
        from concurrent.futures import Future  # noqa: PLC0415 - brings logging along

        people.check(act)
        future: Future[Done] = Future()
        self._queue.put((act, future))
        return future

    def note(self, frame: Frame) -> None:
        """Take a frame in."""
        snapshot = frame.snapshot
        self._at = snapshot.at
        said, self._done = self._done, self._said()
        if self._writer.final and not said:
            return  # nothing will ever be written
        self._collect(frame)
        if any(event.kind in _RELOADS for event in snapshot.events):
            self._origin = self._ask_origin()
        now = self._clock.monotonic()
        whole = now - self._whole >= WHOLE
        if said or whole or (self._changed and now - self._written >= GAP):
            self._hand_over(said, whole=whole)
            self._written = now
            self._whole = now if whole else self._whole

    def _said(self) -> list[_Said]:
        """Carry out what people asked for since the last frame."""
        said: list[_Said] = []
        while True:
            try:
                act, future = self._queue.get_nowait()
            except Empty:
                return said
            if not future.set_running_or_notify_cancel():
                continue
            try:
                said.append((act, future, people.carry_out(act, self._judge)))
            except Exception as error:  # noqa: BLE001 - it is told to who asked
                future.set_exception(error)

    def _collect(self, frame: Frame) -> None:
        shown = []
        for one in frame.findings:
            shown.append((one.id, one.entity, one.state, one.severity, one.confidence))
            if one.state is State.RESOLVED:
                self._ended.append(_ended(one, self._judge.keys, frame.snapshot.at))
        self._events += frame.snapshot.events
        if shown != self._shown or frame.snapshot.events:
            self._shown, self._changed = shown, True

    def _hand_over(self, said: list[_Said], *, whole: bool) -> None:
        change = Change(
            self._judge.memory(),
            self._origin,
            self._at,
            self._cursor(),
            tuple(self._ended),
            tuple(self._events),
            tuple(act for act, _, _ in said),
            whole=whole,
            synchronous=bool(said) or self._changed,
        )
        self._ended, self._events, self._changed = [], [], False
        self._writer.put(change, [(future, text) for _, future, text in said])
        self._wake.set()

    def _work(self) -> None:
        while not self._stopped:
            self._wake.wait(self._writer.pause)
            self._wake.clear()
            self._writer.flush()

    def flush(self) -> None:
        """Write what waits, in the thread that calls."""
        self._writer.flush()

    def status(self) -> Status:
        """How it does; from any thread."""
        return self._writer.status()

    def figures(self) -> list[Batch]:
        """How it does, as readings."""
        return self._figures.poll()

    def close(self, *, last: bool = True) -> None:
        """Write the last; without `last` the loop's thread still hangs, and what it has is left."""
        if last and self._at:  # at least one frame
            self._hand_over([*self._done, *self._said()], whole=True)
        self._stopped = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_WAIT)
        self._writer.flush()
        self._writer.close()


def _ended(finding: Finding, keys: Mapping[int, str], at: float) -> Ended:
    begun = at if finding.first_seen is None else finding.first_seen
    life = Life(State.RESOLVED, None, begun, finding.last_seen or begun)
    return Ended(mark_of(finding, keys), at, Kept(life, told=finding))
