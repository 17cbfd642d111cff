from __future__ import annotations

import gzip
import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.recording import encoding
from neuron_observer.recording.reader import opened
from neuron_observer.recording.tape import HostTape
from neuron_observer.replay import Player
from neuron_observer.sources.hostfs import Entry
from neuron_observer.sources.lines import LineCounts
from neuron_observer.sources.rows import RowReader
from neuron_observer.sources.tapped import TappedDirectory
from tests.recordings import make_judge, read_of, record

if TYPE_CHECKING:
    from pathlib import Path

    from neuron_observer.recording.tape import Chunk
    from neuron_observer.sources.filesets import Content


def texts(tape: HostTape, chunks: list[Chunk]) -> str:
    """All that a tape holds and has handed on."""
    tape.tick(1000.0, 2000.0, ("normal",))
    tape.flush()
    packed = b"".join([*tape.base(), *(chunk.content for chunk in chunks)])
    return gzip.decompress(packed).decode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    ("scenario", "begin", "seconds"),
    [
        ("driver-reload", 138.0, 24.0),
        ("off-the-bus", 98.0, 16.0),
        ("hanging-read", 98.0, 16.0),
        ("job-restart", 138.0, 12.0),
        ("kernel-lines", 98.0, 12.0),
        ("device-missing", None, 6.0),
    ],
)
def test_what_is_played_is_what_was_read(
    tmp_path: Path, scenario: str, begin: float | None, seconds: float
) -> None:
    """Each frame: every cell and its time, jobs, events, findings, verdict; through reloads too."""
    file = tmp_path / "r.nobs.gz"
    frames = record(file, scenario, seconds, begin=begin)
    recording = opened(str(file))
    assert (recording.note, len(recording.times)) == ("", len(frames))
    player = Player(recording, make_judge)
    for was in frames:
        now = player.step()
        assert now is not None
        assert read_of(now) == read_of(was)
        assert (now.findings, now.health) == (was.findings, was.health)
        heard = [
            one for one in was.snapshot.events if one.kind != "reads_skipped"
        ]  # the loop's own
        assert (now.snapshot.at, list(now.snapshot.events)) == (was.snapshot.at, heard)
        assert now.snapshot.jobs == was.snapshot.jobs
    assert player.step() is None


def test_lean_gives_the_same(tmp_path: Path) -> None:
    """What the flight recorder leaves out, nothing reads."""
    file = tmp_path / "r.nobs.gz"
    frames = record(file, "healthy", 3.0, lean=True)
    player = Player(opened(str(file)), make_judge)
    assert all((now := player.step()) and read_of(now) == read_of(was) for was in frames)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.binary(max_size=12) | st.sampled_from([b"1\n", b"\f", b"\xff", b""]), min_size=1)
)
def test_any_bytes_come_back(contents: list[bytes]) -> None:
    """Separators, no UTF-8, nothing at all."""
    reader = RowReader("made up")
    names = [f"f{number}" for number in range(len(contents))]
    rows = [encoding.row("files", [3, "sys/a", names])]
    rows += encoding.set_rows(3, lambda n: f"sys/a/f{n}", list(range(len(contents))), contents)
    packed = gzip.decompress(encoding.packed(rows)).decode("utf-8", "surrogatepass")
    for row in packed.splitlines(keepends=True):
        assert reader.take(row) is None
    assert [reader.latest.nodes[f"sys/a/{name}"].content for name in names] == contents


def test_secrets_are_never_held() -> None:
    """Of an environment the launcher's variables, of a command line the harmless words."""
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append)
    tape.named("proc", ["7", "9", "stat"])
    tape.read("proc/7/environ", b"AWS_SECRET_ACCESS_KEY=hunter2\0RANK=3\0")
    tape.read("proc/7/cmdline", b"python\0train.py\0--api-key=hunter2\0")
    tape.read("proc/9/stat", b"9 (kworker) S 2 0 0 0")
    tape.read("etc/passwd", b"alice:x:1000:1000::/home/alice:/bin/sh\n")
    tape.linked("proc/7/fd/3", "/home/alice/notes.txt")
    tape.linked("proc/7/fd/4", "/dev/neuron0")
    found = texts(tape, chunks)
    assert "hunter2" not in found
    assert "alice" not in found
    assert "kworker" not in found
    assert "RANK=3" in found
    assert "train.py" in found
    assert "/dev/neuron0" in found


def test_scrubbed_texts() -> None:
    """Lines, command lines and names of pods go through the scrubber."""
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append, scrub=lambda text: text.replace("node-17", "host"))
    tape.named("proc", ["7"])
    tape.read("proc/7/cmdline", b"python\0--rdzv=node-17\0")
    tape.listed("var/log/pods", [Entry("team_train-node-17_uid", "dir")])
    source = TappedSource()
    tape.lines("kernel", source, [b"6,1,1,-;node-17 neuron: nc 1 hung"])
    found = texts(tape, chunks)
    assert "node-17" not in found
    assert "rdzv=host" in found
    assert "nc 1 hung" in found


class TappedSource:
    """A log, as far as the tape asks for it."""

    name = "/dev/kmsg"
    error = ""
    ended = False

    def __init__(self) -> None:
        self.counts = LineCounts()
        self.counts.dropped = 3

    def poll(self, _limit: int) -> list[bytes]:
        """Nothing."""
        return []

    def fileno(self) -> int | None:
        """None."""
        return None

    def close(self) -> None:
        """Nothing is held."""


