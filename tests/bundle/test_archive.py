"""The archive: the same bytes for the same content, whole or not at all, for its owner alone."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from neuron_observer.bundle.archive import Member, pack, write
from neuron_observer.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "neuron-bundle-20261130T210000Z-00000000"
MEMBERS = (Member("manifest.json", b"{}"), Member("recordings/x.nobs.gz", b"\x1f\x8b"))


def test_packed() -> None:
    """One folder, the order kept, no owner, one time, 0600."""
    data = pack(FOLDER, MEMBERS, 1_788_000_000.7)
    assert data == pack(FOLDER, MEMBERS, 1_788_000_000.2)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        found = tar.getmembers()
    assert [one.name for one in found] == [f"{FOLDER}/{one.name}" for one in MEMBERS]
    assert {(one.mode, one.uid, one.gid, one.uname, one.gname, one.mtime) for one in found} == {
        (0o600, 0, 0, "", "", 1_788_000_000)
    }


def test_written_for_the_owner_alone(tmp_path: Path) -> None:
    """Whatever the umask; nothing else is left in the folder."""
    path = tmp_path / "b.tar.gz"
    before = os.umask(0)
    try:
        write(path, b"data")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"data"


def test_nothing_is_written_over(tmp_path: Path) -> None:
    """Not a file, and not what a link points to."""
    path, link, target = tmp_path / "b", tmp_path / "link", tmp_path / "target"
    path.write_bytes(b"old")
    link.symlink_to(target)
    for one in (path, link):
        with pytest.raises(InputError, match="is there already"):
            write(one, b"new")
    assert path.read_bytes() == b"old"
    assert not target.exists()
    assert sorted(tmp_path.iterdir()) == sorted([path, link])


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """It is not made: a name that was mistyped is said."""
    with pytest.raises(InputError, match=r"nowhere/b: cannot be written: No such file"):
        write(tmp_path / "nowhere/b", b"data")


def test_a_disk_that_gets_full_leaves_nothing(tmp_path: Path) -> None:
    """A write that breaks off (here by a limit of the process) is told, and no half file stays."""
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from neuron_observer.bundle.archive import write\n"
        "from neuron_observer.errors import InputError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    write(Path(sys.argv[1]), bytes(1_000_000))\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "b")],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert "cannot be written: File too large" in run.stdout
    assert "Nothing is left of it" in run.stdout
    assert list(tmp_path.iterdir()) == []
