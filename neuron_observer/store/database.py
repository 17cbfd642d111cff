"""The database: a memory in, the same memory out, and what people ask of the past.

Each `write` is one transaction, so a file holds what was known at one instant, whenever the process
is killed. Synchronous ones are on the disk when they return; others may be lost with the power
(never with the process), and never leave a broken file (WAL, synchronous NORMAL).
"""

# ruff: noqa: S608 - names of tables and columns are constants of this file, values are bound

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.collectors.kmsg import Cursor
from neuron_observer.model import Place, Verdict
from neuron_observer.rules.memory import Kept, Mark, Memory, Suppression, Word
from neuron_observer.store import rows
from neuron_observer.store.origin import Origin
from neuron_observer.store.schema import number_of, upgrade

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from neuron_observer.model import Event
    from neuron_observer.store.acts import Act

PATIENCE = 2.0  # seconds that a lock of another program is waited for
EARLIER = 2000  # latest events of this boot that are given back
_CHECKPOINT = 256  # pages of the log after which it is copied into the file
_KEPT = "state, last_seen, acknowledged, confirmed, escalated, until, word, told"


class Ended(NamedTuple):
    """A finding that is over."""

    mark: Mark
    at: float  # wall clock
    kept: Kept


class Change(NamedTuple):
    """What is to be written: the memory of one instant, and what happened since the one before."""

    memory: Memory
    origin: Origin
    at: float  # wall clock
    cursor: Cursor | None = None  # of the kernel log
    ended: tuple[Ended, ...] = ()
    events: tuple[Event, ...] = ()
    acts: tuple[Act, ...] = ()
    whole: bool = True  # also what changes all the time, as when a finding was last seen
    synchronous: bool = False


class Saved(NamedTuple):
    """What was found in a file."""

    memory: Memory = Memory()
    origin: Origin = Origin()
    cursor: Cursor | None = None
    at: float | None = None


