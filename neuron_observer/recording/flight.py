"""The flight recorder: the last minutes of all that is read, written when a finding fires.

It sits on the reader's tape and listens to frames. The loop's thread only gathers; a thread that
lives as long as a dump writes it. What cannot be written is told once, and all goes on.
"""

from __future__ import annotations

import threading
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.model import NODE, Event, Severity, State
from neuron_observer.recording import encoding
from neuron_observer.recording.ring import Ring
from neuron_observer.recording.tape import HostTape
from neuron_observer.recording.writer import header_row

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from concurrent.futures import Future

    from neuron_observer.model import Finding, Frame, Scalar
    from neuron_observer.observer import HostReader
    from neuron_observer.recording.dumps import Dumps
    from neuron_observer.recording.tape import Chunk

MOST_NAMED = 20  # findings that a dump names
_LAST_WAIT = 5.0  # seconds for the dump at hand when all ends


class Limits(NamedTuple):
    """What the recorder may take."""

    window: float = 900.0  # seconds
    bytes: int = 8_000_000  # in memory
    disk_bytes: int = 500_000_000
    every: float = 600.0  # seconds between two dumps


class Status(NamedTuple):
    """How it does."""

    bytes: int
    seconds: float
    dumps: int
    failed: int
    disk_bytes: int | None  # None: nothing is kept on the disk


class _Dump(NamedTuple):
    at: float
    why: str
    parts: list[bytes]
    asked: list[Future[str]]


