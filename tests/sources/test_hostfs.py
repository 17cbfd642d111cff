"""The host's files on real directories: read-only, bounded, kept descriptors that come back."""

from __future__ import annotations

import errno
import os
import socket
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from neuron_observer.sources.filesets import KeptFiles
from neuron_observer.sources.hostfs import (
    DEFAULT_LIMIT,
    DirectoryFs,
    Entry,
    is_character_device,
    names_in_folder,
    resolve_link,
)
from tests.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from neuron_observer.sources.filesets import Content, FileSet

KEEP = pytest.mark.parametrize("keep", [True, False], ids=["kept", "fresh"])


@pytest.fixture
def host(tmp_path: Path) -> DirectoryFs:
    """A host whose root is a directory with three files of one device."""
    folder = tmp_path / "sys" / "neuron0"
    folder.mkdir(parents=True)
    for name, text in (("a", "1\n"), ("b", "22"), ("c", "")):
        (folder / name).write_text(text)
    return DirectoryFs(str(tmp_path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The device's directory."""
    return tmp_path / "sys" / "neuron0"


@pytest.fixture
def opened(host: DirectoryFs) -> Iterator[Callable[..., FileSet]]:
    """Makes file sets below the device's directory and closes them."""
    made: list[FileSet] = []

    def make(*names: str, keep: bool, limit: int = DEFAULT_LIMIT) -> FileSet:
        made.append(host.file_set("sys/neuron0", names, [limit] * len(names), keep=keep))
        return made[-1]

    yield make
    for files in made:
        files.close()


def numbers(contents: list[Content]) -> list[bytes | int | None]:
    """Bytes as they are, errors by their number."""
    return [item.errno if isinstance(item, OSError) else item for item in contents]


def descriptors(folder: Path) -> list[str]:
    """What this process holds below a folder; other tests' threads may be closing theirs."""
    found = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names, not paths
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))  # noqa: PTH115
        except FileNotFoundError:
            continue  # the descriptor of the listing itself
    return sorted(to for to in found if to.startswith(str(folder)) or to == "/dev/null")


def replace(file: Path, text: str) -> None:
    """Put another file in the place of one, as a driver does that was loaded anew."""
    other = file.with_name("other")
    other.write_text(text)
    other.replace(file)


def break_descriptor(files: FileSet, number: int) -> None:
    """Make a kept descriptor answer with an error for ever, as one of a removed device does.

    No directory of ours answers ENODEV; a descriptor that cannot be read answers EBADF.
    """
    assert isinstance(files, KeptFiles)
    unreadable = os.open("/dev/null", os.O_WRONLY)
    os.dup2(unreadable, files._descriptors[number])
    os.close(unreadable)


# one file


def test_a_file_is_read_from_its_start(host: DirectoryFs) -> None:
    """Bytes as they are, newline or not."""
    assert [host.read(f"sys/neuron0/{name}") for name in "abc"] == [b"1\n", b"22", b""]


def test_a_read_is_bounded(host: DirectoryFs, folder: Path) -> None:
    """A file of any size costs one page and a byte at most; that byte tells that it was longer."""
    (folder / "a").write_bytes(b"x" * 1_000_000)
    assert host.read("sys/neuron0/a") == b"x" * 4097
    assert host.read("sys/neuron0/a", 5) == b"xxxxx"


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("sys/neuron0/absent", errno.ENOENT),
        ("sys/neuron0/a/below", errno.ENOTDIR),
        ("sys/neuron0", errno.EISDIR),
        ("sys/neuron0/loop", errno.ELOOP),
        ("sys/neuron0/link", errno.ELOOP),
        ("sys/neuron0/socket", errno.ENXIO),
    ],
)
def test_errors_are_the_kernels(host: DirectoryFs, folder: Path, path: str, number: int) -> None:
    """Absent, not a folder, a folder, a link, a socket: each its own errno."""
    (folder / "loop").symlink_to("loop")
    (folder / "link").symlink_to("a")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket"))
        with pytest.raises(OSError, match=r"Errno") as raised:
            host.read(path)
    assert raised.value.errno == number