def test_what_a_process_held_ends_with_it() -> None:
    """Its files and descriptors are gone; another of its number begins anew."""
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append)
    tape.named("proc", ["7"])
    tape.read("proc/7/stat", b"7 (first) S 1 ")
    tape.linked("proc/7/fd/4", "/dev/neuron0")
    tape.tick(1.0, 1.0, ("jobs",))
    tape.named("proc", ["8"])
    tape.tick(2.0, 2.0, ("jobs",))
    tape.flush()
    told = gzip.decompress(chunks[0].content).decode()
    assert '#error ["proc/7","0444","ENOENT"]' in told
    assert "first" not in gzip.decompress(b"".join(tape.base())).decode()


def test_what_a_folder_no_longer_lists_is_not_held() -> None:
    """Files of ranks that ended: an elastic job would fill the recorder with them."""
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append)
    names = ["one.hb", "two.hb"]
    tape.listed("run/ranks", [Entry(name, "file") for name in names])
    for path in ("run/ranks/one.hb", "run/ranks/two.hb", "run/ranks/in/two.hb", "run/other"):
        tape.read(path, f"in {path}".encode())
    tape.tick(999.0, 1999.0, ("normal",))
    tape.listed("run/ranks", [Entry("one.hb", "file"), Entry("in", "dir")])
    tape.tick(1000.0, 2000.0, ("normal",))
    tape.flush()
    base = gzip.decompress(b"".join(tape.base())).decode()
    assert "in run/ranks/two.hb" not in base
    assert all(f"in {path}" in base for path in ("run/ranks/one.hb", "run/other"))
    assert "in run/ranks/in/two.hb" in base
    [chunk] = chunks
    assert encoding.gone_row("run/ranks/two.hb") in gzip.decompress(chunk.content).decode()
    tape.read("run/ranks/two.hb", b"anew")  # the name may come again
    assert "anew" in texts(tape, chunks)


def test_errors_are_told_once_and_take_turns_with_bytes() -> None:
    """A read that fails again is no news, one that succeeds is."""
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append)
    files = tape.files("sys/a", ["x", "y"])
    seen: list[Content] = [OSError(5, "EIO"), OSError(5, "EIO"), b"1\n", OSError(5, "EIO")]
    for number, content in enumerate(seen):
        files.changed([0, 1], [content, b"%d\n" % number])
        tape.tick(float(number), 0.0, ())
    tape.flush()
    rows = gzip.decompress(chunks[0].content).decode().splitlines()
    assert sum(row.startswith("#error") for row in rows) == 2
    reader = RowReader("made up")
    passes = [done for row in rows if (done := reader.take(row))] + [reader.latest]
    assert [p.nodes["sys/a/x"].error for p in passes if "sys/a/x" in p.nodes] == [5, 0, 5]


def test_what_fails_in_the_tape_does_not_hit_the_reader() -> None:
    """The ticks that waited are lost, it is said why, and the next ones are taken."""

    def refuse(_chunk: Chunk) -> None:
        raise MemoryError

    tape = HostTape(refuse)
    tape.tick(0.0, 0.0, ())
    tape.tick(100.0, 100.0, ())
    assert tape.error.startswith("MemoryError")
    assert tape.waiting_bytes == 0


def test_a_directory_is_heard_as_it_is_read(tmp_path: Path) -> None:
    """Files, links, listings, and what cannot be read."""
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/x").write_bytes(b"12\n")
    (tmp_path / "sys/l").symlink_to("x")
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append)
    host = TappedDirectory(str(tmp_path), tape)
    assert host.read("sys/x") == b"12\n"
    assert host.readlink("sys/l") == "x"
    assert [one.name for one in host.entries("sys")] == ["l", "x"]
    assert host.lstat("sys/x").st_ino == os.lstat(tmp_path / "sys/x").st_ino
    with pytest.raises(OSError, match="No such file"):
        host.read("sys/gone")
    found = texts(tape, chunks)
    assert '#file [0,0,"sys/x"]' in found
    assert '#host ["sys/l","l","x"]' in found
    assert '#dir ["sys",{"link":["l"],"file":["x"]}]' in found
    assert '#error ["sys/gone","0444","ENOENT"]' in found
    assert '#stat ["sys/x"' in found


def test_many_large_files_are_packed_a_few_at_a_time() -> None:
    """Those of 64 ranks: as text, and escaped, all of them together would take 10 MB more."""
    chunks: list[Chunk] = []
    tape = HostTape(chunks.append)
    files = {f"run/ranks/rank-{number}-1.hb": os.urandom(17_408) for number in range(64)}
    for path, content in files.items():
        tape.read(path, content)
    tape.tick(1.0, 1.0, ())
    tracemalloc.start()
    try:
        tape.flush()
        base = b"".join(tape.base())
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - held < 4e6
    for packed in (base, chunks[0].content):
        rows = gzip.decompress(packed).decode("utf-8", "surrogatepass").splitlines()
        reader = RowReader("r")
        for row in rows:
            reader.take(row)
        assert {path: reader.latest.nodes[path].content for path in files} == files


@given(st.lists(st.integers(0, 100_000), max_size=6))
def test_rows_are_packed_as_they_come(lengths: list[int]) -> None:
    """Whatever their lengths; from a generator, too."""
    packed = encoding.packed("a\udc80b"[: length % 4] * length for length in lengths)
    rows = gzip.decompress(packed).decode("utf-8", "surrogatepass").split("\n")
    assert rows == [*("a\udc80b"[: length % 4] * length for length in lengths), ""]
