"""The schema: from every older number to today's, whole or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from neuron_observer.store import schema

if TYPE_CHECKING:
    from pathlib import Path


def tables(connection: sqlite3.Connection) -> set[str]:
    """Names of the tables."""
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def opened(path: Path) -> sqlite3.Connection:
    """A file, without Python's own transactions."""
    return sqlite3.connect(path, isolation_level=None)


@pytest.mark.parametrize("number", range(1, schema.NUMBER))
def test_every_older_schema_becomes_todays(tmp_path: Path, number: int) -> None:
    """With what it held, and a copy of how it was."""
    backup = tmp_path / "backup"
    with closing(opened(tmp_path / "new")) as new, closing(opened(tmp_path / "old")) as old:
        schema.upgrade(new, None)
        schema.upgrade(old, None, to=number)
        old.execute("INSERT INTO facts VALUES ('at', '7')")
        assert schema.upgrade(old, backup) == number
        assert tables(old) == tables(new)
        assert old.execute("SELECT value FROM facts").fetchall() == [("7",)]
        assert schema.number_of(old) == schema.NUMBER
    with closing(opened(backup)) as copy:
        assert schema.number_of(copy) == number
        assert copy.execute("SELECT value FROM facts").fetchall() == [("7",)]


@pytest.mark.parametrize("number", range(1, schema.NUMBER))
def test_an_upgrade_that_fails_changes_nothing(tmp_path: Path, number: int) -> None:
    """A table of the next step stands in the way: the file is as it was."""
    with closing(opened(tmp_path / "old")) as old:
        schema.upgrade(old, None, to=number)
        before = tables(old)
        name = {1: "events", 2: "settled"}[number]
        old.execute(f"CREATE TABLE {name} (x)")
        with pytest.raises(sqlite3.OperationalError):
            schema.upgrade(old, None)
        assert tables(old) == before | {name}
        assert schema.number_of(old) == number


def test_todays_schema_is_left_alone(tmp_path: Path) -> None:
    """No step, no copy."""
    with closing(opened(tmp_path / "new")) as new:
        assert schema.upgrade(new, None) == 0
        assert schema.upgrade(new, tmp_path / "backup") == schema.NUMBER
    assert not (tmp_path / "backup").exists()


def test_a_newer_and_a_foreign_file_are_refused(tmp_path: Path) -> None:
    """Neither is touched."""
    with closing(opened(tmp_path / "newer")) as newer:
        schema.upgrade(newer, None)
        newer.execute(f"PRAGMA user_version = {schema.NUMBER + 1}")
        with pytest.raises(schema.NewerError, match="of a later version"):
            schema.upgrade(newer, None)
    with closing(opened(tmp_path / "foreign")) as foreign:
        foreign.execute("CREATE TABLE songs (name)")
        with pytest.raises(schema.ForeignError):
            schema.upgrade(foreign, None)
        assert tables(foreign) == {"songs"}