def test_a_pipe_without_a_writer_does_not_block(host: DirectoryFs, folder: Path) -> None:
    """Opening and reading it come back at once, with nothing."""
    os.mkfifo(folder / "pipe")
    assert host.read("sys/neuron0/pipe") == b""


def test_a_pipe_with_a_silent_writer_does_not_block(host: DirectoryFs, folder: Path) -> None:
    """There is nothing to read now: an error, not a wait."""
    os.mkfifo(folder / "pipe")
    writer = os.open(folder / "pipe", os.O_RDWR)
    try:
        with pytest.raises(BlockingIOError):
            host.read("sys/neuron0/pipe")
    finally:
        os.close(writer)


def test_folders_are_listed_without_following_links(host: DirectoryFs, folder: Path) -> None:
    """Sorted names, and a link to a folder is a link."""
    (folder / "deep").mkdir()
    (folder / "again").symlink_to("..")
    (folder / "nowhere").symlink_to("absent")
    os.mkfifo(folder / "pipe")
    assert host.entries("sys/neuron0") == [
        Entry("a", "file"),
        Entry("again", "link"),
        Entry("b", "file"),
        Entry("c", "file"),
        Entry("deep", "dir"),
        Entry("nowhere", "link"),
        Entry("pipe", "other"),
    ]


def test_a_link_is_told_as_written(host: DirectoryFs, folder: Path) -> None:
    """Relative targets stay relative; lstat is of the link itself."""
    (folder / "again").symlink_to("../neuron0")
    assert host.readlink("sys/neuron0/again") == "../neuron0"
    assert stat.S_ISLNK(host.lstat("sys/neuron0/again").st_mode)
    assert not is_character_device(host.lstat("sys/neuron0/a").st_mode)
    assert is_character_device(os.stat("/dev/null").st_mode)  # noqa: PTH116 - as lstat gives it


@pytest.mark.parametrize(
    ("path", "target", "led"),
    [
        ("sys/class/x", "../../devices/virtual/x", "devices/virtual/x"),
        ("sys/class/x", "../devices/x", "sys/devices/x"),
        ("sys/class/x", "/sys/devices/x", "sys/devices/x"),
        ("sys/class/x", "../../../../../etc/passwd", "etc/passwd"),
        ("x", "y", "y"),
        ("sys/x", ".", "sys"),
    ],
)
def test_links_lead_below_the_root(path: str, target: str, led: str) -> None:
    """By the text alone, relative to the link's folder, and never above the host's root."""
    assert resolve_link(path, target) == led


@pytest.mark.parametrize("root", ["/", "//"])
def test_the_root_can_be_the_machines(root: str) -> None:
    """`/` is read as it is."""
    assert DirectoryFs(root).read("proc/self/comm")


# files read together


@KEEP
def test_files_are_read_in_order(opened: Callable[..., FileSet], keep: bool) -> None:
    """One content a name, again and again."""
    files = opened("b", "a", "c", keep=keep)
    for _ in range(3):
        assert files.read() == [b"22", b"1\n", b""]


@KEEP
def test_no_files_are_no_contents(opened: Callable[..., FileSet], keep: bool) -> None:
    """A batch without files reads nothing."""
    assert opened(keep=keep).read() == []


@KEEP
def test_a_change_is_seen(opened: Callable[..., FileSet], folder: Path, keep: bool) -> None:
    """Every read is from the start of the file as it is now."""
    files = opened("a", "b", keep=keep)
    assert files.read() == [b"1\n", b"22"]
    (folder / "a").write_text("12345\n")
    (folder / "b").write_text("")
    assert files.read() == [b"12345\n", b""]