class FlightRecorder:
    """Give `tape` to the reader's host, then `begin` with the reader; listen with `note`."""

    def __init__(
        self,
        limits: Limits,
        dumps: Dumps | None,
        *,
        tell: Callable[[Event], None] = lambda _: None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`tell` puts events into frames; `options` go into the head of a dump."""
        self.tape = HostTape(self._take, lean=True)
        self.tell = tell
        self._ring = Ring(self.tape.base, window=limits.window, limit=limits.bytes)
        self._limits = limits
        self._dumps = dumps
        self._options = dict(options or {})
        self._reader: HostReader | None = None
        self._began = 0.0  # wall clock; findings of before are no news
        self._standing: set[Hashable] = set()
        self._wanted: dict[str, None] = {}  # findings that fired and were not written yet
        self._asked: SimpleQueue[tuple[str, Future[str]]] = SimpleQueue()
        self._last: float | None = None  # monotonic, of the last dump beside a finding
        self._thread: threading.Thread | None = None
        self._written = self._failed = 0
        self._disk_bytes: int | None = None
        self._problem = ""
        self._told_short = False

    def begin(self, reader: HostReader) -> None:
        """Its host has the tape; the first tick is still to come."""
        self._reader = reader
        self._began = reader.clock.wall()
        self._ring.begin()
        if self._dumps is not None:
            self._disk_bytes = self._dumps.bytes()

    def _take(self, chunk: Chunk) -> None:
        self._ring.take(chunk)

    def configure(self, limits: Limits) -> None:
        """Other limits from now on."""
        self._limits = limits
        self._ring.window, self._ring.limit = limits.window, limits.bytes
        if self._dumps is not None:
            self._dumps.limit = limits.disk_bytes

    def note(self, frame: Frame, periods: Mapping[str, float]) -> None:
        """A frame was made, at lanes of such periods."""
        self.tape.periods(periods)
        self._look(frame)
        now = frame.snapshot.monotonic
        asked = self._requests()
        due = self._last is None or now - self._last >= self._limits.every
        if asked or (self._wanted and due):
            self._dump(frame, asked)
        self._tell_shortened(frame)
        if self.tape.error:
            self._fail(f"ticks were lost: {self.tape.error}", [])
            self.tape.error = ""

    def _look(self, frame: Frame) -> None:
        """What fired since the last frame."""
        standing: set[Hashable] = set()
        for one in frame.findings:
            if one.state is not State.FIRING or one.shadow or one.severity is Severity.INFO:
                continue
            whose = one.id, one.entity._replace(serial=None)
            standing.add(whose)
            if whose not in self._standing and not self._is_old(one):
                self._wanted[one.id] = None
        self._standing = standing

    def _is_old(self, finding: Finding) -> bool:
        """Whether an earlier run found it, which a restart only repeats."""
        return finding.first_seen is not None and finding.first_seen < self._began

    def request(self, why: str) -> Future[str]:
        """Have what is held written after the next frame; the file's name. From any thread."""
        from concurrent.futures import Future  # noqa: PLC0415 - brings logging along

        future: Future[str] = Future()
        self._asked.put((why, future))
        return future

    def _requests(self) -> list[tuple[str, Future[str]]]:
        found: list[tuple[str, Future[str]]] = []
        if self._asked.empty():
            return found
        while True:
            try:
                why, future = self._asked.get_nowait()
            except Empty:
                return found
            if future.set_running_or_notify_cancel():
                found.append((why, future))

    def _dump(self, frame: Frame, asked: list[tuple[str, Future[str]]]) -> None:
        findings = list(self._wanted)[:MOST_NAMED]
        futures = [future for _, future in asked]
        reasons = [why for why, _ in asked]
        if findings:
            self._last = frame.snapshot.monotonic
            self._wanted.clear()
        if self._thread is not None and self._thread.is_alive():
            self._fail("the dump before is still being written", futures)
            return
        if self._dumps is None or self._reader is None:
            self._fail("no state directory was given", futures, told=bool(asked))
            return
        self.tape.flush()
        head = header_row(
            self._reader,
            self._ring.oldest,
            options=self._options,
            why={"findings": findings, "asked": reasons},
        )
        parts = [encoding.packed([head]), *self._ring.parts()]
        dump = _Dump(frame.snapshot.at, (findings or ["asked"])[0], parts, futures)
        self._thread = threading.Thread(
            target=self._write, args=(self._dumps, dump), name="recorder", daemon=True
        )
        self._thread.start()

    def _write(self, dumps: Dumps, dump: _Dump) -> None:
        try:
            path = dumps.write(dump.at, dump.why, dump.parts)
            self._disk_bytes = dumps.bytes()
        except Exception as error:  # noqa: BLE001 - whatever it is, the daemon goes on
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self._fail(f"{dumps.folder}: {why}", dump.asked)
            return
        self._written += 1
        self._problem = ""
        size = sum(map(len, dump.parts))
        fields: dict[str, Scalar] = {"file": str(path), "bytes": size, "about": dump.why}
        text = f"what was read before is recorded: {path}"
        self.tell(Event("recording_written", NODE, dump.at, text, fields))
        for future in dump.asked:
            future.set_result(str(path))

    def _fail(self, why: str, asked: list[Future[str]], *, told: bool = True) -> None:
        """Nothing was written; the same problem is told once."""
        self._failed += 1
        if told and why != self._problem and self._reader is not None:
            at = self._reader.clock.wall()
            self.tell(Event("recording_failed", NODE, at, f"not recorded: {why}"))
        self._problem = why
        for future in asked:
            future.set_exception(OSError(why))

    def _tell_shortened(self, frame: Frame) -> None:
        before, self._told_short = self._told_short, self._ring.shortened
        if self._told_short > before:
            text = f"the recorder's bytes are used up: it holds {self._ring.seconds:.0f} s"
            self.tell(Event("recorder_shortened", NODE, frame.snapshot.at, text))

    def status(self) -> Status:
        """How it does."""
        held = self._ring.held + self.tape.waiting_bytes
        seconds = self._ring.seconds
        return Status(held, seconds, self._written, self._failed, self._disk_bytes)

    def close(self) -> None:
        """Let the dump at hand be finished."""
        if self._thread is not None:
            self._thread.join(_LAST_WAIT)
