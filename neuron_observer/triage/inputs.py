"""What people hand over: files, pipes, compressed or not, and things that are no log at all."""

from __future__ import annotations

import codecs
import re
import stat
import zlib
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from neuron_observer.bundle.opened import read as read_bundle
from neuron_observer.bundle.unpack import is_bundle
from neuron_observer.errors import InputError
from neuron_observer.triage.captures import is_listing, kept_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.bundle.opened import Log, Told

BLOCK = 1 << 20  # bytes a block
LONG = 8 << 20  # a line longer than this is searched in pieces; a report can be as long
OVERLAP = 4096  # bytes of a long line that two pieces share

_GZIP = 31  # zlib's word for "a gzip header, please"
_ANSI = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][AB0])")

# files that are no text: how they begin, what they are, what to do
_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (
        b"LPKSHHRH",
        "a binary journal",
        "journalctl --file {name} -o json | neuron-observer triage -",
    ),
    (b"\xfd7zXZ\0", "compressed with xz", "xzcat {name} | neuron-observer triage -"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "zstdcat {name} | neuron-observer triage -"),
    (b"BZh", "compressed with bzip2", "bzcat {name} | neuron-observer triage -"),
    (b"PK\x03\x04", "a zip archive", "unzip it and hand over the logs in it"),
    (b"\x7fELF", "a program or a core dump", "hand over the log of the job instead"),
    (b"SQLite format 3", "a database", "hand over the log of the job instead"),
)


class Block(NamedTuple):
    """Some lines. `begin`: bytes in front that the block before had already; a long line only.

    `until`: where the next block takes over. `line`: number of the first line, from 1.
    """

    data: bytes
    begin: int
    until: int
    line: int


@dataclass(slots=True)
class Input:
    """One file or pipe: its name, and what became of it while it was read."""

    name: str
    kinds: set[str] = field(default_factory=set)
    lines: int = 0
    bytes: int = 0
    notes: list[str] = field(default_factory=list)
    partial: bool = False  # read, but not to its end, or not all of it was understood
    failed: bool = False  # not read at all
    told: Told | None = None  # of a bundle: what the node said of itself
    logs: tuple[Log, ...] = ()  # that it holds
    part_of: int | None = None  # of such a log: the index of its bundle

    @property
    def short(self) -> str:
        """The name without folders."""
        return self.name.rpartition("/")[2]

    def fail(self, why: str, remedy: str = "") -> None:
        """Nothing of it was read."""
        self.failed = True
        self.notes.append(f"{why}; {remedy}" if remedy else why)

    def cut(self, why: str) -> None:
        """What was read counts, the rest is missing."""
        self.partial = True
        self.notes.append(why)


def read(source: Input, stream: BinaryIO | None = None) -> Iterator[Block]:
    """The blocks of a file, or of `stream`; failures end up in the input's notes, never raise."""
    if stream is not None:
        yield from _guarded(source, stream)
        return
    path = Path(source.name)
    try:
        if stat.S_ISCHR(path.stat().st_mode):  # /dev/kmsg never ends
            source.fail("is a device", "pipe what it gives: dmesg | neuron-observer triage -")
            return
        with path.open("rb") as opened:
            yield from _guarded(source, opened)
    except IsADirectoryError:
        tree = (path / "sys" / "class" / "neuron_device").exists() or (path / "sys").exists()
        hint = f"neuron-observer snapshot --host-root {source.name}" if tree else ""
        source.fail("is a directory", f"for a host tree use: {hint}" if tree else "name the files")
    except OSError as error:
        source.fail(f"cannot be opened: {error.strerror or error}")


def _guarded(source: Input, stream: BinaryIO) -> Iterator[Block]:
    try:
        yield from _blocks(source, _plain(source, stream))
    except OSError as error:
        source.cut(f"reading failed: {error.strerror or error}: read up to there")
    if not source.bytes and not source.failed:
        source.fail("is empty")


def _plain(source: Input, stream: BinaryIO) -> Iterator[bytes]:
    """Chunks of UTF-8 (or whatever bytes a log is in), decompressed."""
    head, chunks = _peek(iter(lambda: stream.read(BLOCK), b""))
    if head.startswith(b"\x1f\x8b"):
        source.kinds.add("gzip")
        head, chunks = _peek(_gunzip(source, chunks))
    if is_bundle(head):
        _unbundle(source, chunks)
        return
    if _refused(source, head):
        return
    encoding = _utf16(head)
    if encoding:
        source.notes.append(f"is {encoding.upper()}: converted")
        chunks = _recoded(chunks, encoding)
    yield from kept_lines(source, chunks) if is_listing(head) else chunks


