"""Heartbeat files of a folder where anybody may write: what is taken, what is refused and why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.collectors.heartbeats import (
    IDLE_PERIOD,
    MOST_FILES,
    UNKNOWN_FOR,
    HeartbeatCollector,
)
from neuron_observer.jobs.beats import Mark
from neuron_observer.model import Job, Process, Rank
from neuron_observer.sources.hostfs import DirectoryFs
from tests.heartbeats import BOOT, Record, file_of

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.model import Event

FOLDER = "run/neuron-observer-ranks"
NAME = "rank-4242-5000.hb"
UID = os.getuid()


class Ranks:
    """The folder of a real directory, and the processes that a job map shows."""

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER
        self.folder.mkdir(parents=True)
        boot = root / "proc/sys/kernel/random"
        boot.mkdir(parents=True)
        (boot / "boot_id").write_text("00010203-0405-0607-0809-0a0b0c0d0e0f\n")
        self.clock = ManualClock()
        self.collector = HeartbeatCollector(DirectoryFs(str(root)), self.clock, f"/{FOLDER}")
        self.process = Process(4242, 50.0, "python3", "train.py", (), uid=UID)
        self.alive = True

    def look(self, seconds: float = 1.0) -> list[Event]:
        """One look, after some time."""
        self.clock.advance(seconds)
        self.collector.look()
        ranks = (Rank(self.process, 0),) if self.alive else ()
        job = Job("j", "train.py", "training", "", None, ranks, ())
        return self.collector.read([job] if ranks else [], certain=True)

    def write(self, raw: bytes, name: str = NAME) -> None:
        """A file as a process has it now."""
        (self.folder / name).write_bytes(raw)


@pytest.fixture
def ranks(tmp_path: Path) -> Ranks:
    """A folder without files."""
    return Ranks(tmp_path)


def records(steps: int) -> list[Record]:
    """Steps of half a second."""
    return [Record(k, k / 2, k / 2 + 0.5) for k in range(steps)]


def test_a_file_is_read_when_its_generation_moved(ranks: Ranks) -> None:
    """New steps once; nothing anew while nothing was written."""
    ranks.write(file_of(records(3), generation=6))
    ranks.look(IDLE_PERIOD)
    (beat,) = ranks.collector.beats
    assert (beat.pid, beat.head.steps, [s.number for s in beat.steps]) == (4242, 3, [0, 1, 2])
    ranks.look()
    (beat,) = ranks.collector.beats
    assert (beat.head.steps, beat.steps) == (3, ())
    ranks.write(file_of(records(5), generation=10))
    ranks.look()
    assert [s.number for s in ranks.collector.beats[0].steps] == [3, 4]
    assert ranks.collector.marks == {Mark(4242, 5000): UID}


def _sampled(steps: int, known: set[int]) -> list[Record]:
    """As `records`, of which the device has told some."""
    return [
        one._replace(collectives=0.2, shortest=0.1, source=2)
        if one.number in known
        else one._replace(source=0)
        for one in records(steps)
    ]


def test_a_step_whose_times_come_later_is_read_again(ranks: Ranks) -> None:
    """Once, apart from the new ones; one that was read with its times is not."""

    def read(steps: int, known: set[int], generation: int, source: int) -> tuple[list[int], ...]:
        raw = file_of(_sampled(steps, known), generation=generation, source=source)
        ranks.write(raw)
        ranks.look(IDLE_PERIOD)
        (beat,) = ranks.collector.beats
        assert [s.number for s in beat.filled if s.source != "event" or s.collectives != 0.2] == []
        return [s.number for s in beat.steps], [s.number for s in beat.filled]

    assert read(12, set(), 2, 0) == (list(range(12)), [])
    assert read(14, {10}, 4, 2) == ([12, 13], [10])
    assert read(15, {10}, 6, 2) == ([14], [])
    assert read(26, {10, 20}, 8, 2) == (list(range(15, 26)), [])
    assert read(27, {10, 20}, 10, 2) == ([26], [])
    assert read(41, {10, 20, 30, 40}, 12, 2) == (list(range(27, 41)), [])
    assert read(3, {1}, 14, 2) == ([0, 1, 2], []), "counted anew"
    assert read(4, {1, 2}, 16, 2) == ([3], [2])


def test_a_pid_of_another_namespace_is_the_process_s_own(ranks: Ranks) -> None:
    """The file says 4242, the host 77: by NSpid, start and owner it is the same."""
    ranks.process = ranks.process._replace(pid=77, own_pid=4242)
    ranks.write(file_of(records(1)))
    ranks.look(IDLE_PERIOD)
    assert ranks.collector.beats[0].pid == 77
    ranks.process = ranks.process._replace(start=51.0)
    ranks.look()
    assert not ranks.collector.beats


BAD = [
    ("fifo", "a FIFO, no regular file"),
    ("link", "Too many levels of symbolic links"),
    ("folder", "a folder, no regular file"),
    ("cut", "cut off: 900 of 17408 bytes"),
    ("empty", "cut off: 0 bytes"),
    ("version", "heartbeat of version 9, this reads 1"),
    ("boot", "of an earlier boot"),
    ("liar", "it is of pid 1, its name says 4242"),
    ("owner", f"owned by user {UID}, its process is of {UID + 1}"),
]


@pytest.mark.parametrize(("what", "why"), BAD)
def test_what_is_refused_is_told_once(what: str, why: str, ranks: Ranks) -> None:
    """Links, FIFOs, folders, other versions, boots, owners and lies; nothing of it is used."""
    path = ranks.folder / NAME
    good = file_of(records(2))
    if what == "fifo":
        os.mkfifo(path)
    elif what == "link":
        (ranks.folder / "other").write_bytes(good)
        path.symlink_to("other")
    elif what == "folder":
        path.mkdir()
    else:
        ranks.write(
            {
                "cut": good[:900],
                "empty": b"",
                "version": file_of(records(2), version=9),
                "boot": file_of(records(2), boot=BOOT[::-1]),
                "liar": file_of(records(2), pid=1),
                "owner": good,
            }[what]
        )
    if what == "owner":
        ranks.process = ranks.process._replace(uid=UID + 1)
    events = ranks.look(IDLE_PERIOD)
    assert not ranks.collector.beats
    assert ranks.collector.refused == {NAME: why}
    assert [(one.kind, one.fields["file"]) for one in events] == [("heartbeat_refused", NAME)]
    assert why in events[0].message
    assert ranks.look() == []


def test_a_file_cut_while_it_is_read_loses_nothing_that_was_known(ranks: Ranks) -> None:
    """Torn and truncated reads give no steps; the next good one gives all."""
    ranks.write(file_of(records(2), generation=4))
    ranks.look(IDLE_PERIOD)
    ranks.write(file_of(records(3), generation=7))  # odd: being written, whatever is read
    assert ranks.look() == []
    assert (ranks.collector.beats[0].head.steps, ranks.collector.beats[0].steps) == (2, ())
    ranks.write(file_of(records(4), generation=8)[:5000])
    ranks.look()
    assert not ranks.collector.beats
    ranks.write(file_of(records(4), generation=8))
    ranks.look()
    assert [s.number for s in ranks.collector.beats[0].steps] == [2, 3]
    assert ranks.collector.refused == {}


@pytest.mark.parametrize(("phase", "ended"), [("training", False), ("ended", True)])
def test_a_rank_that_is_gone_died_or_ended(phase: str, ended: bool, ranks: Ranks) -> None:
    """By what its file says last; it is told once and never read again."""
    ranks.write(file_of(records(2), phase="training", generation=4))
    ranks.look(IDLE_PERIOD)
    ranks.write(file_of(records(3), phase=phase, generation=8))
    ranks.alive = False
    ranks.look()
    gone = ranks.collector.gone[0]
    assert (gone.pid, gone.ended, gone.head.steps) == (4242, ended, 3)
    ranks.look()
    assert not ranks.collector.gone
    assert not ranks.collector.beats
    assert ranks.collector.marks == {}


def test_a_file_that_went_with_its_process_ended_well(ranks: Ranks) -> None:
    """The hook takes its file along; one removed under a living process comes back."""
    ranks.write(file_of(records(2), generation=4))
    ranks.look(IDLE_PERIOD)
    (ranks.folder / NAME).unlink()
    ranks.look()
    assert not ranks.collector.gone
    assert not ranks.collector.beats
    ranks.write(file_of(records(4), generation=2))
    ranks.look()
    assert [s.number for s in ranks.collector.beats[0].steps] == [2, 3]
    (ranks.folder / NAME).unlink()
    ranks.alive = False
    ranks.look()
    (gone,) = ranks.collector.gone
    assert gone.ended


def test_what_an_earlier_job_left_is_no_news(ranks: Ranks) -> None:
    """A process that was never there: quiet, and out of the way after a while."""
    ranks.alive = False
    ranks.write(file_of(records(2)))
    assert ranks.look(IDLE_PERIOD) == []
    assert ranks.collector.marks == {Mark(4242, 5000): UID}
    assert ranks.look(UNKNOWN_FOR + 1) == []
    assert ranks.collector.marks == {}
    assert ranks.collector.refused[NAME].startswith("no process with pid 4242 that began then")


def test_a_zombie_is_gone(ranks: Ranks) -> None:
    """Its process stands in /proc, and nobody works in it."""
    ranks.write(file_of(records(2)))
    ranks.look(IDLE_PERIOD)
    ranks.process = ranks.process._replace(state="Z")
    ranks.look()
    assert len(ranks.collector.gone) == 1


def test_a_folder_full_of_files_costs_no_more(ranks: Ranks) -> None:
    """What is beyond the bound is counted; names that are none of ours are not looked at."""
    for number in range(MOST_FILES + 5):
        ranks.write(b"", f"rank-{number + 1}-1.hb")
    ranks.write(b"", "rank-1.hb.tmp")
    ranks.write(b"", "notes")
    ranks.look(IDLE_PERIOD)
    assert ranks.collector.left_out == 5
    assert len(ranks.collector.marks or ()) == MOST_FILES


def test_no_folder_is_not_no_hook(tmp_path: Path) -> None:
    """Without the folder nobody knows whether a process has the hook."""
    collector = HeartbeatCollector(DirectoryFs(str(tmp_path)), ManualClock(), FOLDER)
    collector.look()
    assert collector.marks is None
    assert collector.read([], certain=True) == []
