"""A host in a file: what was written is read back, byte by byte, and a bad row is named."""

from __future__ import annotations

import errno
import gzip
import json
import os
import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_observer.errors import InputError
from neuron_observer.sources.hostfs import Entry
from neuron_observer.sources.listing import ListingFs, encode, read_listing

if TYPE_CHECKING:
    from pathlib import Path

REMEDY = "kind, path below /sys, JSON string"


def host_of(folder: Path, text: str) -> ListingFs:
    """The host of a listing with this text."""
    file = folder / "host.tsv"
    file.write_text(text, encoding="utf-8")
    return ListingFs.open(str(file))


def number_of(error: BaseException) -> int | None:
    """The errno of an error."""
    assert isinstance(error, OSError)
    return error.errno


ROWS = """# a comment
0644\tdevices/n0/total\t"12\\n"
0600\tdevices/n0/reset\t"1\\n"
0444\tdevices/n0/odd\t"\\udcff\\u0000\\t\\u00e9"
l\tclass/n0\t"../devices/n0"
d\tclass/empty\t""
"""


# contents


@given(st.binary(max_size=200))
def test_any_bytes_encode_to_one_line_and_back(content: bytes) -> None:
    """No byte is lost, UTF-8 or not, and no tab or newline gets into the row."""
    text = encode(content)
    assert text.isascii()
    assert "\n" not in text
    assert "\t" not in text
    assert json.loads(text).encode("utf-8", "surrogateescape") == content


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.binary(max_size=100), min_size=1, max_size=5), st.booleans())
def test_files_survive_a_listing(tmp_path: Path, contents: list[bytes], packed: bool) -> None:
    """Written in the form and read again, plain or gzip, each file has its bytes."""
    rows = "".join(f"0644\tdir/f{n}\t{encode(content)}\n" for n, content in enumerate(contents))
    file = tmp_path / "host.tsv"
    file.write_bytes(gzip.compress(rows.encode()) if packed else rows.encode())
    host = ListingFs.open(str(file))
    paths = [f"f{number}" for number in range(len(contents))]
    assert [host.read(f"sys/dir/{path}") for path in paths] == contents
    files = host.file_set("sys/dir", paths, [4097] * len(paths), keep=True)
    assert files.read() == contents
    assert files.kept == 0


def test_a_listing_is_a_host(tmp_path: Path) -> None:
    """Files, links, empty folders, and the folders in between."""
    host = host_of(tmp_path, ROWS)
    assert host.read("sys/devices/n0/total") == b"12\n"
    assert host.read("sys/devices/n0/odd") == b"\xff\0\t\xc3\xa9"
    assert host.read("sys/devices/n0/total", 1) == b"1"
    assert host.readlink("sys/class/n0") == "../devices/n0"
    assert host.entries("sys/class") == [Entry("empty", "dir"), Entry("n0", "link")]
    assert host.entries("sys/class/empty") == []
    assert host.entries("") == [Entry("sys", "dir")]
    assert [entry.name for entry in host.entries("sys/devices/n0")] == ["odd", "reset", "total"]


def test_modes_are_the_listings(tmp_path: Path) -> None:
    """A file's mode is what the row says; folders and links are what they are."""
    host = host_of(tmp_path, ROWS)
    assert host.lstat("sys/devices/n0/reset").st_mode == stat.S_IFREG | 0o600
    assert stat.S_ISLNK(host.lstat("sys/class/n0").st_mode)
    assert stat.S_ISDIR(host.lstat("sys/class/empty").st_mode)
    assert stat.S_ISDIR(host.lstat("sys/devices").st_mode)


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("sys/absent", errno.ENOENT),
        ("sys/devices/n0", errno.EISDIR),
        ("sys/class/empty", errno.EISDIR),
        ("sys/class/n0", errno.ELOOP),
    ],
)
def test_reading_what_is_no_file(tmp_path: Path, path: str, number: int) -> None:
    """The errors of a directory on disk: absent, a folder (listed or implied), a link."""
    host = host_of(tmp_path, ROWS)
    with pytest.raises(OSError, match=r"Errno") as raised:
        host.read(path)
    assert number_of(raised.value) == number
    content = host.file_set(path.rpartition("/")[0], [path.rpartition("/")[2]], [64], keep=False)
    (error,) = content.read()
    assert isinstance(error, OSError)
    assert error.errno == number


@pytest.mark.parametrize(
    ("path", "number"), [("sys/absent", errno.ENOENT), ("sys/devices/n0/total", errno.ENOTDIR)]
)
def test_listing_what_is_no_folder(tmp_path: Path, path: str, number: int) -> None:
    """Absent, or a file."""
    with pytest.raises(OSError, match=r"Errno") as raised:
        host_of(tmp_path, ROWS).entries(path)
    assert number_of(raised.value) == number