@KEEP
def test_one_bad_file_costs_only_itself(
    opened: Callable[..., FileSet], folder: Path, keep: bool
) -> None:
    """Absent, a folder, a link loop, a link: an error each beside the others' bytes."""
    (folder / "deep").mkdir()
    (folder / "loop").symlink_to("loop")
    (folder / "link").symlink_to("a")
    files = opened("a", "absent", "deep", "loop", "link", "b", keep=keep)
    for _ in range(2):
        assert numbers(files.read()) == [
            b"1\n",
            errno.ENOENT,
            errno.EISDIR,
            errno.ELOOP,
            errno.ELOOP,
            b"22",
        ]


@KEEP
def test_reads_together_are_bounded(
    opened: Callable[..., FileSet], folder: Path, keep: bool
) -> None:
    """No file gives more than its limit."""
    (folder / "a").write_bytes(b"x" * 100_000)
    assert opened("a", "b", keep=keep, limit=64).read() == [b"x" * 64, b"22"]


@KEEP
def test_a_pipe_among_files_does_not_block(
    opened: Callable[..., FileSet], folder: Path, keep: bool
) -> None:
    """A pipe, with or without a writer, gives no number and holds up nobody."""
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "held")
    writer = os.open(folder / "held", os.O_RDWR)
    try:
        found = opened("pipe", "held", "b", keep=keep).read()
    finally:
        os.close(writer)
    assert found[2] == b"22"
    assert all(isinstance(item, OSError) or item == b"" for item in found[:2])


@KEEP
def test_a_file_that_comes_is_read(
    opened: Callable[..., FileSet], folder: Path, keep: bool
) -> None:
    """ENOENT is not for ever."""
    files = opened("late", "b", keep=keep)
    assert numbers(files.read()) == [errno.ENOENT, b"22"]
    (folder / "late").write_text("9\n")
    assert files.read() == [b"9\n", b"22"]


def test_a_folder_that_is_gone_is_every_files_error(
    opened: Callable[..., FileSet], folder: Path
) -> None:
    """A device that vanished in mid-poll: all its files say so, and it may come back."""
    files = opened("a", "b", keep=False)
    moved = folder.with_name("moved")
    folder.rename(moved)
    assert numbers(files.read()) == [errno.ENOENT, errno.ENOENT]
    moved.rename(folder)
    assert files.read() == [b"1\n", b"22"]


def test_a_fresh_read_sees_another_file_at_the_path(
    opened: Callable[..., FileSet], folder: Path
) -> None:
    """Nothing is kept, so the path decides."""
    files = opened("a", keep=False)
    assert files.read() == [b"1\n"]
    replace(folder / "a", "2\n")
    assert files.read() == [b"2\n"]
    assert files.kept == 0


def test_a_kept_descriptor_that_died_is_opened_again_by_path(
    opened: Callable[..., FileSet], folder: Path
) -> None:
    """After a driver reload the old descriptor never recovers; the same poll reads the new file."""
    files = opened("a", "b", keep=True)
    assert files.read() == [b"1\n", b"22"]
    replace(folder / "a", "2\n")
    break_descriptor(files, 0)
    assert files.read() == [b"2\n", b"22"]
    assert files.kept == 2


def test_a_kept_descriptor_that_died_for_good_is_an_error(
    opened: Callable[..., FileSet], folder: Path
) -> None:
    """No new file: the error of the path, no old value; and it is read once it is back."""
    files = opened("a", "b", keep=True)
    files.read()
    (folder / "a").unlink()
    break_descriptor(files, 0)
    assert numbers(files.read()) == [errno.ENOENT, b"22"]
    assert files.kept == 1
    (folder / "a").write_text("3\n")
    assert files.read() == [b"3\n", b"22"]
    assert files.kept == 2


def test_all_kept_descriptors_may_die_at_once(opened: Callable[..., FileSet], folder: Path) -> None:
    """A reload takes the whole tree."""
    files = opened("a", "b", "c", keep=True)
    files.read()
    for number, name in enumerate("abc"):
        replace(folder / name, f"{name}\n")
        break_descriptor(files, number)
    assert files.read() == [b"a\n", b"b\n", b"c\n"]
    assert files.kept == 3


