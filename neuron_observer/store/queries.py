"""What people ask of the past: events, findings that are over, what was said by whom.

Each question opens the file for itself, read-only, so that any thread may ask.
"""

# ruff: noqa: S608 - names of tables and columns are constants of this file, values are bound

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.model import State
from neuron_observer.store import rows
from neuron_observer.store.rows import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from neuron_observer.model import Event, Finding

MOST = 10_000  # rows of an answer


class Numbered(NamedTuple):
    """An event and its number, by which a reader goes on from it."""

    number: int
    event: Event


class Turn(NamedTuple):
    """A finding began or ended."""

    at: float  # wall clock
    change: str
    finding: Finding


class Audited(NamedTuple):
    """An act of a person."""

    at: float
    who: str
    verb: str
    subject: str
    device: int | None
    key: str
    until: float | None
    reason: str


class Past:
    """The past as it stands in a file; nothing where there is none (yet)."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def events(
        self,
        since: float | None = None,
        until: float | None = None,
        *,
        device: int | None = None,
        after: int = 0,
        most: int = MOST,
    ) -> list[Numbered]:
        """The latest events of a time (wall clock, both ends), oldest first."""
        conditions, values = ["id > ?"], [float(after)]
        for condition, value in (("at >= ?", since), ("at <= ?", until), ("device = ?", device)):
            if value is not None:
                conditions.append(condition)
                values.append(value)
        query = (
            "SELECT id, at, kind, key, device, core, label, message, fields FROM events"
            f" WHERE {' AND '.join(conditions)} ORDER BY at DESC, id DESC LIMIT ?"
        )
        found = [
            Numbered(number, rows.event_of(columns))
            for number, *columns in self._ask(query, [*values, min(most, MOST)])
        ]
        return found[::-1]

    def ended(
        self, since: float | None = None, *, device: int | None = None, most: int = MOST
    ) -> list[tuple[float, Finding]]:
        """Findings that are over, with the time of their end; the latest first."""
        query = (
            "SELECT ended, told FROM findings WHERE ended IS NOT NULL AND told IS NOT NULL"
            " AND ended >= ? ORDER BY ended DESC LIMIT ?"
        )
        asked = [since or 0.0, MOST if device is not None else min(most, MOST)]
        found = [
            (ended, rows.finding_of(told)._replace(state=State.RESOLVED))
            for ended, told in self._ask(query, asked)
        ]
        mine = [one for one in found if device in (None, one[1].entity.device)]
        return mine[:most]

    def turns(
        self, since: float | None = None, until: float | None = None, *, most: int = MOST
    ) -> list[Turn]:
        """When findings began and ended, the latest ones, oldest first."""
        first, last = since or 0.0, 9e12 if until is None else until
        query = (
            "SELECT {column}, told FROM findings"
            " WHERE {column} BETWEEN ? AND ? AND told IS NOT NULL AND state != 'pending'"
            " ORDER BY {column} DESC LIMIT ?"
        )
        found = []
        for column, change in (("first_seen", "begun"), ("ended", "ended")):
            asked = [first, last, min(most, MOST)]
            for at, told in self._ask(query.format(column=column), asked):
                state = State.RESOLVED if change == "ended" else State.FIRING
                found.append(Turn(at, change, rows.finding_of(told)._replace(state=state)))
        return sorted(found, key=lambda turn: turn.at)[-most:]

    def acts(self, since: float | None = None, *, most: int = MOST) -> list[Audited]:
        """What was said, the latest first."""
        query = (
            "SELECT at, who, verb, subject, device, key, until, reason FROM acts"
            " WHERE at >= ? ORDER BY id DESC LIMIT ?"
        )
        return [
            Audited(*columns)._replace(device=None if columns[4] == NOWHERE else columns[4])
            for columns in self._ask(query, [since or 0.0, min(most, MOST)])
        ]

    def _ask(self, query: str, values: Sequence[object]) -> Iterator[Sequence[Any]]:
        if not os.path.exists(self._path):  # noqa: PTH110 - False also where nobody may look
            return
        uri = f"{self._path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=1.0)) as connection:
            yield from connection.execute(query, values)