@pytest.mark.parametrize("path", ["sys/devices/n0/total", "sys/devices", "sys/class/empty"])
def test_what_is_no_link_has_no_target(tmp_path: Path, path: str) -> None:
    """EINVAL, as readlink gives it for a file and for a folder."""
    with pytest.raises(OSError, match=r"Errno") as raised:
        host_of(tmp_path, ROWS).readlink(path)
    assert number_of(raised.value) == errno.EINVAL


# passes

CAPTURE = """#capture {"schema": "neuron-observer/capture/1", "period": 1.0}
#at 0
#read [0.000123, 0.000009]
0644\tn0/total\t"1\\n"
0644\tn0/other\t"a\\n"
#error ["sys/n0/reset", "0600", "EACCES"]
#host ["proc/stat", "0444", "cpu 1\\n"]
#kernel [0.5, "6,1,2,-;hello"]
#at 1.5
0644\tn0/total\t"2\\n"
#monitor [1.6, "{}"]
#at 3
0644\tn0/total\t"3\\n"
#error ["sys/n0/other", "0644", "ENODEV"]
"""


def test_the_passes_of_a_capture(tmp_path: Path) -> None:
    """Each pass changes what it saw; the rest stays; after the last there is none."""
    host = host_of(tmp_path, CAPTURE)
    seen = []
    while True:
        seen.append((host.read("sys/n0/total"), host.listing.passes[host.number].at))
        if not host.advance():
            break
        assert host.read("proc/stat") == b"cpu 1\n"
    assert seen == [(b"1\n", 0.0), (b"2\n", 1.5), (b"3\n", 3.0)]
    assert not host.advance()
    assert host.read("sys/n0/total") == b"3\n"


def test_captured_errors_are_played(tmp_path: Path) -> None:
    """What could not be read then cannot be read now, and is listed all the same."""
    host = host_of(tmp_path, CAPTURE)
    with pytest.raises(PermissionError):
        host.read("sys/n0/reset")
    assert host.lstat("sys/n0/reset").st_mode == stat.S_IFREG | 0o600
    assert Entry("reset", "file") in host.entries("sys/n0")
    assert host.read("sys/n0/other") == b"a\n"
    host.advance()
    host.advance()
    with pytest.raises(OSError, match=r"Errno") as raised:
        host.read("sys/n0/other")
    assert number_of(raised.value) == errno.ENODEV


def test_headers_and_lines_are_kept(tmp_path: Path) -> None:
    """The header, the kernel's lines and the monitor's lines stand in their pass."""
    listing = host_of(tmp_path, CAPTURE).listing
    assert listing.header == {"schema": "neuron-observer/capture/1", "period": 1.0}
    assert [one.kernel for one in listing.passes] == [["6,1,2,-;hello"], [], []]
    assert [one.monitor for one in listing.passes] == [[], ["{}"], []]


def test_two_hosts_of_one_listing_are_apart(tmp_path: Path) -> None:
    """Advancing one does not move the other."""
    one = host_of(tmp_path, CAPTURE)
    other = ListingFs(one.listing, "other")
    one.advance()
    assert (one.read("sys/n0/total"), other.read("sys/n0/total")) == (b"2\n", b"1\n")


def test_unknown_comments_are_comments(tmp_path: Path) -> None:
    """A later form may say more; `#` begins a comment whatever follows."""
    host = host_of(tmp_path, '#later [1\n#\n# at 5\n0644\tn0/total\t"1\\n"\n')
    assert len(host.listing.passes) == 1


# bad files