def test_kept_descriptors_are_counted(opened: Callable[..., FileSet], folder: Path) -> None:
    """None before the first read, those of readable files after it, none after closing."""
    (folder / "deep").mkdir()
    files = opened("a", "absent", "deep", "b", keep=True)
    assert files.kept == 0
    files.read()
    assert files.kept == 2
    files.close()
    assert files.kept == 0


@KEEP
def test_a_thousand_polls_leak_no_descriptor(
    opened: Callable[..., FileSet], folder: Path, keep: bool
) -> None:
    """Whatever fails, the process holds what it held, and after closing what it held at first."""
    before = descriptors(folder)
    (folder / "deep").mkdir()
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    files = opened("a", "absent", "deep", "loop", "pipe", "b", keep=keep)
    files.read()
    held = descriptors(folder)
    assert len(held) == len(before) + files.kept
    for number in range(1000):
        if number % 100 == 0:
            replace(folder / "a", f"{number}\n")
            if keep:
                break_descriptor(files, 0)
        files.read()
    assert len(descriptors(folder)) == len(held)
    files.close()
    assert descriptors(folder) == before


def test_a_thousand_failing_reads_leak_no_descriptor(host: DirectoryFs, folder: Path) -> None:
    """A single read closes what it opened, also when reading fails."""
    (folder / "deep").mkdir()
    before = descriptors(folder)
    for _ in range(1000):
        for name in ("a", "absent", "deep"):
            try:
                host.read(f"sys/neuron0/{name}")
            except OSError:
                continue
    assert descriptors(folder) == before


# read-only

_OPENS: list[tuple[str, int]] = []
_WATCHING = [False]


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _WATCHING[0] and event == "open":
        _OPENS.append((str(arguments[0]), int(str(arguments[2]))))
    elif _WATCHING[0] and event in {"os.remove", "os.rename", "os.truncate", "os.mkdir"}:
        _OPENS.append((event, os.O_RDWR))


sys.addaudithook(_watch)  # cannot be taken away again, so it looks only while _WATCHING


def test_nothing_is_opened_for_writing(host: DirectoryFs, folder: Path) -> None:
    """The interpreter's own audit of every open, whatever is asked of the host."""
    (folder / "deep").mkdir()
    kept = host.file_set("sys/neuron0", ["a", "absent", "deep"], [64] * 3, keep=True)
    fresh = host.file_set("sys/neuron0", ["a", "absent", "deep"], [64] * 3, keep=False)
    _OPENS.clear()
    _WATCHING[0] = True
    try:
        host.read("sys/neuron0/a")
        host.entries("sys/neuron0")
        host.lstat("sys/neuron0/a")
        for files in (kept, fresh):
            files.read()
            files.read()
            files.close()
    finally:
        _WATCHING[0] = False
    names = {name.rpartition("/")[2] for name, _ in _OPENS}
    assert {"a", "absent", "deep"} <= names
    forbidden = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    assert [opened for opened in _OPENS if opened[1] & forbidden] == []


@KEEP
def test_a_poll_changes_nothing(opened: Callable[..., FileSet], folder: Path, keep: bool) -> None:
    """Contents and times of modification are what they were."""
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}
    files = opened("a", "b", "c", keep=keep)
    files.read()
    files.close()
    after = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}
    assert after == before


def test_names_alone(tmp_path: Path) -> None:
    """The names that `entries` gives, of a directory and of any other host."""
    for name in ("b", "a", "c"):
        (tmp_path / "x" / name).mkdir(parents=True)
    assert sorted(names_in_folder(DirectoryFs(str(tmp_path)), "x")) == ["a", "b", "c"]
    assert names_in_folder(host_of({"x/a": b"", "x/b": b""}), "x") == ["a", "b"]
    with pytest.raises(FileNotFoundError):
        names_in_folder(DirectoryFs(str(tmp_path)), "y")
