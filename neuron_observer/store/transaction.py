"""A change into the database, as what differs from the one before.

Each `write` is one transaction, so a file holds what was known at one instant, whenever the process
is killed. Synchronous ones are on the disk when they return; others may be lost with the power
(never with the process), and never leave a broken file (WAL, synchronous NORMAL).
"""

# ruff: noqa: S608 - names of tables and columns are constants of this file, values are bound

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from neuron_observer.model import State
from neuron_observer.store import rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from neuron_observer.collectors.kmsg import Cursor
    from neuron_observer.model import Event, Place
    from neuron_observer.rules.memory import Kept, Mark, Memory, Suppression, Word
    from neuron_observer.store.acts import Act
    from neuron_observer.store.origin import Origin

Key = TypeVar("Key")
Value = TypeVar("Value")

_SAME = "rule = ? AND key = ? AND core = ? AND label = ?"


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


def write(connection: sqlite3.Connection, before: Memory, change: Change) -> Memory:
    """Turn what holds `before` into what holds the change; what it holds then. `sqlite3.Error`."""
    mode = "FULL" if change.synchronous else "NORMAL"
    connection.execute(f"PRAGMA synchronous = {mode}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        written = _write(connection, before, change)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return written


def _write(connection: sqlite3.Connection, before: Memory, change: Change) -> Memory:
    now = change.memory
    _write_facts(connection, change)
    spot = "key, metric, core, label"
    _replace(connection, "counters", spot, (before.counters, now.counters), _spot, _only)
    _replace(
        connection, "baselines", "key, metric", (before.baselines, now.baselines), tuple, _only
    )
    _replace(connection, "settled", "key", (before.settled, now.settled), _only, _word)
    _replace(connection, "suppressions", "rule, key", (_said(before), _said(now)), tuple, tuple)
    findings = _write_findings(connection, before.findings, change)
    _write_episodes(connection, before.resolved, now.resolved)
    boot = change.origin.boot
    connection.executemany(
        "INSERT INTO events (boot, at, kind, key, device, core, label, message, fields)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((boot, *rows.event_columns(one, now.keys)) for one in change.events),
    )
    connection.executemany(
        "INSERT INTO acts (at, who, verb, subject, device, key, until, reason)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (one.columns(now.keys) for one in change.acts),
    )
    return now._replace(findings=findings)


def _write_facts(connection: sqlite3.Connection, change: Change) -> None:
    facts = {
        "origin": change.origin,
        "cursor": change.cursor,
        "keys": dict(change.memory.keys),
        "at": change.at,
    }
    connection.executemany(
        "INSERT OR REPLACE INTO facts VALUES (?, ?)",
        ((name, json.dumps(value)) for name, value in facts.items()),
    )


def _replace(
    connection: sqlite3.Connection,
    table: str,
    keys: str,
    both: tuple[Mapping[Key, Value], Mapping[Key, Value]],
    columns: Callable[[Key], tuple[object, ...]],
    values: Callable[[Value], tuple[object, ...]],
) -> None:
    """Make the rows of a table those of the second mapping, where they are those of the first."""
    before, now = both
    new = [(*columns(key), *values(v)) for key, v in now.items() if before.get(key) != v]
    if new:
        marks = ", ".join("?" * len(new[0]))
        connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", new)
    gone = before.keys() - now.keys()
    if gone:
        same = " AND ".join(f"{name} = ?" for name in keys.split(", "))
        connection.executemany(f"DELETE FROM {table} WHERE {same}", map(columns, gone))


def _spot(of: tuple[str, str, Place]) -> tuple[object, ...]:
    return of[0], of[1], *rows.place_columns(of[2])


def _only(of: object) -> tuple[object, ...]:
    return (of,)


def _word(of: Word) -> tuple[object, ...]:
    return (rows.word_text(of),)


def _said(of: Memory) -> dict[tuple[str, str], tuple[object, ...]]:
    return {(one.rule, one.key or ""): _suppression(one) for one in of.suppressions}


def _suppression(of: Suppression) -> tuple[object, ...]:
    return of.until, of.worst.value, rows.word_text(of.word)


def _write_findings(
    connection: sqlite3.Connection, before: Mapping[Mark, Kept], change: Change
) -> dict[Mark, Kept]:
    """What stands in the table then: what changes all the time waits for a whole write."""
    now = change.memory.findings
    ended = _known(change.ended, before)
    over = {(one.mark, one.kept.life.first_seen) for one in ended}
    here = {(mark.rule, mark.place, kept.life.first_seen) for mark, kept in now.items()}
    for mark, kept in before.items():
        begun = kept.life.first_seen
        if (mark not in now or now[mark].life.first_seen != begun) and (mark, begun) not in over:
            # its serial number became known: the same finding under another key
            moved = (mark.rule, mark.place, begun) in here
            _end(connection, mark, kept, change.at, moved=moved)
    fresh = {
        mark: kept
        for mark, kept in now.items()
        if mark not in before or _differs(before[mark], kept, whole=change.whole)
    }
    new = [
        (*rows.mark_columns(mark), kept.life.first_seen, *rows.kept_columns(kept), None)
        for mark, kept in fresh.items()
    ]
    new += [
        (*rows.mark_columns(mark), kept.life.first_seen, *rows.kept_columns(kept), at)
        for mark, at, kept in ended
    ]
    marks = ", ".join("?" * 14)
    connection.executemany(f"INSERT OR REPLACE INTO findings VALUES ({marks})", new)
    return {mark: fresh.get(mark) or before[mark] for mark in now}


def _known(ended: Sequence[Ended], before: Mapping[Mark, Kept]) -> list[Ended]:
    """Those that ended, under the marks by which they are in the table."""
    if not ended:
        return []
    marks = {_whose(kept): mark for mark, kept in before.items()}
    return [one._replace(mark=marks.get(_whose(one.kept), one.mark)) for one in ended]


def _whose(kept: Kept) -> object:
    told = kept.told
    if told is None:
        return None
    return told.id, told.entity._replace(serial=None), kept.life.first_seen


def _differs(before: Kept, now: Kept, *, whole: bool) -> bool:
    if before is now:
        return False
    if whole:
        return before._replace(life=before.life._replace(since=now.life.since)) != now
    return rows.shows(before) != rows.shows(now)


def _end(connection: sqlite3.Connection, mark: Mark, kept: Kept, at: float, *, moved: bool) -> None:
    """It never fired, or its rule is no more."""
    key = (*rows.mark_columns(mark), kept.life.first_seen)
    if moved or kept.life.state is State.PENDING:
        connection.execute(f"DELETE FROM findings WHERE {_SAME} AND first_seen = ?", key)
    else:
        connection.execute(
            f"UPDATE findings SET state = 'resolved', ended = ? WHERE {_SAME} AND first_seen = ?",
            (at, *key),
        )


def _write_episodes(
    connection: sqlite3.Connection,
    before: Mapping[Mark, Iterable[float]],
    now: Mapping[Mark, Iterable[float]],
) -> None:
    if before == now:
        return
    old, new = _episodes(before), _episodes(now)
    connection.executemany(f"DELETE FROM episodes WHERE {_SAME} AND at = ?", old - new)
    connection.executemany("INSERT OR REPLACE INTO episodes VALUES (?, ?, ?, ?, ?)", new - old)


def _episodes(of: Mapping[Mark, Iterable[float]]) -> set[tuple[object, ...]]:
    return {(*rows.mark_columns(mark), at) for mark, times in of.items() for at in times}
