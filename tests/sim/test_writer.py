"""A simulation in a directory: the same bytes as in memory, moved in place."""

from __future__ import annotations

import errno
import os
import stat
import threading
from contextlib import closing
from itertools import count, pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_observer.errors import InputError, UsageError
from neuron_observer.sim.writer import ASIDE, MARK, TOPS, DirectoryWriter, claim, rewrite
from neuron_observer.sources.hostfs import DirectoryFs
from tests.sim.worlds import DEVICE, Bench, bench, fault


def assert_same(host: Bench, root: Path) -> None:
    """Every leaf of the simulation is in the directory, and nothing besides."""
    files = DirectoryFs(str(root))
    tree = host.host.tree
    for path, leaf in tree.leaves.items():
        status = files.lstat(path)
        if leaf.kind == "link":
            assert files.readlink(path) == leaf.target
        elif leaf.kind == "file":
            assert files.read(path, 1 << 20) == leaf.render()  # type: ignore[misc]
            assert stat.S_IMODE(status.st_mode) == leaf.mode
        else:
            assert stat.S_ISREG(status.st_mode)
    found = {
        str(Path(folder, name).relative_to(root))
        for folder, _, names in os.walk(root)
        for name in names
    }
    links = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink()}
    assert (found | links) - {MARK} == set(tree.leaves)


def test_directory_is_the_simulation(tmp_path: Path) -> None:
    """Written, moved, without a driver, and with one again."""
    host = bench(
        fault("driver_absent", 20.0, 40.0),
        fault("kernel_lines", 5.0, text="hello"),
        instance="inf2.xlarge",
    )
    root = tmp_path / "host"
    writer = DirectoryWriter(host.host, str(root))
    for seconds in (0.0, 10.0, 15.0, 30.0):
        host.go(seconds)
        writer.write()
        assert_same(host, root)
    assert (root / "dev/kmsg").read_bytes() == b"".join(r + b"\n" for r in host.host.records(0)[0])


def test_only_what_changed_is_rewritten(tmp_path: Path) -> None:
    """An instant later nothing; a second later the counters that move."""
    host = bench(instance="inf2.xlarge")
    writer = DirectoryWriter(host.host, str(tmp_path))
    host.go(10.0)
    writer.write()
    assert writer.files > 300
    writer.write()
    assert writer.files == 0
    host.go(1.0)
    writer.write()
    assert 5 < writer.files < 60


def test_kept_descriptors_see_the_present(tmp_path: Path) -> None:
    """A file is rewritten where it is."""
    host = bench(instance="inf2.xlarge")
    writer = DirectoryWriter(host.host, str(tmp_path))
    writer.write()
    name = "neuron_core0/stats/other_info/nc_time_in_use/total"
    kept = DirectoryFs(str(tmp_path)).file_set(DEVICE.format(0), [name], [64], keep=True)
    assert kept.read() == [b"0\n"]
    host.go(10.0)
    writer.write()
    assert kept.read() == [host.text(name).encode()]
    kept.close()


@given(st.lists(st.binary(max_size=300), min_size=2, max_size=10))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rewrite_leaves_exactly_the_new_bytes(tmp_path: Path, contents: list[bytes]) -> None:
    """Longer, shorter, the same."""
    file = tmp_path / "value"
    file.write_bytes(contents[0])
    for before, now in pairwise(contents):
        rewrite(str(file), before, now, 0o644)
        assert file.read_bytes() == now


def test_reader_never_sees_half_a_value(tmp_path: Path) -> None:
    """Values of very different lengths while somebody reads all the time."""
    file = tmp_path / "value"
    values = [b"7\n", b"123456789012345678\n", b"POWER_STATUS_VALID,1788000000,24.57,72.53,53.34\n"]
    file.write_bytes(values[0])
    stop, odd = threading.Event(), set()

    def look() -> None:
        descriptor = os.open(file, os.O_RDONLY)
        while not stop.is_set():
            seen = os.pread(descriptor, 4096, 0)
            # the kernel shows zeros to a read that a truncation overtakes
            if seen.rstrip(b"\0").rstrip(b"\n") + b"\n" not in values:
                odd.add(seen)
        os.close(descriptor)

    thread = threading.Thread(target=look)
    thread.start()
    for number in range(3_000):
        rewrite(str(file), values[number % 3], values[(number + 1) % 3], 0o644)
    stop.set()
    thread.join(10.0)
    assert odd == set()


