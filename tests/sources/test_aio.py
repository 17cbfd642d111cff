"""Many descriptors in one system call, on real files."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.sources import aio
from neuron_observer.sources.aio import Reads, open_reads
from neuron_observer.sources.filesets import MANY, KeptFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIMIT = 64


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Some files that hold their number."""
    made = [tmp_path / str(number) for number in range(MANY)]
    for number, file in enumerate(made):
        file.write_text(f"{number}\n", "utf-8")
    return made


@pytest.fixture
def descriptors(files: list[Path]) -> Iterator[list[int]]:
    """The same, open."""
    made = [os.open(file, os.O_RDONLY) for file in files]
    yield made
    for descriptor in made:
        os.close(descriptor)


@pytest.fixture
def reads(descriptors: list[int]) -> Reads:
    """The same, read together."""
    made = open_reads(descriptors, [LIMIT] * len(descriptors))
    assert made is not None, "this kernel has no AIO"
    return made


def test_reads_what_pread_reads(reads: Reads, files: list[Path], descriptors: list[int]) -> None:
    """Every file's bytes, again and again, longer and shorter than before."""
    for text in ("", "1\n", "12345678901234567890\n", "7\n"):
        files[3].write_text(text, "utf-8")
        assert reads.read() == [os.pread(descriptor, LIMIT, 0) for descriptor in descriptors]


def test_nothing_new_is_the_same_list(reads: Reads, files: list[Path]) -> None:
    """Whoever compares needs to look at nothing."""
    first = reads.read()
    assert reads.read() is first
    files[5].write_text("6\n", "utf-8")
    assert reads.read() != first


def test_what_was_fetched_lies_until_it_is_looked_at(reads: Reads, files: list[Path]) -> None:
    """However often it is fetched before, and whatever it was then."""
    first = reads.read()
    for text in ("a longer one\n", "4\n"):
        files[4].write_text(text, "utf-8")
        reads.fetch()
    files[5].write_text("not yet\n", "utf-8")
    assert reads.contents() is not first
    assert reads.contents() == first
    reads.fetch()
    assert reads.contents()[4:6] == [b"4\n", b"not yet\n"]


def test_is_cut_at_its_limit(files: list[Path], descriptors: list[int]) -> None:
    """A longer file leaves the one after it alone."""
    files[0].write_bytes(b"x" * 100)
    reads = open_reads(descriptors, [10, *[LIMIT] * (MANY - 1)])
    assert reads is not None
    assert reads.read()[:2] == [b"x" * 10, b"1\n"]


def test_a_bad_descriptor_is_an_error(tmp_path: Path) -> None:
    """Also in the middle: what was read before it is taken, so that no result is left over."""
    file = tmp_path / "a"
    file.write_text("1\n", "utf-8")
    descriptor = os.open(file, os.O_RDONLY)
    folder = os.open(tmp_path, os.O_RDONLY)
    for bad in (folder, 1 << 20):
        reads = open_reads([descriptor, bad, descriptor], [LIMIT] * 3)
        assert reads is not None
        for _ in range(2):
            with pytest.raises(OSError, match=r"directory|descriptor|Invalid"):
                reads.read()
    os.close(descriptor)
    os.close(folder)


def test_one_channel_does_for_all_sets(
    monkeypatch: pytest.MonkeyPatch, descriptors: list[int]
) -> None:
    """A larger set gets a larger one, which does for all from then on."""
    free: list[aio._Channel] = []
    monkeypatch.setattr(aio._Channels, "_free", free)
    monkeypatch.setattr(aio._Channels, "_LEAST", 2)
    first, again = (open_reads(some, [LIMIT] * len(some)) for some in (descriptors, descriptors))
    assert first is not None
    assert again is not None
    expected = first.read()
    [channel] = free
    assert again.read() == expected
    assert (free, channel.room) == ([channel], MANY)
    other = open_reads(descriptors * 100, [LIMIT] * (MANY * 100))
    assert other is not None
    assert other.read() == expected * 100
    [larger] = free
    assert larger.room == MANY * 100
    assert first.read() is expected
    assert free == [larger]


