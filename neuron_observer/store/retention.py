"""How long and how much is kept: by age, and by bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3

DAY = 86_400.0
LOG_MOST = 8 * 1024 * 1024  # bytes of the write-ahead log; a reader that stays makes it grow
_SHARE = 10  # of the time that is kept, the oldest tenth goes at once
_ROUNDS = 60


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
            if used(connection) <= retention.of_file or not _remove_oldest(connection, now):
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


def _remove_oldest(connection: sqlite3.Connection, now: float) -> bool:
    """The oldest tenth of the time that is kept; False if nothing is left to remove."""
    query = "SELECT min(at) FROM (SELECT at FROM events UNION ALL SELECT ended FROM findings)"
    (oldest,) = connection.execute(query).fetchone()
    if oldest is None:
        return False
    until = oldest + max((now - oldest) / _SHARE, 1.0)
    connection.execute("DELETE FROM events WHERE at < ?", (until,))
    connection.execute("DELETE FROM findings WHERE ended < ?", (until,))
    return True
