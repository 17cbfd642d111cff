"""Whatever is handed over is read, or said to be unreadable; nothing is lost and nothing raises."""

from __future__ import annotations

import errno
import gzip
import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.triage import MATCHER
from neuron_observer.model import Verdict
from neuron_observer.triage.inputs import LONG, Input, read
from neuron_observer.triage.report import Report, triage

if TYPE_CHECKING:
    from pathlib import Path

FAULT = (
    b"NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR hostname=ip-10-0-0-1 nd-id=3 nc-id=1 "
    b"serial-num=0123456789abcdef action=TERMINATE_INSTANCE\n"
)


def report(path: Path, data: bytes) -> Report:
    """The report on a file with this content."""
    path.write_bytes(data)
    return triage([str(path)], matcher=MATCHER)


def blocks(data: bytes) -> tuple[Input, list[bytes]]:
    """What is handed on of a stream, each byte once."""
    source = Input("x")
    parts = [block.data[block.begin : block.until] for block in read(source, io.BytesIO(data))]
    return source, parts


class Failing(io.BytesIO):
    """A file that cannot be read beyond its first part."""

    def __init__(self, data: bytes, code: int) -> None:
        super().__init__(data)
        self._code = code
        self._calls = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """The data once, then the error."""
        self._calls += 1
        if self._calls > 1:
            raise OSError(self._code, "no more")
        return super().read(size)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.binary(max_size=60).map(lambda line: line.replace(b"\x1b", b"")), max_size=20))
def test_every_byte_is_handed_on_once(lines: list[bytes]) -> None:
    """The blocks of a text are the text."""
    data = b"log of a job " * 8 + b"\n".join(lines)
    source, parts = blocks(data)
    if not source.failed and "converted" not in " ".join(source.notes):
        assert b"".join(parts) == data
        assert source.lines == data.count(b"\n") + (not data.endswith(b"\n"))


