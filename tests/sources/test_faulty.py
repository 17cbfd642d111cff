"""A host whose files misbehave does so only where it was told to."""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.sources.faulty import Fault, FaultyFs
from neuron_observer.sources.hostfs import Entry
from tests.hosts import host_of

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 10.0  # seconds; a test that needs them has failed


def faulty(**faults: Fault) -> FaultyFs:
    """A host with files a, b and deep/c in one folder, with faults by name (`_` is a slash)."""
    host = host_of({"sys/n/a": b"1\n", "sys/n/b": b"2\n", "sys/n/deep/c": b"3\n"})
    named = {f"sys/n/{name.replace('_', '/')}": fault for name, fault in faults.items()}
    return FaultyFs(host, named)


def test_without_a_fault_it_is_the_host() -> None:
    """Reads, listings and sets are the wrapped host's."""
    host = faulty()
    assert host.root == host.host.root
    assert host.read("sys/n/a") == b"1\n"
    assert host.entries("sys/n") == [Entry("a", "file"), Entry("b", "file"), Entry("deep", "dir")]
    files = host.file_set("sys/n", ["a", "deep/c"], [64, 1], keep=True)
    assert files.read() == [b"1\n", b"3"]
    assert files.kept == 0


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ENODEV])
def test_an_error_is_of_its_path_and_below(number: int) -> None:
    """One file, or a folder with all that is in it; the rest is read."""
    host = faulty(b=Fault(number), deep=Fault(number))
    found = host.file_set("sys/n", ["a", "b", "deep/c"], [64] * 3, keep=False).read()
    assert found[0] == b"1\n"
    assert [item.errno for item in found[1:] if isinstance(item, OSError)] == [number, number]
    with pytest.raises(OSError, match=r"Errno") as raised:
        host.entries("sys/n/deep")
    assert raised.value.errno == number


def test_a_name_is_no_prefix_of_another() -> None:
    """A fault of `a` is none of `ab`."""
    host = FaultyFs(host_of({"sys/ab": b"1"}), {"sys/a": Fault(errno.EIO)})
    assert host.read("sys/ab") == b"1"


def test_the_longest_path_counts() -> None:
    """A folder that fails may have a file that does not."""
    host = faulty(deep=Fault(errno.EIO), deep_c=Fault())
    assert host.read("sys/n/deep/c") == b"3\n"


def test_what_is_hidden_is_not_there() -> None:
    """Neither read nor listed nor looked at, as a device that left."""
    host = faulty(a=Fault(hidden=True), deep=Fault(hidden=True))
    assert host.entries("sys/n") == [Entry("b", "file")]
    asked: list[Callable[[str], object]] = [host.read, host.lstat, host.entries, host.readlink]
    for ask in asked:
        with pytest.raises(FileNotFoundError):
            ask("sys/n/deep")


def test_a_file_may_change_from_read_to_read() -> None:
    """Each read gives the next content, within the limit; the last one stays."""
    host = faulty(a=Fault(contents=iter([b"1\n", b"22\n", b"333\n"])))
    assert [host.read("sys/n/a", 2) for _ in range(5)] == [b"1\n", b"22", b"33", b"33", b"33"]


def test_a_read_may_take_time() -> None:
    """What is called at a read can move the clock that the reader looks at."""
    clock = ManualClock()
    host = faulty(a=Fault(then=lambda: clock.advance(15.0)))
    before = clock.monotonic()
    assert host.read("sys/n/a") == b"1\n"
    assert clock.monotonic() - before == 15.0


def test_a_read_may_block() -> None:
    """It waits until it is let go, and no other read waits with it."""
    release, done = threading.Event(), threading.Event()
    host = faulty(a=Fault(block=release))
    found: list[bytes] = []

    def read() -> None:
        found.append(host.read("sys/n/a"))
        done.set()

    threading.Thread(target=read, daemon=True).start()
    assert host.read("sys/n/b") == b"2\n"
    assert not done.is_set()
    release.set()
    assert done.wait(PATIENCE)
    assert found == [b"1\n"]
