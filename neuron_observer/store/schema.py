"""The tables, as steps from an empty file to today's; the schema number counts the steps taken."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from neuron_observer.errors import ObserverError

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION = 0x4E4F4253  # marks the file as ours (PRAGMA application_id)

_STEPS = (
    """
    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE counters (
        key TEXT, metric TEXT, core INTEGER, label TEXT, value INTEGER NOT NULL,
        PRIMARY KEY (key, metric, core, label)
    ) WITHOUT ROWID;
    CREATE TABLE baselines (
        key TEXT, metric TEXT, value INTEGER NOT NULL, PRIMARY KEY (key, metric)
    ) WITHOUT ROWID;
    CREATE TABLE findings (
        rule TEXT, key TEXT, core INTEGER, label TEXT, first_seen REAL,
        state TEXT NOT NULL, last_seen REAL NOT NULL, acknowledged INTEGER NOT NULL,
        confirmed INTEGER NOT NULL, escalated INTEGER NOT NULL, until REAL, word TEXT, told TEXT,
        ended REAL,
        PRIMARY KEY (rule, key, core, label, first_seen)
    ) WITHOUT ROWID;
    CREATE INDEX findings_ended ON findings (ended);
    CREATE TABLE episodes (
        rule TEXT, key TEXT, core INTEGER, label TEXT, at REAL,
        PRIMARY KEY (rule, key, core, label, at)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE events (
        id INTEGER PRIMARY KEY, boot TEXT, at REAL NOT NULL, kind TEXT NOT NULL,
        key TEXT NOT NULL, device INTEGER NOT NULL, core INTEGER NOT NULL, label TEXT NOT NULL,
        message TEXT NOT NULL, fields TEXT NOT NULL
    );
    CREATE INDEX events_at ON events (at);
    """,
    """
    CREATE TABLE suppressions (
        rule TEXT, key TEXT, until REAL NOT NULL, worst TEXT NOT NULL, word TEXT NOT NULL,
        PRIMARY KEY (rule, key)
    ) WITHOUT ROWID;
    CREATE TABLE settled (key TEXT PRIMARY KEY, word TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE acts (
        id INTEGER PRIMARY KEY, at REAL NOT NULL, who TEXT NOT NULL, verb TEXT NOT NULL,
        subject TEXT NOT NULL, device INTEGER, key TEXT NOT NULL, until REAL, reason TEXT NOT NULL
    );
    """,
)
NUMBER = len(_STEPS)


class NewerError(ObserverError):
    """The file was written by a later version of this program."""


class ForeignError(ObserverError):
    """The file is a database, but none of ours."""


def number_of(connection: sqlite3.Connection) -> int:
    """The schema number of a file; 0 for an empty one. `NewerError`, `ForeignError`."""
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (number or tables) and application != APPLICATION:
        raise ForeignError("the file is a database of another program")
    if number > NUMBER:
        raise NewerError(f"schema {number} is of a later version; this one knows {NUMBER}")
    return int(number)


def upgrade(connection: sqlite3.Connection, backup: Path | None, to: int = NUMBER) -> int:
    """Bring a file to a schema; its number before. What is there is copied to `backup` first."""
    before = number_of(connection)
    if before >= to:
        return before
    if before and backup is not None:
        with closing(sqlite3.connect(backup)) as copy:
            connection.backup(copy)
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in _STEPS[before:to]:
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {to}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return before
