"""A feed from a daemon: its frames rebuilt here, so that a screen shows them as its own.

The connection may go and come: the last frame stays, older and older, a run of its says why, and
asking goes on with growing pauses.
"""

from __future__ import annotations

from threading import Event as Flag
from threading import Thread
from typing import TYPE_CHECKING, Any

from neuron_observer.client.batches import Batches
from neuron_observer.client.columns import Columns
from neuron_observer.client.frames import event, frame
from neuron_observer.errors import DaemonError, ObserverError
from neuron_observer.history import History
from neuron_observer.model import Frame, Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.client import Client, Reply
    from neuron_observer.clock import Clock
    from neuron_observer.model import Event, Place, Value

PERIOD = 1.0  # seconds between two questions
LONGEST_PAUSE = 30.0  # seconds, while nobody answers
_LAST_WAIT = 1.0  # seconds for the thread to end
_NO_SUCH_PATH = 404
CONNECTION = "connection"  # the run that tells how it is


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
        self._ended = Flag()
        self._thread = Thread(target=self._run, name="poll", daemon=True)
        self.pause = PERIOD  # seconds until the next question

    def start(self) -> None:
        """Go on asking until `close`."""
        self._thread.start()

    def close(self) -> None:
        """Stop asking; a question that is under way is left behind."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(_LAST_WAIT)

    def _run(self) -> None:
        while not self._ended.wait(self.pause):
            self.look()

    def look(self) -> None:
        """Ask once; what fails is told in the last frame, and the next question waits longer."""
        try:
            self.poll()
            self.pause = PERIOD
        except ObserverError as error:
            self.pause = min(self.pause * 2, LONGEST_PAUSE)
            self._lost(error.message)

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
        runs = tuple(run for run in found.snapshot.runs if run.collector != CONNECTION)
        if len(runs) < len(found.snapshot.runs):
            found = found._replace(snapshot=found.snapshot._replace(runs=runs))
        self._frame = found
        return found

    def _lost(self, why: str) -> None:
        last = self._frame
        if last is None or any(run.collector == CONNECTION for run in last.snapshot.runs):
            return
        runs = (*last.snapshot.runs, Run(CONNECTION, ok=False, seconds=0.0, error=why))
        self._frame = last._replace(snapshot=last.snapshot._replace(runs=runs))

    def latest(self) -> Frame | None:
        """The last frame that came; its age tells what it is worth."""
        return self._frame

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:
        """What was asked for over the last `seconds`, oldest first; gaps stay gaps."""
        return self._history.values(metric, place, seconds)

    def events(self, seconds: float) -> Sequence[Event]:
        """What the daemon holds of the last `seconds`, oldest first; none while it is not there."""
        try:
            asked = {"since": f"{max(seconds, 0.0):.3f}s", "type": "event", "limit": "2000"}
            return [event(one) for one in self._client.get("events", asked)["events"]]
        except (ObserverError, KeyError, TypeError, ValueError):
            return []

    def explain(self, finding_id: str) -> str:
        """The meaning of a finding, as the daemon tells it; empty where it cannot."""
        try:
            return str(self._client.get("explain", {"finding": finding_id})["text"])
        except (ObserverError, KeyError):
            return ""
