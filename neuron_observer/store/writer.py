"""The writer: one change waits at most; what cannot be written waits in memory, bounded."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.errors import ObserverError
from neuron_observer.model import NODE, Event
from neuron_observer.rules.memory import Memory
from neuron_observer.store.acts import Done
from neuron_observer.store.database import PATIENCE
from neuron_observer.store.opening import is_passing, open_or_set_aside
from neuron_observer.store.retention import LOG_MOST, Retention, prune, used

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from neuron_observer.clock import Clock
    from neuron_observer.store.database import Database
    from neuron_observer.store.files import Directory
    from neuron_observer.store.opening import Opened
    from neuron_observer.store.transaction import Change

MOST_WAITING = 5000  # events, and findings that are over, that wait in memory
MOST_AT_ONCE = 1000  # events of one write: the latest; a flood must not fill the disk
RETRY = 10.0  # seconds after which a disk that refused is tried again
PRUNE = 3600.0  # seconds between two looks for what is too old
_IDLE = 60.0  # seconds


class Status(NamedTuple):
    """How the store does."""

    writable: bool
    problem: str
    bytes: int
    written_at: float | None  # wall clock of what was written last
    waiting: int  # events and findings that are over, in memory only
    dropped: int  # events that were not kept, for lack of room


class Writer:
    """Owns the database once it is open. Any thread may `put`; one at a time may `flush`."""

    def __init__(
        self,
        directory: Directory | None,
        opened: Opened,
        clock: Clock,
        *,
        retention: Retention = Retention(),  # noqa: B008 - immutable
        tell: Callable[[Event], None] = lambda _: None,
    ) -> None:
        self._directory, self._clock, self._tell = directory, clock, tell
        self._retention = retention
        self._database: Database | None = opened.database
        self._read = opened.read
        self.final = opened.final or directory is None  # nothing will ever be written
        self._saved: Memory = opened.stored
        self._lock = threading.Lock()  # of what waits
        self._writing = threading.Lock()
        self._waiting: Change | None = None
        self._answers: list[tuple[Future[Done], str]] = []
        self._dropped = 0
        self._problem = ""
        self._retry_at = self._prune_at = float("-inf")
        self._written_at: float | None = None
        for event in opened.told:
            tell(event)
        if opened.problem:
            self._troubled(opened.problem)

    @property
    def pause(self) -> float:
        """Seconds after which to look again without being woken."""
        return RETRY if self._problem and not self.final else _IDLE

    def status(self) -> Status:
        """How it does now; from any thread."""
        waiting = self._waiting
        count = len(waiting.ended) + len(waiting.events) if waiting else 0
        size = self._directory.bytes() if self._directory else 0
        good = self._database is not None and not self._problem
        return Status(good, self._problem, size, self._written_at, count, self._dropped)

    def put(self, change: Change, answers: list[tuple[Future[Done], str]]) -> None:
        """To be written next, together with what waits."""
        with self._lock:
            self._waiting = self._joined(self._waiting, change)
            self._answers += answers

    def _joined(self, older: Change | None, newer: Change) -> Change:
        if older is None:
            return newer._replace(events=self._latest(newer.events, MOST_AT_ONCE))
        return newer._replace(
            ended=(*older.ended, *newer.ended)[-MOST_WAITING:],
            events=self._latest((*older.events, *newer.events), MOST_WAITING),
            acts=(*older.acts, *newer.acts)[-MOST_WAITING:],
            whole=older.whole or newer.whole,
            synchronous=older.synchronous or newer.synchronous,
        )

    def _latest(self, events: tuple[Event, ...], most: int) -> tuple[Event, ...]:
        self._dropped += max(len(events) - most, 0)
        return events[-most:]

    def flush(self) -> None:
        """Write what waits, if there is any and the disk may be tried."""
        with self._writing:
            change, answers = self._taken()
            if change is None:
                return
            kept = self._tried(change, hurry=bool(answers))
            if not kept:
                self._give_back(change)
            for future, text in answers:
                future.set_result(Done(text, kept, "" if kept else self._problem))

    def _taken(self) -> tuple[Change | None, list[tuple[Future[Done], str]]]:
        with self._lock:
            change, self._waiting = self._waiting, None
            answers, self._answers = self._answers, []
        return change, answers

    def _give_back(self, change: Change) -> None:
        if self.final:
            return
        with self._lock:
            newer = self._waiting
            self._waiting = change if newer is None else self._joined(change, newer)

    def _tried(self, change: Change, *, hurry: bool) -> bool:
        if self.final or (self._clock.monotonic() < self._retry_at and not hurry):
            return False
        try:
            self._write(change)
        except (sqlite3.Error, OSError, ObserverError) as error:
            self._close()
            if _is_broken(error) and self._begin_anew(change):
                return True
            self._troubled(str(error))
            return False
        return True

    def _begin_anew(self, change: Change) -> bool:
        """The file broke under our hands: set it aside, and write all of it again."""
        try:
            if self._directory is not None:
                aside = self._directory.set_aside("corrupt")
                self._say("store_set_aside", f"the state broke; it stands in {aside.name} now")
            self._write(change)
        except (sqlite3.Error, OSError, ObserverError):
            return False
        return True

    def _write(self, change: Change) -> None:
        database = self._database or self._reopened()
        self._bound_log(database)
        self._saved = database.write(self._saved, change)
        self._written_at, self._retry_at = change.at, float("-inf")
        if self._problem:
            self._problem = ""
            self._say("store_writable", "the state can be written again")
        now = self._clock.monotonic()
        if now >= self._prune_at or used(database.connection) > self._retention.of_file:
            self._prune_at = now + PRUNE
            prune(database.connection, self._retention, change.at)

    def _reopened(self) -> Database:
        directory = self._directory
        if directory is None:
            raise ObserverError("no state directory was given")
        directory.hold()
        told: list[Event] = []
        if not self._read and directory.database.exists():  # it may hold more than we know
            directory.set_aside("unread")
        self._read = True
        database, _ = open_or_set_aside(directory, told, self._clock.wall())
        if not database.upgraded:
            self._saved = Memory()
        for event in told:
            self._tell(event)
        self._database = database
        return database

    def _bound_log(self, database: Database) -> None:
        """A reader that stays keeps the log from being used again: it must not fill the disk."""
        directory = self._directory
        if directory is None or directory.log_bytes() <= LOG_MOST:
            return
        database.connection.execute("PRAGMA busy_timeout = 0")
        busy, *_ = database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        database.connection.execute(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")
        if busy:
            raise ObserverError("a program that reads the state holds it; its log is full")

    def _troubled(self, problem: str) -> None:
        self._retry_at = self._clock.monotonic() + RETRY
        if not self._problem:
            self._say("store_unwritable", f"the state is kept in memory only: {problem}")
        self._problem = problem

    def _say(self, kind: str, message: str) -> None:
        self._tell(Event(kind, NODE, self._clock.wall(), message))

    def _close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            try:
                database.close()
            except sqlite3.Error:
                return

    def close(self) -> None:
        """Give file and directory up."""
        self._close()
        if self._directory is not None:
            self._directory.release()


def _is_broken(error: Exception) -> bool:
    passing = isinstance(error, (OSError, ObserverError)) or is_passing(error)
    return not passing and "locked" not in str(error)
