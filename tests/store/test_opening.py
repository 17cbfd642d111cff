"""What is found at the start: nothing, ours, newer, broken, held, of a disk that is read-only."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.model import Place
from neuron_observer.rules.memory import Memory
from neuron_observer.store import open_store, schema
from neuron_observer.store.files import NAME, Directory, HeldError
from tests.store.nodes import Node, host

if TYPE_CHECKING:
    from pathlib import Path

KEPT = Memory(counters={("key", "core.execution.timeout", Place(None, 1)): 7})


def saved(state: Path) -> Path:
    """A state directory with something in it; its database."""
    store = open_store(state, host(), ManualClock())
    store.save(KEPT)
    store.close()
    return state / NAME


def loaded(state: Path) -> tuple[Memory, str, list[str]]:
    """What is remembered, why it cannot be written, what is told."""
    store = open_store(state, host(), ManualClock())
    told = [one.kind for one in store._opened.told]
    store.close()
    return store.load(), store.problem, told


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    """In a directory that was not there."""
    saved(tmp_path / "state")
    memory, problem, told = loaded(tmp_path / "state")
    assert memory.counters == KEPT.counters
    assert (problem, told) == ("", [])


def test_without_a_directory_it_is_memory_only() -> None:
    """And says so."""
    store = open_store(None, host(), ManualClock())
    store.save(KEPT)
    assert store.load() == Memory()
    assert store.problem == "no state directory was given"


@pytest.mark.parametrize(
    "content",
    [b"this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 4096, b"\0" * 8192],
    ids=["text", "broken", "zeros"],
)
def test_a_corrupt_file_is_set_aside(tmp_path: Path, content: bytes) -> None:
    """With all its bytes; a new one is begun, and that is told."""
    database = saved(tmp_path)
    database.write_bytes(content)
    memory, problem, told = loaded(tmp_path)
    assert (memory, problem, told) == (Memory(), "", ["store_set_aside"])
    assert (tmp_path / f"{NAME}.corrupt.1").read_bytes() == content
    assert loaded(tmp_path)[2] == []


def test_a_file_with_a_broken_page_is_set_aside(tmp_path: Path) -> None:
    """The head is fine, a table is not."""
    database = saved(tmp_path)
    content = bytearray(database.read_bytes())
    content[4096:] = b"\x5a" * (len(content) - 4096)
    database.write_bytes(content)
    assert loaded(tmp_path)[2] == ["store_set_aside"]


def test_a_newer_file_is_set_aside_and_never_overwritten(tmp_path: Path) -> None:
    """Also when it happens twice."""
    for number in (1, 2):
        with closing(sqlite3.connect(saved(tmp_path))) as newer:
            newer.execute(f"PRAGMA user_version = {schema.NUMBER + number}")
        assert loaded(tmp_path)[2] == ["store_set_aside"]
        with closing(sqlite3.connect(tmp_path / f"{NAME}.newer.{number}")) as aside:
            assert aside.execute("SELECT value FROM counters").fetchall() == [(7,)]
            assert aside.execute("PRAGMA user_version").fetchone() == (schema.NUMBER + number,)


def test_an_older_file_is_upgraded_and_copied(tmp_path: Path) -> None:
    """What it held stands; a copy of it as it was lies beside it."""
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as old:
        schema.upgrade(old, None, to=1)
        old.execute("INSERT INTO counters VALUES ('key', 'core.execution.timeout', 1, '', 7)")
    memory, _, told = loaded(tmp_path)
    assert memory.counters == KEPT.counters
    assert told == ["store_upgraded"]
    assert (tmp_path / f"{NAME}.schema-1").exists()


def test_another_daemon_keeps_its_state(tmp_path: Path) -> None:
    """The second one is told who has it, touches nothing, and goes on in memory."""
    first = Directory(tmp_path)
    saved(tmp_path)
    first.hold()
    before = (tmp_path / NAME).read_bytes()
    second = open_store(tmp_path, host(), ManualClock())
    assert "another daemon uses this directory (pid " in second.problem
    assert second.load() == Memory()
    assert (tmp_path / NAME).read_bytes() == before
    with pytest.raises(HeldError):
        Directory(tmp_path).hold()
    first.release()


def test_a_file_that_another_program_locks_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No daemon of ours does that; its bytes stay."""
    monkeypatch.setattr("neuron_observer.store.database.PATIENCE", 0.01)
    database = saved(tmp_path)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        assert loaded(tmp_path)[2] == ["store_set_aside"]
        other.execute("COMMIT")
    assert (tmp_path / f"{NAME}.locked.1").exists()


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """A file stands where it should be: memory only, and why."""
    (tmp_path / "state").write_text("a file", "utf-8")
    node = Node(tmp_path / "state", [])
    node.look()
    node.flush()
    node.look(1.0)
    assert "File exists" in node.store.problem
    assert (tmp_path / "state").read_text("utf-8") == "a file"
    node.kill()


def test_of_files_set_aside_the_newest_stay(tmp_path: Path) -> None:
    """A file that breaks each day must not fill the disk."""
    database = saved(tmp_path)
    directory = Directory(tmp_path)
    for _ in range(7):
        shutil.copy(database, tmp_path / "again")
        directory.set_aside("corrupt")
        shutil.move(tmp_path / "again", database)
    assert len(list(tmp_path.glob(f"{NAME}.corrupt.*"))) == 4