@pytest.mark.parametrize(
    "row",
    [
        "",
        "0644",
        "0644\tpath",
        "0644\tpath\tno JSON",
        "0644\tpath\t",
        '0644\tpath\t"open',
        "0644\tpath\t5",
        "0644\tpath\tnull",
        "0644\tpath\t[1]",
        "l\tpath\t5",
        '0999\tpath\t"a"',
        '-644\tpath\t"a"',
        'x\tpath\t"a"',
        '\tpath\t"a"',
        '0644\tpath\t"\\ud800"',
        "#at soon",
        "#at {}",
        "#capture [1]",
        "#capture {",
        '#error ["sys/a", "0644"]',
        '#error ["sys/a", "0644", "ENOSUCH"]',
        '#error ["sys/a", 5, "EIO"]',
        '#error ["sys/a", "0644", 5]',
        '#host ["proc/a", "0444", 5]',
        "#host {}",
        "#kernel 5",
        '#kernel {"a": 1}',
        "#kernel []",
        '#monitor {"a": 1}',
        '0644\tpath\t"' + "[" * 10,
        "0644\tpath\t" + "[" * 100_000,
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: str) -> None:
    """File, line, and what a row is."""
    file = tmp_path / "host.tsv"
    file.write_text(f'# first\n0644\tgood\t"1"\n{row}\n', encoding="utf-8")
    with pytest.raises(InputError) as raised:
        read_listing(str(file))
    assert raised.value.message.startswith(f"{file}:3: ")
    assert REMEDY in raised.value.remedy


@pytest.mark.parametrize("text", ["", "\n# nothing\n"[1:], "#at 5\n", '#capture {"a": 1}\n'])
def test_a_listing_without_a_row_is_an_error(tmp_path: Path, text: str) -> None:
    """No host is empty; one that was not read is not a host without devices."""
    with pytest.raises(InputError, match="is empty"):
        host_of(tmp_path, text)


@pytest.mark.parametrize("left", [1, 5, 12, 40, 0.5, -1, -8])
def test_a_cut_archive_is_an_error(tmp_path: Path, left: float) -> None:
    """A truncated gzip file is not a smaller host, wherever it was cut."""
    rows = "".join(f'0644\tdir/f{number}\t"{number * 7919}"\n' for number in range(500))
    whole = gzip.compress(rows.encode())
    file = tmp_path / "host.tsv.gz"
    file.write_bytes(whole[: int(len(whole) * left) if left == 0.5 else int(left)])
    with pytest.raises(InputError, match=r"host\.tsv\.gz"):
        read_listing(str(file))


@pytest.mark.parametrize("place", [20, 100, 500])
def test_a_damaged_archive_is_an_error(tmp_path: Path, place: int) -> None:
    """A changed byte in the middle is found."""
    rows = "".join(f'0644\tdir/f{number}\t"{number * 7919}"\n' for number in range(500))
    whole = bytearray(gzip.compress(rows.encode()))
    whole[place] ^= 0xFF
    file = tmp_path / "host.tsv.gz"
    file.write_bytes(whole)
    with pytest.raises(InputError, match=r"host\.tsv\.gz"):
        read_listing(str(file))


@pytest.mark.parametrize("raw", [b"\xff\xfe", b'0644\ta\t"\xff"\n', b"\x1f\x8b", b"\x1f", b"\0\0"])
def test_what_is_no_text_is_an_error(tmp_path: Path, raw: bytes) -> None:
    """Other encodings and stumps of archives."""
    file = tmp_path / "host.tsv"
    file.write_bytes(raw)
    with pytest.raises(InputError, match=r"host\.tsv"):
        read_listing(str(file))


def test_a_listing_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """The system's own words say why."""
    with pytest.raises(InputError, match="No such file"):
        read_listing(str(tmp_path / "absent"))
    with pytest.raises(InputError, match="Is a directory"):
        read_listing(str(tmp_path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.one_of(
        st.binary(max_size=60),
        st.builds(
            lambda kind, path, rest: f"{kind}\t{path}\t{rest}\n".encode("utf-8", "surrogatepass"),
            st.sampled_from(["0644", "l", "d", "#at ", "#error ", "#host ", "#kernel "]),
            st.text(max_size=5),
            st.one_of(st.text(max_size=8), st.text(max_size=8).map(json.dumps)),
        ),
    )
)
def test_any_file_is_a_listing_or_an_error(tmp_path: Path, raw: bytes) -> None:
    """Nothing but InputError comes out of a file."""
    file = tmp_path / "host.tsv"
    file.write_bytes(raw)
    try:
        listing = read_listing(str(file))
    except InputError as error:
        assert str(file) in error.message  # noqa: PT017 - either outcome is right
    else:
        assert any(one.nodes for one in listing.passes)


def test_a_device_node(tmp_path: Path) -> None:
    """Its mode holds its type, its content the numbers."""
    host = host_of(tmp_path, '#host ["dev/neuron0", "020666", "240:5"]\n')
    status = host.lstat("dev/neuron0")
    assert stat.S_ISCHR(status.st_mode)
    assert (os.major(status.st_rdev), os.minor(status.st_rdev)) == (240, 5)
    assert host.entries("dev") == [Entry("neuron0", "other")]


def test_a_folder_that_may_not_be_listed(tmp_path: Path) -> None:
    """The error of the path is the error of listing it."""
    host = host_of(tmp_path, '#error ["proc/77/fd", "0500", "EACCES"]\n')
    with pytest.raises(PermissionError):
        host.entries("proc/77/fd")