def test_a_line_longer_than_all_bounds() -> None:
    """A line of tens of megabytes is searched in pieces, and each byte comes once."""
    filler = b"abc " * (LONG // 2)
    data = filler + FAULT.strip() + b" " + filler + b"\n" + b"next line\n"
    source, parts = blocks(data)
    assert b"".join(parts) == data
    assert max(len(part) for part in parts) <= LONG + (1 << 20)
    assert source.lines == 2
    assert source.notes == ["line 1 is longer than 8 MiB: searched in pieces"]
    found = triage(["-"], streams={"-": io.BytesIO(data)}, matcher=MATCHER)
    assert [(f.entity.device, f.entity.core) for f in found.findings] == [(3, 1)]
    assert found.facts[0].count == 1
    assert found.facts[0].line == 1


def test_gzip(tmp_path: Path) -> None:
    """Compressed logs are read, also of several members."""
    data = gzip.compress(b"one\n") + gzip.compress(FAULT) + b"\0" * 512
    found = report(tmp_path / "log.gz", data)
    assert [f.id for f in found.findings] == ["sram-uncorrectable"]
    assert found.inputs[0].kinds == {"gzip", "kernel log"}
    assert not found.inputs[0].partial


def test_gzip_that_ends_early(tmp_path: Path) -> None:
    """What a truncated file gives counts; that it is cut is said."""
    lines = b"".join(b"step %d of the job with some words\n" % n for n in range(20000))
    data = gzip.compress(FAULT + lines)
    found = report(tmp_path / "log.gz", data[: len(data) // 2])
    assert [f.id for f in found.findings] == ["sram-uncorrectable"]
    assert found.inputs[0].partial
    assert "ends early" in found.inputs[0].notes[0]
    assert [gap.id for gap in found.coverage.missing] == [str(tmp_path / "log.gz")]


def test_gzip_that_is_damaged(tmp_path: Path) -> None:
    """A partial file without a finding is no proof of health."""
    data = bytearray(gzip.compress(b"neuron: module verification failed\n" * 20000))
    data[len(data) // 2] ^= 0xFF
    found = report(tmp_path / "log.gz", bytes(data))
    assert found.inputs[0].partial
    assert found.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16(tmp_path: Path, encoding: str) -> None:
    """UTF-16 is converted, and said to be."""
    found = report(tmp_path / "log", (b"words before\n" + FAULT).decode().encode(encoding))
    assert [f.id for f in found.findings] == ["sram-uncorrectable"]
    assert "converted" in found.inputs[0].notes[0]
    assert found.facts[0].line == 2


def test_stray_bytes_and_holes(tmp_path: Path) -> None:
    """A log with NUL bytes (a crash leaves them) and bytes of no encoding is still a log."""
    found = report(tmp_path / "log", b"a job\n" * 50 + b"\0" * 400 + b"\xff\xfe\x80 " + FAULT)
    assert [f.id for f in found.findings] == ["sram-uncorrectable"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"LPKSHHRH" + bytes(100), "binary journal; journalctl --file"),
        (b"\xfd7zXZ\0" + bytes(100), "compressed with xz; xzcat"),
        (b"\x28\xb5\x2f\xfd" + bytes(100), "compressed with zstd; zstdcat"),
        (b"PK\x03\x04" + bytes(100), "a zip archive"),
        (b"\x7fELF" + bytes(100), "a program or a core dump"),
        (b"job.log".ljust(257, b"\0") + b"ustar\x0000" + bytes(248), "a tar archive"),
        (bytes(range(256)) * 40, "is binary, not a log"),
        (bytes(5000), "is binary, not a log"),
        (
            b'# a tree\n0444\tclass/dmi/id/product_name\t"trn2.3xlarge\\n"\n',
            "devices --host-root FILE",
        ),
        (b'l\tclass/neuron_device/neuron0\t"../x"\n', "listing of a host tree"),
    ],
)
def test_what_is_no_log(tmp_path: Path, data: bytes, says: str) -> None:
    """Things that are no log are named, with what to do instead."""
    found = report(tmp_path / "thing", data)
    assert found.inputs[0].failed
    assert says in found.inputs[0].notes[0]
    assert found.verdict is Verdict.UNKNOWN


def test_a_tree_in_a_compressed_listing(tmp_path: Path) -> None:
    """A compressed listing of a host tree is recognised as well."""
    found = report(tmp_path / "t.tsv.gz", gzip.compress(b'# tree\n0444\tclass/x\t"1\\n"\n'))
    assert "host tree" in found.inputs[0].notes[0]


def test_a_directory(tmp_path: Path) -> None:
    """A directory is named as such; a host tree gets the right command."""
    plain = triage([str(tmp_path)], matcher=MATCHER)
    assert plain.inputs[0].notes == ["is a directory; name the files"]
    (tmp_path / "sys" / "class").mkdir(parents=True)
    tree = triage([str(tmp_path)], matcher=MATCHER)
    assert "snapshot --host-root" in tree.inputs[0].notes[0]


def test_a_device() -> None:
    """A device is not read, for it may never end."""
    found = triage(["/dev/null"], matcher=MATCHER)
    assert found.inputs[0].notes[0].startswith("is a device; pipe what it gives")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is told; the others are read all the same."""
    (tmp_path / "log").write_bytes(FAULT)
    found = triage([str(tmp_path / "absent"), str(tmp_path / "log")], matcher=MATCHER)
    assert "No such file" in found.inputs[0].notes[0]
    assert found.inputs[0].failed
    assert [f.id for f in found.findings] == ["sram-uncorrectable"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ESTALE])
def test_a_read_that_fails(code: int) -> None:
    """What was read before an error counts, the error is told."""
    found = triage(["-"], streams={"-": Failing(FAULT, code)}, matcher=MATCHER)
    assert [f.id for f in found.findings] == ["sram-uncorrectable"]
    assert found.inputs[0].partial
    assert "no more" in found.inputs[0].notes[0]


def test_colours() -> None:
    """Escape sequences of a terminal do not hide a message."""
    line = b"\x1b[1;31mNEURON_HW_\x1b[0mERR=\x1b[4mDMA_ERROR\x1b[0m nd-id=3\x1b]0;title\x07\n"
    found = triage(["-"], streams={"-": io.BytesIO(line)}, matcher=MATCHER)
    assert [(f.id, f.entity.device) for f in found.findings] == [("dma-abort", 3)]


def test_an_escape_sequence_hides_one_line_at_most() -> None:
    """A sequence that is not ended cannot swallow the lines after it."""
    data = b"\x1b]0;never ended\n" + FAULT
    found = triage(["-"], streams={"-": io.BytesIO(data)}, matcher=MATCHER)
    assert [f.id for f in found.findings] == ["sram-uncorrectable"]
    assert found.facts[0].line == 2
