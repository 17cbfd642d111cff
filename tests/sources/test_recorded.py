from __future__ import annotations

import errno

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.sources.hostfs import Space
from neuron_observer.sources.passes import Pass, merged
from neuron_observer.sources.recorded import RecordedFs, RecordedWorkers
from neuron_observer.sources.rows import RowReader
from neuron_observer.sources.workers import Request


def passes_of(*rows: str) -> list[Pass]:
    """The passes that rows make."""
    reader = RowReader("made up")
    return [done for row in rows if (done := reader.take(f"{row}\n"))] + [reader.latest]


def host_of(*rows: str) -> RecordedFs:
    """A host at the last pass of some rows."""
    first, *later = passes_of(*rows)
    host = RecordedFs("/", first)
    for one in later:
        host.apply(one)
    return host


def test_a_directory_told_in_full_holds_nothing_else() -> None:
    """What it does not name is gone, with all below; a folder never listed is empty."""
    host = host_of(
        '#host ["a/x/1", "0444", "1"]',
        '#host ["a/y", "0444", "2"]',
        '#dir ["a", {"file": ["y"], "dir": ["z"]}]',
    )
    assert [tuple(one) for one in host.entries("a")] == [("y", "file"), ("z", "dir")]
    assert host.entries("a/z") == []
    with pytest.raises(FileNotFoundError):
        host.read("a/x/1")


def test_what_was_never_read_is_not_in_the_recording() -> None:
    """ENODATA where there was a file; ENOENT where there was none."""
    host = host_of('#dir ["a", {"file": ["y"]}]')
    for path, number in (("a/y", errno.ENODATA), ("a/z", errno.ENOENT)):
        with pytest.raises(OSError, match=path) as caught:
            host.read(path)
        assert caught.value.errno == number


def test_a_path_that_is_gone_takes_all_below_with_it() -> None:
    """And what comes again in the same tick is there."""
    host = host_of(
        '#host ["proc/7/stat", "0444", "old"]',
        '#stat ["proc/7/root/dev/neuron0", 8630, 62464, 3, 17]',
        "#tick [1.0, 2.0, []]",
        '#error ["proc/7", "0444", "ENOENT"]',
        '#host ["proc/8/stat", "0444", "new"]',
    )
    assert [entry.name for entry in host.entries("proc")] == ["8"]
    again = host_of(
        '#host ["sys/a/1", "0444", "old"]',
        "#tick [1.0, 2.0, []]",
        '#error ["sys", "0444", "ENOENT"]',
        '#host ["sys/a/1", "0444", "new"]',
    )
    assert again.read("sys/a/1") == b"new"


def test_a_base_is_all_that_there_is() -> None:
    """Nothing of before is left, not in files read together either."""
    first, *later = passes_of(
        '#host ["a/1", "0444", "1"]',
        '#host ["a/2", "0444", "2"]',
        "#base",
        '#host ["a/1", "0444", "3"]',
    )
    host = RecordedFs("/", first)
    files = host.file_set("a", ["1", "2"], [64, 64], keep=False)
    assert files.read() == [b"1", b"2"]
    for one in later:
        host.apply(one)
    now = files.read()
    assert now[0] == b"3"
    assert isinstance(now[1], FileNotFoundError)


def test_files_read_together_are_read_anew_where_they_changed() -> None:
    """A list that was handed out is never changed; without a change it is the same one."""
    host = host_of('#files [1, "a", ["1", "2"]]', '#set [1, [0, 1], "1\\f2"]')
    files = host.file_set("a", ["1", "2"], [64, 64], keep=False)
    before = files.read()
    assert files.read() is before
    reader = RowReader("made up")
    for row in ('#files [1, "a", ["1", "2"]]', "#tick [1.0, 2.0, []]", '#set [1, [1], "3"]'):
        reader.take(row + "\n")
    host.apply(reader.latest)
    assert (before, files.read()) == ([b"1", b"2"], [b"1", b"3"])
    files.close()
    host.apply(reader.latest)
    assert files.read() == [b"1", b"3"]


def test_what_else_is_told() -> None:
    """Identity of a path, space, the state and the lines of a log, when files were read."""
    host = host_of(
        '#files [1, "a", ["1"]]',
        "#tick [1.0, 2.0, []]",
        '#stat ["dev/neuron0", 8630, 62464, 3, 17]',
        '#space ["/", 1000, null]',
        '#log ["kernel", {"name": "/dev/kmsg", "error": "busy", "dropped": 2}]',
        '#kernel [0, "6,1,1,-;hello"]',
        "#took [[1], 0.5, 0.25]",
    )
    status = host.lstat("dev/neuron0")
    assert (status.st_mode, status.st_rdev, status.st_ino, status.st_ctime_ns) == (
        8630,
        62464,
        3,
        17,
    )
    assert host.space("/") == Space(1000, None)
    assert host.space("/var") is None
    lines = host.lines("kernel")
    assert (lines.name, lines.error, lines.counts.dropped) == ("/dev/kmsg", "busy", 2)
    assert lines.poll(10) == [b"6,1,1,-;hello"]
    assert lines.poll(10) == []
    assert host.witness("a", ["1"]).took(9.0, 9.0) == (0.5, 0.25)
    assert host.witness("b", ["1"]).took(9.0, 9.0) == (9.0, 9.0)


def test_registers_answer_when_they_did() -> None:
    """Not before, with the seconds of then, and not twice."""
    first, *later = passes_of(
        '#files [1, "a", ["1"]]',
        '#host ["a/1", "0444", "7"]',
        "#tick [1.0, 2.0, []]",
        "#tick [2.0, 3.0, []]",
        "#answer [1, 1.5, [0.25]]",
    )
    host = RecordedFs("/", first)
    workers = RecordedWorkers(host, ManualClock())
    request = Request("a", ("1",), (64,))
    host.apply(later[0])
    assert workers.submit(3, request)
    assert not workers.submit(3, request)
    assert workers.gather([3], 0.0) == {}
    host.apply(later[1])
    answer = workers.gather([3], 0.0)[3]
    assert (answer.contents, answer.seconds, answer.read_at) == ([b"7"], [0.25], 1.5)
    assert workers.submit(3, request)
    assert workers.gather([3], 0.0) == {}


def test_two_passes_as_one_say_the_same() -> None:
    """What the later one says counts, lines of both."""
    rows = (
        '#host ["a/1", "0444", "1"]',
        '#host ["a/b/2", "0444", "2"]',
        '#kernel [0, "one"]',
        "#tick [1.0, 2.0, []]",
        '#error ["a/b", "0444", "ENOENT"]',
        '#host ["a/1", "0444", "3"]',
        '#kernel [0, "two"]',
    )
    first, second = passes_of(*rows)
    one = merged(first, second)
    host = RecordedFs("/", one)
    assert [entry.name for entry in host.entries("a")] == ["1"]
    assert host.read("a/1") == b"3"
    assert one.kernel == ["one", "two"]