def test_threads_read_at_the_same_time(descriptors: list[int], files: list[Path]) -> None:
    """Each through a channel of its own."""
    sets = [open_reads(descriptors, [LIMIT] * MANY) for _ in range(4)]
    wanted = [file.read_bytes() for file in files]
    found: list[list[bytes]] = []

    def read(reads: Reads) -> None:
        found.extend(reads.read() for _ in range(200))

    threads = [threading.Thread(target=read, args=(one,)) for one in sets if one]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == [wanted] * 800


@pytest.mark.parametrize("machine", ["riscv64", "x86_64", "aarch64"])
def test_where_there_is_none(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    """An unknown processor, or a kernel that gives no context: then nobody reads so."""
    monkeypatch.setattr(aio._Channels, "_free", [])
    monkeypatch.setattr(aio, "_CALLS", {machine: aio._Calls(1 << 20, 1 << 20, 1 << 20, 1 << 20)})
    assert open_reads([0], [LIMIT]) is None


def test_kept_files_find_the_one_that_fails(files: list[Path]) -> None:
    """A file whose content is gone costs only itself, and comes back when it does."""
    kept = KeptFiles(str(files[0].parent), [file.name for file in files], [LIMIT] * MANY)
    wanted = [f"{number}\n".encode() for number in range(MANY)]
    for _ in range(3):
        assert kept.read() == wanted
    kept._drop(4)
    files[4].unlink()
    assert isinstance(kept.read()[4], FileNotFoundError)
    assert kept.kept == MANY - 1
    files[4].write_text("40\n", "utf-8")
    wanted[4] = b"40\n"
    for _ in range(3):
        assert kept.read() == wanted
    assert kept.kept == MANY
    kept.close()
    assert kept.kept == 0


def test_kept_files_tell_what_changed(files: list[Path]) -> None:
    """Since the read before; not where each was read by itself."""
    kept = KeptFiles(str(files[0].parent), [file.name for file in files], [LIMIT] * MANY)
    found = [kept.read() for _ in range(2)]
    assert kept.changed_since(found[0]) is None  # they were opened with the first
    files[7].write_text("x\n", "utf-8")
    found.append(kept.read())
    assert kept.changed_since(found[1]) == [7]
    kept._drop(7)
    kept.read()
    assert kept.changed_since(found[2]) is None
    kept.close()


def test_without_aio_each_file_is_read_by_itself(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is the same."""
    monkeypatch.setattr(aio, "_CALLS", {})
    kept = KeptFiles(str(files[0].parent), [file.name for file in files], [LIMIT] * MANY)
    wanted = [f"{number}\n".encode() for number in range(MANY)]
    assert [kept.read() for _ in range(2)] == [wanted] * 2
    kept.close()


@settings(max_examples=40, deadline=None)
@given(passes=st.lists(st.lists(st.binary(max_size=12), min_size=3, max_size=3), max_size=5))
def test_any_contents(tmp_path_factory: pytest.TempPathFactory, passes: list[list[bytes]]) -> None:
    """What goes in comes out, whatever was there before."""
    folder = tmp_path_factory.mktemp("any")
    paths = [folder / name for name in "abc"]
    for path in paths:
        path.touch()
    descriptors = [os.open(path, os.O_RDONLY) for path in paths]
    reads = open_reads(descriptors, (8, 12, 16))
    assert reads is not None
    before: list[bytes] = []
    for contents in passes:
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        found = reads.read()
        assert found == [contents[0][:8], contents[1], contents[2]]
        if before and found is not before:
            differing = [n for n in range(3) if found[n] != before[n]]
            assert reads.changed_since(before) == differing
        before = found
    for descriptor in descriptors:
        os.close(descriptor)
