"""A feed from a daemon: its frames rebuilt here, so that a screen shows them as its own.

The connection may go and come: the last frame stays, older and older, a run of its says why, and
asking goes on with growing pauses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_observer.client.batches import Batches
from neuron_observer.client.columns import Columns
from neuron_observer.client.frames import event, frame, understood
from neuron_observer.client.kept import Kept
from neuron_observer.client.polling import Polling
from neuron_observer.errors import DaemonError
from neuron_observer.feed import CONNECTION
from neuron_observer.history import History
from neuron_observer.model import Frame, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.client import Client, Reply
    from neuron_observer.clock import Clock
    from neuron_observer.errors import ObserverError
    from neuron_observer.model import Event, Place, Value

PERIOD = 1.0  # seconds between two questions
EVENTS_PERIOD = 2.0  # seconds, while somebody looks at them
TEXTS_PERIOD = 10.0  # seconds; a text tells also what shows the finding now
_NO_SUCH_PATH = 404


class ConnectedFeed:
    """Asks a daemon for its snapshot, each second in a thread of its own or when told to."""

    def __init__(self, client: Client, clock: Clock, history: History | None = None) -> None:
        self._client = client
        self._clock = clock
        self._history = history or History()
        self._columns: Columns | None = Columns()
        self._batches = Batches()  # of snapshots
        self._frame: Frame | None = None
        self._tag = ""
        self._seen: set[str] = set()  # findings whose texts were asked for before anybody looks
        self._polling = Polling(self._poll_all, self._lost, PERIOD)
        self._events = Kept(self._ask_events, clock, EVENTS_PERIOD)
        self._texts = Kept(self._ask_text, clock, TEXTS_PERIOD)
        self.start = self._polling.start
        self.close = self._polling.close
        self.look = self._polling.look

    @property
    def pause(self) -> float:
        """Seconds until the next question."""
        return self._polling.pause

    def _poll_all(self) -> None:
        self.poll()
        self._events.look()
        self._texts.look()

    def poll(self) -> Frame:
        """Ask once, and take what is new; `DaemonError` where nothing is to be had."""
        begin = self._clock.monotonic()
        reply = self._ask()
        if reply.document is None:
            if self._frame is None:
                raise DaemonError(f"{self._client.address}: answered without a document")
            return self._take(self._frame)
        told = reply.document.get("frame")
        age = told.get("age") if isinstance(told, dict) else None
        if not isinstance(age, (int, float)) or isinstance(age, bool) or not 0 <= age < 1e9:
            raise DaemonError(f"{self._client.address}: the snapshot does not tell its age")
        found = self._read(reply.document, begin - age)
        self._history.add(found.snapshot)
        self._tag = reply.tag
        return self._take(found)

    def _ask(self) -> Reply:
        """The frame as columns; of a daemon that has none, an older one, the snapshot."""
        if self._columns is not None:
            try:
                query = {"layouts": self._columns.id}
                return self._client.fetch("columns", query, tag=self._tag)
            except DaemonError as error:
                if error.status != _NO_SUCH_PATH:
                    raise
                self._columns = None
        return self._client.fetch("snapshot", tag=self._tag)

    def _read(self, document: dict[str, Any], monotonic: float) -> Frame:
        if self._columns is not None:
            return self._columns.frame(document, monotonic)
        return frame(document, monotonic, self._batches)

    def _take(self, found: Frame) -> Frame:
        """This is the frame, and the connection is well."""
        for one in {one.id for one in found.findings} - self._seen:
            self._seen.add(one)
            self._texts.want(one)
        self._frame = _with(found, ())
        return self._frame

    def _lost(self, error: ObserverError) -> None:
        """The frame tells it, and when the next question is put."""
        if self._frame is not None:
            why = error.message.removeprefix(f"{self._client.address}: ")
            run = Run(CONNECTION, ok=False, seconds=self.pause, error=why)
            self._frame = _with(self._frame, (run,))

    def latest(self) -> Frame | None:
        """The last frame that came; its age tells what it is worth."""
        return self._frame

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """What was asked for over the last `seconds`, oldest first; gaps stay gaps."""
        return self._history.values(metric, place, seconds)

    def last(self, metric: str, place: Place, begin: float, end: float) -> Value | None:
        """What was read last between two instants; None if nothing is held of them."""
        return self._history.last(metric, place, begin, end)

    def events(self, seconds: float) -> Sequence[Event]:
        """What the daemon held of the last `seconds` a moment ago; none before it was asked."""
        minutes = max(seconds, 0.0) // 60 + 1  # one question for spans that are nearly the same
        frame = self._frame
        found = self._events.get(f"{minutes:.0f}m")
        if frame is None or found is None:
            return []
        now = frame.snapshot.at + self._clock.monotonic() - frame.snapshot.monotonic
        return [one for one in found if one.at >= now - seconds]

    def explain(self, finding_id: str) -> str:
        """The meaning of a finding as the daemon told it; of those in the frame it is at hand."""
        return self._texts.get(finding_id) or ""

    def _ask_events(self, since: str) -> list[Event]:
        asked = {"since": since, "type": "event", "limit": "2000"}
        with understood():
            return [event(one) for one in self._client.get("events", asked)["events"]]

    def _ask_text(self, finding_id: str) -> str:
        with understood():
            return str(self._client.get("explain", {"finding": finding_id})["text"])


def _with(frame: Frame, told: tuple[Run, ...]) -> Frame:
    """A frame with these runs of its connection; the same one where that changes nothing."""
    others = tuple(run for run in frame.snapshot.runs if run.collector != CONNECTION)
    if not told and len(others) == len(frame.snapshot.runs):
        return frame
    return frame._replace(snapshot=frame.snapshot._replace(runs=(*others, *told)))
