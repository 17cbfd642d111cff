"""Heartbeat files that go on: little of them is read, and what was read can be played back."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.collectors.heartbeats import HeartbeatCollector
from neuron_observer.model import Job, Process, Rank
from neuron_observer.parsers import heartbeat as parse
from neuron_observer.recording.tape import HostTape
from neuron_observer.sources import regular
from neuron_observer.sources.recorded import RecordedFs
from neuron_observer.sources.rows import RowReader
from neuron_observer.sources.tapped import TappedDirectory
from tests.heartbeats import Record, file_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from neuron_observer.jobs.beats import Beat
    from neuron_observer.recording.tape import Chunk
    from neuron_observer.sources.hostfs import HostFs

FOLDER = "run/ranks"
NAME = "rank-4242-5000.hb"
JOB = Job(
    *("j", "train.py", "training", "", None),
    (Rank(Process(4242, 50.0, "python3", "train.py", (), uid=os.getuid()), 0),),
    (),
)


class Listener:
    """A collector that looks once a second."""

    def __init__(self, host: HostFs) -> None:
        self.clock = ManualClock()
        self.collector = HeartbeatCollector(host, self.clock, FOLDER)

    def look(self) -> tuple[tuple[Beat, ...], dict[str, str]]:
        """What it hears and what it refuses."""
        self.clock.advance(1.0)
        self.collector.look()
        self.collector.read([JOB], certain=True)
        return self.collector.beats, self.collector.refused


class Written(NamedTuple):
    """What its program does to the file between two looks."""

    steps: int  # more
    told: int = 0  # of the last ones the device has told by now
    anew: bool = False  # counted from 0
    torn: bool = False
    cut: bool = False


def contents(all_written: list[Written]) -> Iterator[bytes]:
    """The file after each of these; what the device told stays told."""
    source, steps, told = 0, 0, set[int]()
    for number, one in enumerate(all_written):
        steps = one.steps if one.anew else steps + one.steps
        told = set() if one.anew else told
        told |= set(range(max(steps - one.told, 0), steps))
        source = 2 if told else source
        records = [
            Record(k, k / 2, k / 2 + 0.5, 0.2 if k in told else 0.0, source=2 * (k in told))
            for k in range(steps)
        ]
        raw = file_of(records, generation=2 * number + 2 + one.torn, steps=steps, source=source)
        yield raw[:9000] if one.cut else raw


def played(parts: list[bytes]) -> Iterator[RecordedFs]:
    """The host that was recorded, tick after tick."""
    reader, host = RowReader("made up"), None
    text = gzip.decompress(b"".join(parts)).decode("utf-8", "surrogatepass")
    for row in (*text.splitlines(keepends=True), "#tick [1e6, 0.0, []]\n"):
        done = reader.take(row)
        if done is not None and host is None:
            host = RecordedFs("/", done)
        elif done is not None and host is not None:
            host.apply(done)
            if done.tick is not None:
                yield host


STEPS = st.one_of(st.integers(0, 5), st.sampled_from([30, 200, 255, 256, 257, 300]))
WRITTEN = st.builds(
    Written,
    STEPS,
    st.integers(0, 40),
    st.integers(0, 9).map(lambda one: one == 0),
    st.integers(0, 9).map(lambda one: one == 0),
    st.integers(0, 9).map(lambda one: one == 0),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=st.lists(WRITTEN, min_size=2, max_size=12), packed_every=st.integers(0, 3))
def test_who_hears_a_recording_hears_what_was_heard(
    written: list[Written], packed_every: int, tmp_path: Path
) -> None:
    """New steps, device times that come later, once round the ring, anew, torn, cut."""
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append)
    (tmp_path / FOLDER).mkdir(parents=True, exist_ok=True)
    base = b"".join(tape.base())
    live, direct = Listener(TappedDirectory(str(tmp_path), tape)), []
    for number, raw in enumerate(contents(written)):
        (tmp_path / FOLDER / NAME).write_bytes(raw)
        direct.append(live.look())
        tape.tick(float(number), 0.0, ())
        if packed_every and number % packed_every == 0:
            tape.flush()
    tape.flush()
    hosts = played([base, *[chunk.content for chunk in chunks]])
    again = Listener(next(hosts))
    assert [again.look(), *[again.look() for _ in hosts]] == direct


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each read gave."""
    found: list[int] = []

    def pread(descriptor: int, length: int, offset: int) -> bytes:
        content = os.pread(descriptor, length, offset)
        found.append(len(content))
        return content

    class Counted:
        def __getattr__(self, name: str) -> object:
            return pread if name == "pread" else getattr(os, name)

    monkeypatch.setattr(regular, "os", Counted())
    return found


def test_of_a_file_that_goes_on_only_what_is_new_is_read(tmp_path: Path, read: list[int]) -> None:
    """The whole file first, and when the new steps go round its ring."""
    (tmp_path / FOLDER).mkdir(parents=True)
    listener = Listener(TappedDirectory(str(tmp_path), HostTape(lambda _: None)))
    most: list[int] = []
    for raw in contents([*map(Written, (200, 2, 0, 58, 40)), Written(3, told=1)]):
        (tmp_path / FOLDER / NAME).write_bytes(raw)
        listener.look()
        most.append(sum(read) - max(read, default=0) // parse.SIZE * parse.SIZE)
        assert (max(read) == parse.SIZE) == (len(most) in (1, 4)), f"look {len(most)}"
        read.clear()
    assert max(most) < 2 * parse.HEADER + 40 * parse.RECORD


def test_a_file_that_is_written_meanwhile_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A generation that moved between header and records: neither is taken as it was read."""
    (tmp_path / FOLDER).mkdir(parents=True)
    path = tmp_path / FOLDER / NAME
    first, second, third = contents([Written(2), Written(2), Written(2)])
    listener = Listener(TappedDirectory(str(tmp_path), HostTape(lambda _: None)))
    path.write_bytes(first)
    listener.look()
    path.write_bytes(second)
    whole = os.pread

    def pread(descriptor: int, length: int, offset: int) -> bytes:
        content = whole(descriptor, length, offset)
        if offset and path.read_bytes() == second:
            path.write_bytes(third)
        return content

    monkeypatch.setattr(os, "pread", pread)
    (beat,), _ = listener.look()
    assert (beat.head.steps, [step.number for step in beat.steps]) == (6, [2, 3, 4, 5])
