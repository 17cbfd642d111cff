"""Files that somebody else wrote: regular ones only, with their owner, never waited for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.regular import regular
from tests.hosts import host_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_regular_file_tells_its_owner(tmp_path: Path) -> None:
    """At most so many bytes from the start, each time; nothing stays open."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run/a").write_bytes(b"0123456789")
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - descriptors
    with regular(DirectoryFs(str(tmp_path)), "run/a") as opened:
        assert (opened.uid, opened.read(4), opened.read(100)) == (
            os.getuid(),
            b"0123",
            b"0123456789",
        )
        assert opened.changed is not None
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - descriptors


def test_nothing_else_is_opened(tmp_path: Path) -> None:
    """A FIFO without a writer, a link, a folder, a device: an error at once."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    for name in ("fifo", "link", "folder", "absent"):
        with (
            pytest.raises(OSError, match=r"regular|symbolic|No such"),
            regular(DirectoryFs(str(tmp_path)), name),
        ):
            pass
    with (
        pytest.raises(OSError, match="a device or a socket, no regular file"),
        regular(DirectoryFs("/"), "dev/null"),
    ):
        pass


def test_of_a_recording_the_owner_is_not_known() -> None:
    """Its bytes are read all the same; a link of it is none."""
    host = host_of({"run/a": b"abc"}, {"run/l": "a"})
    with regular(host, "run/a") as opened:
        assert (opened.uid, opened.changed, opened.read(2)) == (None, None, b"ab")
    with pytest.raises(OSError, match="a link, no regular file"), regular(host, "run/l"):
        pass
