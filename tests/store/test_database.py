"""A memory into a file and out again; cut off anywhere, it is what it was at some instant."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.collectors.kmsg import Cursor
from neuron_observer.model import Event, Place, State, Verdict
from neuron_observer.rules.lifecycle import Life
from neuron_observer.rules.memory import Kept, Mark, Memory, Suppression, Word
from neuron_observer.store.database import Database, Saved
from neuron_observer.store.origin import Origin
from neuron_observer.store.transaction import Change

HERE = Origin("i-0123456789abcdef0", "boot", "load")
keys = st.sampled_from(["", "a", "b"])
spots = st.builds(Place, st.none(), st.none() | st.integers(0, 2), st.sampled_from(["", "port"]))
marks = st.builds(Mark, st.sampled_from(["one", "two"]), keys, spots)
walls = st.integers(1, 50).map(float)
words = st.builds(Word, st.just("root"), walls, st.just("because"))
lives = st.builds(
    Life,
    st.sampled_from([State.PENDING, State.FIRING, State.ACKNOWLEDGED, State.RECOVERING]),
    st.none(),
    walls,
    walls,
    st.booleans(),
)
memories = st.builds(
    Memory,
    st.dictionaries(
        st.tuples(keys, st.sampled_from(["m", "n"])), st.integers(0, 2**60), max_size=4
    ),
    st.dictionaries(st.tuples(keys, st.just("m"), spots), st.integers(0, 2**60), max_size=4),
    st.dictionaries(
        marks,
        st.builds(Kept, lives, st.booleans(), word=st.none() | words, told=st.none()),
        max_size=4,
    ),
    st.dictionaries(
        marks, st.sets(walls, min_size=1, max_size=4).map(sorted).map(tuple), max_size=4
    ),
    st.lists(
        st.builds(
            Suppression,
            st.just("one"),
            keys.map(lambda key: key or None),
            walls,
            st.sampled_from(Verdict),
            words,
        ),
        unique_by=lambda one: one.key,
        max_size=4,
    ).map(lambda those: tuple(sorted(those, key=lambda one: one.key or ""))),
    st.dictionaries(keys, words, max_size=4),
    st.dictionaries(st.integers(0, 3), keys, max_size=4),
)


def written(database: Database, states: list[Memory]) -> None:
    """One after the other, each as a change of the one before."""
    before = Memory()
    for number, memory in enumerate(states):
        change = Change(memory, HERE, float(number), Cursor("boot", number, None))
        before = database.write(before, change)


def read(path: Path) -> Saved:
    """What a file holds."""
    database = Database(path)
    try:
        return database.load()
    finally:
        database.close()


@settings(max_examples=25, deadline=None)
@given(st.lists(memories, min_size=1, max_size=4))
def test_what_was_written_last_is_read(states: list[Memory]) -> None:
    """Whatever was there before it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        database = Database(path)
        written(database, states)
        database.close()
        saved = read(path)
    assert saved.memory == states[-1]
    assert saved.cursor == Cursor("boot", len(states) - 1, None)
    assert (saved.origin, saved.at) == (HERE, float(len(states) - 1))


@settings(max_examples=25, deadline=None)
@given(st.lists(memories, min_size=1, max_size=4), st.floats(0, 1))
def test_cut_off_anywhere_it_is_what_it_was(states: list[Memory], share: float) -> None:
    """The log ends in the middle of anything: one of the states is there, whole."""
    with TemporaryDirectory() as folder:
        path, copy = Path(folder) / "state.db", Path(folder) / "copy.db"
        database = Database(path)
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.connection.execute("PRAGMA wal_autocheckpoint = 0")
        written(database, states)
        shutil.copy(path, copy)
        log = Path(f"{path}-wal").read_bytes()
        Path(f"{copy}-wal").write_bytes(log[: int(len(log) * share)])
        database.close()
        saved = read(copy)
    number = -1 if saved.at is None else int(saved.at)
    assert saved.memory == (Memory() if number < 0 else states[number])
    if share == 1.0:
        assert number == len(states) - 1


def test_events_of_this_boot_are_given_back(tmp_path: Path) -> None:
    """In the order in which they came; those of another boot are not."""
    database = Database(tmp_path / "state.db")
    lines = tuple(Event("line", Place(3), float(at), f"line {at}", {"at": at}) for at in range(3))
    older = Change(Memory(), HERE._replace(boot="before"), 1.0, events=lines[:1])
    memory = database.write(Memory(), older)
    database.write(memory, Change(Memory(keys={3: "a"}), HERE, 2.0, events=lines[1:]))
    assert database.load().memory.events == lines[1:]
    database.close()
