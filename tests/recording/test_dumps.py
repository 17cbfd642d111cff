from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from neuron_observer.recording.dumps import Dumps

if TYPE_CHECKING:
    from pathlib import Path

AT = 1_796_032_800.0  # 2026-11-30T10:00:00Z


def test_a_dump_is_named_by_time_and_finding(tmp_path: Path) -> None:
    """A second one of the same second has a number; nothing but its owner and group may read it."""
    dumps = Dumps(tmp_path, 10_000)
    first = dumps.write(AT, "hbm-unrepairable", [b"one", b"two"])
    second = dumps.write(AT, "hbm-unrepairable", [b"three"])
    assert first.name == "20261130T100000Z-hbm-unrepairable.nobs.gz"
    assert second.name == "20261130T100000Z-hbm-unrepairable-2.nobs.gz"
    assert first.read_bytes() == b"onetwo"
    assert first.stat().st_mode & 0o007 == 0
    assert dumps.bytes() == 11


def test_names_are_harmless(tmp_path: Path) -> None:
    """Whatever a rule is called."""
    path = Dumps(tmp_path, 10_000).write(AT, "../../etc/Pass wd", [b"x"])
    assert path.parent == tmp_path / "recordings"
    assert path.name == "20261130T100000Z-etc-pass-wd.nobs.gz"


def test_the_oldest_go_when_there_is_no_room(tmp_path: Path) -> None:
    """And what was never finished."""
    dumps = Dumps(tmp_path, 1000)
    paths = [dumps.write(AT + number, "x", [bytes(400)]) for number in range(2)]
    left = dumps.folder / "20200101T000000Z-x.nobs.gz.part"
    left.write_bytes(bytes(300))
    newest = dumps.write(AT + 60, "x", [bytes(400)])
    assert dumps.known() == [paths[1], newest]
    assert not left.exists()


def test_one_that_is_larger_than_all_may_be_is_refused(tmp_path: Path) -> None:
    """What is there stays."""
    dumps = Dumps(tmp_path, 1000)
    kept = dumps.write(AT, "x", [bytes(900)])
    with pytest.raises(OSError, match="1001 bytes") as caught:
        dumps.write(AT, "y", [bytes(1001)])
    assert caught.value.errno == errno.EFBIG
    assert dumps.known() == [kept]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of half a dump."""
    dumps = Dumps(tmp_path, 1000)

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        dumps.write(AT, "x", [b"one"])
    assert list(dumps.folder.iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """OSError, and no bytes on the disk."""
    (tmp_path / "file").touch()
    dumps = Dumps(tmp_path / "file", 1000)
    with pytest.raises(OSError, match="Not a directory"):
        dumps.write(AT, "x", [b"one"])
    assert dumps.bytes() == 0


def test_without_its_state_directory_nothing_is_made(tmp_path: Path) -> None:
    """The disk may not be mounted yet."""
    dumps = Dumps(tmp_path / "disk/state", 1000)
    with pytest.raises(FileNotFoundError):
        dumps.write(AT, "x", [b"x"])
    assert not (tmp_path / "disk").exists()