def _peek(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    head = next(chunks, b"")
    return head, chain((head.removeprefix(codecs.BOM_UTF8),), chunks)


def _gunzip(source: Input, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """All members of a gzip file; what a damaged one gave before the damage is not lost."""
    decoder, begun = zlib.decompressobj(_GZIP), False
    for chunk in chunks:
        left = chunk
        while left:
            try:
                data = decoder.decompress(left, BLOCK)
            except zlib.error as error:
                source.cut(f"the compressed file is damaged ({error}): read up to there")
                return
            begun = True
            if data:
                yield data
            left = decoder.unconsumed_tail
            if decoder.eof:
                left = decoder.unused_data.lstrip(b"\0")
                decoder, begun = zlib.decompressobj(_GZIP), bool(left)
    if begun:
        source.cut("the compressed file ends early: read up to there")


def _unbundle(source: Input, chunks: Iterator[bytes]) -> None:
    """A bundle: its logs are inputs of their own."""
    source.kinds.add("bundle")
    source.bytes += 1  # more than nothing
    try:
        bundle = read_bundle(chunks)
    except InputError as error:
        source.fail(f"is a bundle that cannot be used: {error.message}", "have it sent again")
        return
    for problem in bundle.problems:
        source.cut(problem)
    source.told, source.logs = bundle.told, bundle.logs


def _refused(source: Input, head: bytes) -> bool:
    for magic, what, remedy in _MAGIC:
        if head.startswith(magic):
            source.bytes += len(head)
            source.fail(f"is {what}", remedy.format(name=source.name))
            return True
    if head[257:262] == b"ustar":
        source.bytes += len(head)
        source.fail("is a tar archive", "unpack it and hand over the logs in it")
    elif _binary(head):
        source.bytes += len(head)
        source.fail("is binary, not a log", "hand over text")
    return source.failed


def _binary(head: bytes) -> bool:
    """Whether it is no text: logs may hold stray bytes and runs of NUL, but mostly letters."""
    if not head or _utf16(head):
        return False
    control = len(head) - len(
        head.translate(None, bytes((*range(9), *range(14, 27), *range(28, 32), 127)))
    )
    return control - head.count(0) > len(head) // 20 or head.count(0) > len(head) * 9 // 10


def _utf16(head: bytes) -> str | None:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    pairs = head[: len(head) & ~1][:4096]
    if len(pairs) < 8:
        return None
    if pairs[1::2].count(0) > len(pairs) * 0.4 and not pairs[0::2].count(0):
        return "utf-16-le"
    if pairs[0::2].count(0) > len(pairs) * 0.4 and not pairs[1::2].count(0):
        return "utf-16-be"
    return None


def _recoded(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _blocks(source: Input, chunks: Iterator[bytes]) -> Iterator[Block]:
    rest, begin = b"", 0
    for chunk in chunks:
        source.bytes += len(chunk)
        data = rest + chunk
        end = data.rfind(b"\n") + 1
        if end:
            yield _block(source, data[:end], begin, end)
            source.lines += data.count(b"\n", begin, end)
            rest, begin = data[end:], 0
        else:
            rest = data
        if len(rest) - begin > LONG:
            until = len(rest) - OVERLAP
            _long(source)
            yield _block(source, rest, begin, until)
            rest, begin = rest[until - OVERLAP :], OVERLAP
    if len(rest) > begin:
        yield _block(source, rest, begin, len(rest))
    source.lines += bool(rest)


def _block(source: Input, data: bytes, begin: int, until: int) -> Block:
    if b"\x1b" in data and not begin:  # colours move what stands behind them
        data = _ANSI.sub(b"", data)
        until = min(until, len(data))
    return Block(data, begin, until, source.lines + 1)


def _long(source: Input) -> None:
    note = f"line {source.lines + 1} is longer than {LONG >> 20} MiB: searched in pieces"
    if not any("searched in pieces" in known for known in source.notes):
        source.notes.append(note)