def test_root_is_refused() -> None:
    """`/`, also under another name."""
    for root in ("/", "//", "/proc/self/root", "/tmp/.."):  # noqa: S108 - a name of the root
        with pytest.raises(UsageError, match="never written to /"):
            claim(root)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    """A directory with anything in it that is not a simulation of ours stays as it is."""
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/mine").write_text("x")
    with pytest.raises(UsageError, match="is not empty"):
        claim(str(tmp_path))
    (tmp_path / MARK).write_text("{}")
    (tmp_path / "notes").write_text("x")
    with pytest.raises(UsageError, match="is not empty"):
        claim(str(tmp_path))
    assert (tmp_path / "sys/mine").read_text() == "x"


def test_link_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    """A directory of ours whose sys leads elsewhere is not followed."""
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "root"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x")
    os.close(claim(str(root))[1])
    (root / "sys").symlink_to(elsewhere)
    with pytest.raises(UsageError, match="not made by a simulation"):
        claim(str(root))
    assert (elsewhere / "precious").read_text() == "x"


def test_own_directory_is_taken_again(tmp_path: Path) -> None:
    """What the last simulation left is cleared."""
    first = DirectoryWriter(bench(instance="inf1.xlarge", driver="2.24.7").host, str(tmp_path))
    first.write()
    (tmp_path / ASIDE / "sys").mkdir(parents=True)  # as a killed one may leave it
    first.close()
    host = bench(instance="inf2.xlarge")
    with closing(DirectoryWriter(host.host, str(tmp_path))) as writer:
        writer.write()
    assert_same(host, tmp_path)
    assert not (tmp_path / ASIDE).exists()


def test_two_simulations_do_not_share_a_directory(tmp_path: Path) -> None:
    """The second one is refused, and what the first one wrote stays."""
    host = bench(instance="inf2.xlarge")
    with closing(DirectoryWriter(host.host, str(tmp_path))) as writer:
        writer.write()
        with pytest.raises(UsageError, match="another simulation keeps it moving"):
            claim(str(tmp_path))
        assert_same(host, tmp_path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_is_told_and_shows_no_half_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """What to do then is to make room; readers find nothing rather than a part."""
    write, left = os.write, count(100, -1)

    def until_full(descriptor: int, data: bytes) -> int:
        if next(left) > 0:
            return write(descriptor, data)
        raise OSError(number, os.strerror(number))

    host = bench(instance="inf2.xlarge")
    with closing(DirectoryWriter(host.host, str(tmp_path))) as writer:
        monkeypatch.setattr(os, "write", until_full)
        with pytest.raises(InputError, match=os.strerror(number)) as caught:
            writer.write()
        monkeypatch.undo()
        assert "make room" in caught.value.remedy
        assert (tmp_path / ASIDE).exists()
        assert not [top for top in TOPS if (tmp_path / top).exists()]
        writer.write()
    assert_same(host, tmp_path)


def test_place_that_cannot_be_made(tmp_path: Path) -> None:
    """Below a file there is no directory."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="file"):
        claim(str(tmp_path / "file/host"))


def test_directory_that_disappears_is_told(tmp_path: Path) -> None:
    """Somebody else removes it: an error that names the file."""
    host = bench(instance="inf2.xlarge")
    writer = DirectoryWriter(host.host, str(tmp_path / "host"))
    writer.write()
    (tmp_path / "host").rename(tmp_path / "gone")
    host.go(5.0)
    with pytest.raises(InputError, match=r"host/.*No such file") as caught:
        writer.write()
    assert "start it again" in caught.value.remedy
