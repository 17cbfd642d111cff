"""How long and how much is kept: by age, and by bytes."""

# ruff: noqa: S608 - names of tables and columns are constants of this file, values are bound

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3

DAY = 86_400.0
LOG_MOST = 8 * 1024 * 1024  # bytes of the write-ahead log; a reader that stays makes it grow
_SHARE = 10  # of what is too much, the oldest tenth goes at a time
_ROUNDS = 40


class Retention(NamedTuple):
    """What is kept at most. The database and its log together take no more than `max_bytes`."""

    seconds: float = 30 * DAY
    max_bytes: int = 64 * 1000 * 1000

    @property
    def of_file(self) -> int:
        """Bytes of the database without its log."""
        return max(self.max_bytes - LOG_MOST, 1_000_000)


def prune(connection: sqlite3.Connection, retention: Retention, now: float) -> int:
    """Remove what is too old, then the oldest until the rest is small enough; rows removed."""
    before = connection.total_changes
    since = now - retention.seconds
    connection.execute("BEGIN IMMEDIATE")
    try:
        for query in (
            "DELETE FROM events WHERE at < ?",
            "DELETE FROM findings WHERE ended < ?",
            "DELETE FROM acts WHERE at < ?",
        ):
            connection.execute(query, (since,))
        for _ in range(_ROUNDS):
            if used(connection) <= retention.of_file or not _remove_oldest(connection):
                break
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    removed = connection.total_changes - before
    if removed:
        connection.execute("PRAGMA incremental_vacuum").fetchall()
    return removed


def used(connection: sqlite3.Connection) -> int:
    """Bytes of the database that hold something."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _remove_oldest(connection: sqlite3.Connection) -> bool:
    """A tenth of the events, else of the findings that are over; False if there are none."""
    for table, key, order, some in (
        ("events", "id", "id", ""),
        ("findings", "ended", "ended", "WHERE ended IS NOT NULL"),
        ("acts", "id", "id", ""),
    ):
        (count,) = connection.execute(f"SELECT count(*) FROM {table} {some}").fetchone()
        if count:
            limit = max(count // _SHARE, 1)
            oldest = f"SELECT {key} FROM {table} {some} ORDER BY {order} LIMIT {limit}"
            connection.execute(f"DELETE FROM {table} WHERE {key} IN ({oldest})")
            return True
    return False
