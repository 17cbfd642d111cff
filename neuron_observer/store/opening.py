"""Opening what an earlier run left; what cannot be used is set aside and told, never lost."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import NODE, Event
from neuron_observer.rules.memory import Memory
from neuron_observer.store.database import Database, Saved
from neuron_observer.store.files import HeldError
from neuron_observer.store.rebasing import rebased
from neuron_observer.store.schema import NUMBER, ForeignError, NewerError

if TYPE_CHECKING:
    from neuron_observer.store.files import Directory
    from neuron_observer.store.origin import Origin

# What sqlite3 says where the disk, not the file, is the trouble; it may be well again later.
_PASSING = ("unable to open", "readonly", "read-only", "full", "disk i/o", "access permission")


class Opened(NamedTuple):
    """What was found."""

    saved: Saved = Saved()
    stored: Memory = Memory()  # as it stands in the file, not yet made fit for now
    database: Database | None = None  # None: in memory only, for now
    problem: str = ""  # why
    final: bool = False  # it will not get better while this process lives
    read: bool = True  # whether what is there was read; else it may hold more than is known
    told: tuple[Event, ...] = ()


def open_state(directory: Directory, origin: Origin, wall: float) -> Opened:
    """The state as it was kept, made fit for this boot. Never raises for what it finds."""
    try:
        directory.hold()
    except HeldError as error:
        return Opened(problem=f"{error.message}. {error.remedy}", final=True, read=False)
    except OSError as error:
        return _read_only(directory, origin, f"{directory.path}: {error.strerror or error}", wall)
    try:
        return _opened(directory, origin, wall)
    except (sqlite3.Error, OSError) as error:
        return _read_only(directory, origin, f"{directory.database}: {error}", wall)


def _opened(directory: Directory, origin: Origin, wall: float) -> Opened:
    told: list[Event] = []
    database, saved = open_or_set_aside(directory, told, wall)
    if origin.is_other_machine(saved.origin):
        database.close()
        directory.set_aside(f"of-{saved.origin.instance}")
        was = f"it is of {saved.origin.instance}, and this is {origin.instance}"
        told.append(_set_aside(directory, was, wall))
        database, saved = Database(directory.database), Saved()
    if database.upgraded and database.upgraded < NUMBER:
        message = f"the state was of schema {database.upgraded}, now {NUMBER}; a copy was kept"
        told.append(Event("store_upgraded", NODE, wall, message))
    told += _news(saved.origin, origin, wall)
    memory = rebased(saved.memory, saved.origin, origin)
    return Opened(saved._replace(memory=memory), saved.memory, database, told=tuple(told))


def open_or_set_aside(
    directory: Directory, told: list[Event], wall: float
) -> tuple[Database, Saved]:
    """The database, a new one where the old cannot be used; `sqlite3.Error` of the disk."""
    database = None
    try:
        database = Database(directory.database, backups=directory.path)
        return database, database.load()
    except NewerError as error:
        why, text = "newer", str(error)
    except ForeignError as error:
        why, text = "foreign", str(error)
    except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
        if is_passing(error):
            raise
        why = "locked" if "locked" in str(error) else "corrupt"
        text = str(error)
    if database is not None:
        with suppress(sqlite3.Error):
            database.close()
    directory.set_aside(why)
    told.append(_set_aside(directory, text, wall))
    return Database(directory.database), Saved()


def is_passing(error: Exception) -> bool:
    """Whether the disk is the trouble, not the file."""
    return isinstance(error, sqlite3.OperationalError) and any(
        part in str(error).lower() for part in _PASSING
    )


def _set_aside(directory: Directory, why: str, wall: float) -> Event:
    message = f"the state in {directory.path} was set aside and a new one begun: {why}"
    return Event("store_set_aside", NODE, wall, message)


def _read_only(directory: Directory, origin: Origin, problem: str, wall: float) -> Opened:
    """What is there counts, although nothing can be written."""
    if not os.path.exists(directory.database):  # noqa: PTH110 - False also where nobody may look
        return Opened(problem=problem)
    try:
        database = Database(directory.database, writable=False)
        saved = database.load()
        database.close()
    except (sqlite3.Error, ValueError, TypeError, KeyError):
        return Opened(problem=problem, read=False)
    if origin.is_other_machine(saved.origin):
        return Opened(problem=problem, read=False)
    memory = rebased(saved.memory, saved.origin, origin)
    told = tuple(_news(saved.origin, origin, wall))
    return Opened(saved._replace(memory=memory), saved.memory, problem=problem, told=told)


def _news(before: Origin, now: Origin, wall: float) -> list[Event]:
    """What happened while nobody watched."""
    if now.is_other_boot(before) or not now.is_other_load(before):
        return []
    message = "the driver was loaded anew while nobody watched"
    return [Event("driver_reloaded", NODE, wall, message)]
