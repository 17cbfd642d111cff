"""Files that rotate, pipes, FIFOs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from neuron_observer.sources.lines import FileLines, PipeLines, open_lines, readable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from neuron_observer.sources.lines import LineSource

MANY = 1000


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with two whole lines."""
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    return path


@pytest.fixture
def pipe() -> Iterator[tuple[PipeLines, int]]:
    """A pipe as a source, and the end to write to."""
    reader, writer = os.pipe()
    source = PipeLines(reader, "pipe", max_line=10)
    yield source, writer
    source.close()


def append(path: Path, data: bytes) -> None:
    """Write as a logger does."""
    with path.open("ab") as file:
        file.write(data)


def test_a_file_is_followed_as_it_grows(log: Path) -> None:
    """A line comes once it is whole."""
    source = FileLines(str(log))
    assert source.poll(MANY) == [b"one", b"two"]
    append(log, b"thr")
    assert source.poll(MANY) == []
    append(log, b"ee\nfour\n")
    assert source.poll(MANY) == [b"three", b"four"]
    assert (source.counts.read, source.counts.dropped) == (4, 0)
    source.close()


def test_a_poll_takes_no_more_than_its_limit(log: Path) -> None:
    """The rest waits."""
    source = FileLines(str(log))
    assert source.poll(1) == [b"one"]
    assert source.poll(1) == [b"two"]
    source.close()


def test_a_rotated_file_is_finished_before_the_new_one(log: Path) -> None:
    """Lines written just before the rename are not lost, not even an unfinished one."""
    source = FileLines(str(log))
    source.poll(MANY)
    append(log, b"last\nhalf")
    log.rename(log.with_suffix(".1"))
    log.write_bytes(b"new\n")
    assert source.poll(MANY) == [b"last", b"half"]
    assert source.poll(MANY) == [b"new"]
    assert source.counts.restarts == 1
    source.close()


def test_a_truncated_file_starts_over(log: Path) -> None:
    """`copytruncate` leaves the same file, shorter."""
    source = FileLines(str(log))
    source.poll(MANY)
    os.truncate(log, 0)
    assert source.poll(MANY) == []
    append(log, b"new\n")
    assert source.poll(MANY) == [b"new"]
    assert source.counts.restarts == 1
    source.close()


def test_a_file_may_come_go_and_come_again(tmp_path: Path) -> None:
    """Its absence is told, not counted as an error."""
    path = tmp_path / "later"
    source = open_lines(str(path))
    assert source.poll(MANY) == []
    assert source.error == "No such file or directory"
    path.write_bytes(b"one\n")
    assert source.poll(MANY) == [b"one"]
    assert source.error == ""
    path.unlink()
    assert source.poll(MANY) == []
    assert source.error == "No such file or directory"
    path.write_bytes(b"two\n")
    assert source.poll(MANY) == [b"two"]
    assert source.counts.errors == 0
    source.close()


@pytest.mark.parametrize(
    ("back", "lines"), [(0, []), (4, [b"two"]), (6, [b"two"]), (99, [b"one", b"two"])]
)
def test_a_file_may_be_read_from_its_end(log: Path, back: int, lines: list[bytes]) -> None:
    """Only whole lines: the one that we land in is left out."""
    source = FileLines(str(log), from_end=back)
    assert source.poll(MANY) == lines
    append(log, b"three\n")
    assert source.poll(MANY) == [b"three"]
    source.close()


def test_a_writer_too_fast_loses_lines_by_count(log: Path) -> None:
    """Neither memory nor delay grows: what is too far back is skipped and counted."""
    append(log, b"x\n" * 200_000 + b"end\n")
    source = FileLines(str(log), max_behind=1000)
    lines = source.poll(MANY)
    assert lines[-1] == b"end"
    assert source.counts.overruns == 1
    assert source.counts.dropped + source.counts.read == 200_003
    assert len(lines) < MANY
    source.close()


def test_a_directory_is_told(tmp_path: Path) -> None:
    """The source says why there is nothing."""
    source = FileLines(str(tmp_path))
    assert source.poll(MANY) == []
    assert "is no plain file" in source.error
    assert source.counts.errors == 1


def test_no_descriptor_is_left_open(tmp_path: Path, log: Path) -> None:
    """A thousand polls of files that come and go leave as many descriptors as before."""
    before = len(list(os.scandir("/proc/self/fd")))
    directory, file = FileLines(str(tmp_path)), FileLines(str(log))
    for turn in range(500):
        directory.poll(MANY)
        file.poll(MANY)
        log.unlink()
        file.poll(MANY)
        log.write_bytes(b"%d\n" % turn)
    file.close()
    assert len(list(os.scandir("/proc/self/fd"))) == before


def test_a_pipe_gives_what_is_there_and_ends_with_its_writer(pipe: tuple[PipeLines, int]) -> None:
    """It never waits, and its last line needs no newline."""
    source, writer = pipe
    assert source.poll(MANY) == []
    os.write(writer, b"one\ntw")
    assert source.poll(MANY) == [b"one"]
    assert source.fileno() is not None
    os.write(writer, b"o\nrest")
    os.close(writer)
    assert source.poll(MANY) == [b"two", b"rest"]
    assert source.ended
    assert source.fileno() is None


def test_a_pipe_keeps_the_flags_of_its_descriptor(pipe: tuple[PipeLines, int]) -> None:
    """Standard input is shared with the shell: it must not turn non-blocking."""
    source, writer = pipe
    source.poll(MANY)
    fd = source.fileno()
    assert fd is not None
    assert os.get_blocking(fd)
    os.close(writer)


def test_long_lines_of_a_pipe_are_cut_and_counted(pipe: tuple[PipeLines, int]) -> None:
    """The bound holds; the line after is whole."""
    source, writer = pipe
    os.write(writer, b"0123456789abcdef\nok\n")
    assert source.poll(MANY) == [b"0123456789", b"ok"]
    assert source.counts.cut == 1
    os.close(writer)


def test_a_fifo_outlives_its_writers(tmp_path: Path) -> None:
    """The next writer is read without anybody doing anything."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    source: LineSource = open_lines(str(path))
    assert source.poll(MANY) == []
    for turn in (b"one", b"two"):
        writer = os.open(path, os.O_WRONLY)
        os.write(writer, turn + b"\n")
        assert source.poll(MANY) == [turn]
        assert source.error == ""
        os.close(writer)
        assert source.poll(MANY) == []
        assert source.error == "no writer"
        assert not source.ended
    source.close()


def test_a_terminal_that_went_away_is_an_error() -> None:
    """EIO ends the source, and says so."""
    ours, theirs = os.openpty()
    os.close(theirs)
    source = PipeLines(ours, "terminal")
    assert source.poll(MANY) == []
    assert source.ended
    assert "Input/output error" in source.error
    assert source.counts.errors == 1
    source.close()


def test_a_pseudo_terminal_is_read_like_a_pipe() -> None:
    """Somebody may paste a log into the terminal."""
    ours, theirs = os.openpty()
    os.write(ours, b"pasted\n")
    source = PipeLines(theirs, "terminal")
    assert readable(theirs)
    assert source.poll(MANY) == [b"pasted"]
    os.close(ours)
    assert source.poll(MANY) == []
    assert source.ended
    source.close()
