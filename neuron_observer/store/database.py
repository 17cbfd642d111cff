"""The database of a state directory: opened, brought to today's schema, read, written."""

# ruff: noqa: S608 - names of tables and columns are constants of this file, values are bound

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.collectors.kmsg import Cursor
from neuron_observer.model import Place, Verdict
from neuron_observer.rules.memory import Kept, Mark, Memory, Suppression, Word
from neuron_observer.store import rows, transaction
from neuron_observer.store.origin import Origin
from neuron_observer.store.schema import number_of, upgrade

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.model import Event
    from neuron_observer.store.transaction import Change

PATIENCE = 2.0  # seconds that a lock of another program is waited for
EARLIER = 2000  # latest events of this boot that are given back
_CHECKPOINT = 256  # pages of the log after which it is copied into the file
_KEPT = "state, last_seen, acknowledged, confirmed, escalated, until, word, told"


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

    def write(self, before: Memory, change: Change) -> Memory:
        """Turn what holds `before` into what holds the change; what it holds then."""
        return transaction.write(self.connection, before, change)


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