class Database:
    """An open file."""

    def __init__(self, path: Path, *, backups: Path | None = None, writable: bool = True) -> None:
        """Opened and brought to today's schema; `sqlite3.Error`, `NewerError`, `ForeignError`."""
        self.upgraded: int | None = None  # from which schema
        if not writable:
            self.connection = _read_only(path)
            return
        self.connection = sqlite3.connect(
            path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            number = number_of(self.connection)
            backup = backups / f"{path.name}.schema-{number}" if backups and number else None
            self.connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.upgraded = upgrade(self.connection, backup)
            self.connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")
            self.connection.execute(f"PRAGMA journal_size_limit = {_CHECKPOINT * 4096}")
        except BaseException:
            self.connection.close()
            raise

    def close(self) -> None:
        """Give the file up; what stands in its log goes into it."""
        self.connection.close()

    # reading

    def load(self) -> Saved:
        """All that a next run must know; `sqlite3.Error` of a broken file."""
        facts = dict(self._rows("SELECT name, value FROM facts"))
        origin = Origin(*json.loads(facts.get("origin", "[]")))
        cursor = json.loads(facts.get("cursor", "null"))
        keys = json.loads(facts.get("keys", "{}"))
        at = json.loads(facts.get("at", "null"))
        memory = Memory(
            baselines={
                (key, metric): v
                for key, metric, v in self._rows("SELECT key, metric, value FROM baselines")
            },
            counters=self._counters(),
            findings=self._findings(),
            resolved=self._episodes(),
            suppressions=self._suppressions(),
            settled={
                key: Word(*json.loads(word))
                for key, word in self._rows("SELECT key, word FROM settled")
            },
            keys={int(index): key for index, key in keys.items()},
            events=self._earlier(origin.boot),
        )
        return Saved(memory, origin, Cursor(*cursor) if cursor else None, at)

    def _rows(self, query: str, *values: object) -> sqlite3.Cursor:
        return self.connection.execute(query, values)

    def _counters(self) -> dict[tuple[str, str, Place], int]:
        found = self._rows("SELECT key, metric, core, label, value FROM counters")
        return {(k, m, rows.place_of(core, label)): v for k, m, core, label, v in found}

    def _findings(self) -> dict[Mark, Kept]:
        query = (
            f"SELECT rule, key, core, label, first_seen, {_KEPT} FROM findings WHERE ended IS NULL"
        )
        return {
            Mark(rule, key, rows.place_of(core, label)): rows.kept_of(first_seen, columns)
            for rule, key, core, label, first_seen, *columns in self._rows(query)
        }

    def _episodes(self) -> dict[Mark, tuple[float, ...]]:
        found: dict[Mark, tuple[float, ...]] = {}
        query = "SELECT rule, key, core, label, at FROM episodes ORDER BY at"
        for rule, key, core, label, at in self._rows(query):
            mark = Mark(rule, key, rows.place_of(core, label))
            found[mark] = (*found.get(mark, ()), at)
        return found

    def _suppressions(self) -> tuple[Suppression, ...]:
        query = "SELECT rule, key, until, worst, word FROM suppressions"
        return tuple(
            Suppression(rule, key or None, until, Verdict(worst), Word(*json.loads(word)))
            for rule, key, until, worst, word in self._rows(query)
        )

    def _earlier(self, boot: str | None) -> tuple[Event, ...]:
        query = (
            "SELECT at, kind, key, device, core, label, message, fields FROM events"
            " WHERE boot = ? ORDER BY id DESC LIMIT ?"
        )
        found = [rows.event_of(columns) for columns in self._rows(query, boot, EARLIER)]
        return tuple(reversed(found))

    # writing

    def write(self, before: Memory, change: Change) -> None:
        """Turn what holds `before` into what holds the change, in one transaction."""
        mode = "FULL" if change.synchronous else "NORMAL"
        self.connection.execute(f"PRAGMA synchronous = {mode}")
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            self._write(before, change)
            self.connection.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def _write(self, before: Memory, change: Change) -> None:
        now = change.memory
        self._write_facts(change)
        self._replace("baselines", 2, _plain(before.baselines), _plain(now.baselines))
        self._replace("counters", 4, _spots(before.counters), _spots(now.counters))
        self._replace("settled", 1, _words(before.settled), _words(now.settled))
        self._replace("suppressions", 2, _said(before), _said(now))
        self._write_findings(before.findings, change)
        self._write_episodes(before, now)
        boot = change.origin.boot
        self.connection.executemany(
            "INSERT INTO events (boot, at, kind, key, device, core, label, message, fields)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((boot, *rows.event_columns(one, now.keys)) for one in change.events),
        )
        self.connection.executemany(
            "INSERT INTO acts (at, who, verb, subject, device, key, until, reason)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (one.columns(now.keys) for one in change.acts),
        )

    def _write_facts(self, change: Change) -> None:
        facts = {
            "origin": change.origin,
            "cursor": change.cursor,
            "keys": dict(change.memory.keys),
            "at": change.at,
        }
        self.connection.executemany(
            "INSERT OR REPLACE INTO facts VALUES (?, ?)",
            ((name, json.dumps(value)) for name, value in facts.items()),
        )

    def _replace(
        self,
        table: str,
        width: int,
        before: Mapping[tuple[object, ...], tuple[object, ...]],
        now: Mapping[tuple[object, ...], tuple[object, ...]],
    ) -> None:
        """Make the rows of a table those of `now`; the first `width` columns are its key."""
        new = [key + now[key] for key in now if before.get(key) != now[key]]
        gone = [key for key in before if key not in now]
        if new:
            marks = ", ".join("?" * len(new[0]))
            self.connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", new)
        if gone:
            names = [row[1] for row in self._rows(f"PRAGMA table_info({table})")][:width]
            same = " AND ".join(f"{name} = ?" for name in names)
            self.connection.executemany(f"DELETE FROM {table} WHERE {same}", gone)

    def _write_findings(self, before: Mapping[Mark, Kept], change: Change) -> None:
        now = change.memory.findings
        over = {(one.mark, one.kept.life.first_seen) for one in change.ended}
        gone = [
            (mark, kept)
            for mark, kept in before.items()
            if (mark not in now or now[mark].life.first_seen != kept.life.first_seen)
            and (mark, kept.life.first_seen) not in over
        ]
        for mark, kept in gone:  # never fired, or its rule is no more
            self._end(mark, kept, change.at)
        new = [
            (*rows.mark_columns(mark), kept.life.first_seen, *rows.kept_columns(kept), None)
            for mark, kept in now.items()
            if mark not in before or _differs(before[mark], kept, whole=change.whole)
        ]
        new += [
            (
                *rows.mark_columns(one.mark),
                one.kept.life.first_seen,
                *rows.kept_columns(one.kept),
                one.at,
            )
            for one in change.ended
        ]
        marks = ", ".join("?" * 14)
        self.connection.executemany(f"INSERT OR REPLACE INTO findings VALUES ({marks})", new)

    def _end(self, mark: Mark, kept: Kept, at: float) -> None:
        key = (*rows.mark_columns(mark), kept.life.first_seen)
        same = "rule = ? AND key = ? AND core = ? AND label = ? AND first_seen = ?"
        if kept.life.state.value == "pending":
            self._rows(f"DELETE FROM findings WHERE {same}", *key)
        else:
            query = f"UPDATE findings SET state = 'resolved', ended = ? WHERE {same}"
            self._rows(query, at, *key)

    def _write_episodes(self, before: Memory, now: Memory) -> None:
        old, new = _episodes(before.resolved), _episodes(now.resolved)
        if old == new:
            return
        self.connection.executemany(
            "DELETE FROM episodes WHERE rule = ? AND key = ? AND core = ? AND label = ? AND at = ?",
            old - new,
        )
        self.connection.executemany(
            "INSERT OR REPLACE INTO episodes VALUES (?, ?, ?, ?, ?)", new - old
        )


def _read_only(path: Path) -> sqlite3.Connection:
    """A file on a disk that cannot be written; `sqlite3.Error` if there is none."""
    error: sqlite3.Error | None = None
    for mode in ("mode=ro", "immutable=1"):  # the second where the log cannot be opened either
        try:
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?{mode}", uri=True, check_same_thread=False
            )
            connection.execute("SELECT count(*) FROM facts")
        except sqlite3.Error as failure:
            error = failure
        else:
            return connection
    raise error or sqlite3.OperationalError(f"{path}: cannot be opened")


def _plain(of: Mapping[tuple[str, str], int]) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {key: (value,) for key, value in of.items()}


def _spots(
    of: Mapping[tuple[str, str, Place], int],
) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {(key, m, *rows.place_columns(place)): (v,) for (key, m, place), v in of.items()}


def _words(of: Mapping[str, Word]) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {(key,): (rows.word_text(word),) for key, word in of.items()}


def _said(of: Memory) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {
        (one.rule, one.key or ""): (one.until, one.worst.value, rows.word_text(one.word))
        for one in of.suppressions
    }


def _episodes(of: Mapping[Mark, Iterable[float]]) -> set[tuple[object, ...]]:
    return {(*rows.mark_columns(mark), at) for mark, times in of.items() for at in times}


def _differs(before: Kept, now: Kept, *, whole: bool) -> bool:
    if whole:
        return before.life._replace(since=None) != now.life._replace(since=None) or (
            before[1:] != now[1:]
        )
    return rows.shows(before) != rows.shows(now)
