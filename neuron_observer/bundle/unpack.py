"""Reading an archive of ours from anybody: in one pass, in bounded memory, nothing written.

Far less is taken than tar can hold: plain files and folders with short relative names. All else
(links, devices, paths that lead out, names that stand twice, members without end) is refused by
name. Form of a header: POSIX.1-1988, `ustar interchange format`.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from neuron_observer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCK: Final = 512
MEMBER_MOST: Final = 32 << 20  # bytes of one member
TOTAL_MOST: Final = 128 << 20  # bytes of all, unpacked
MEMBERS_MOST: Final = 500
_EXTRA_MOST: Final = 64 << 10  # bytes of a header that another tar program put in front
_FOLDER: Final = re.compile(rb"(?:\./)?neuron-bundle-[A-Za-z0-9-]{1,80}/")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*(?:/[A-Za-z0-9][A-Za-z0-9._+-]*)*")
_ODD: Final = {
    "1": "a hard link",
    "2": "a symbolic link",
    "3": "a device",
    "4": "a device",
    "6": "a pipe",
}


class Unpacked(NamedTuple):
    """A member: its size and sha256; its bytes where they were wanted."""

    name: str
    size: int
    sha256: str
    data: bytes | None


class _Header(NamedTuple):
    name: str
    size: int
    kind: str


def is_bundle(head: bytes) -> bool:
    """Whether a tar archive that begins so is one of ours."""
    return head[257:262] == b"ustar" and _FOLDER.match(head) is not None


def members(chunks: Iterator[bytes], wanted: Callable[[str], bool]) -> Iterator[Unpacked]:
    """The members in their order; `InputError` where it is none of ours, damaged or cut short."""
    source = _Source(chunks)
    seen: set[str] = set()
    extra = 0
    while (header := _header(source.take(BLOCK, "a header"))) is not None:
        padded = -(-header.size // BLOCK) * BLOCK
        if header.kind in "xgLK":  # what other tar programs add; nothing of it is needed
            extra += padded + BLOCK
            if extra > _EXTRA_MOST:
                raise InputError("its headers are longer than any that are needed")
            source.take(padded, "a header")
            continue
        name = _checked(header)
        if header.kind == "5":
            continue
        if name in seen:
            raise InputError(f"member {name} stands twice")
        seen.add(name)
        if len(seen) > MEMBERS_MOST:
            raise InputError(f"it has more than {MEMBERS_MOST} members")
        yield _unpacked(source, name, header.size, keep=wanted(name))


class _Source:
    """Bytes in pieces of the length that is asked for."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = memoryview(b"")
        self._taken = 0

    def pieces(self, size: int, what: str) -> Iterator[memoryview]:
        """So many bytes, in pieces."""
        self._taken += size
        if self._taken > TOTAL_MOST:
            raise InputError(f"it unpacks to more than {TOTAL_MOST >> 20} MiB")
        while size:
            if not self._left:
                chunk = next(self._chunks, None)
                if chunk is None:
                    raise InputError(f"it ends early, in {what}")
                self._left = memoryview(chunk)
            piece, self._left = self._left[:size], self._left[size:]
            size -= len(piece)
            yield piece

    def take(self, size: int, what: str) -> bytes:
        """So many bytes, which must be few."""
        return b"".join(self.pieces(size, what))


def _unpacked(source: _Source, name: str, size: int, *, keep: bool) -> Unpacked:
    digest, kept = hashlib.sha256(), []
    for piece in source.pieces(size, f"member {name}"):
        digest.update(piece)
        if keep:
            kept.append(bytes(piece))
    source.take(-size % BLOCK, f"member {name}")
    return Unpacked(name, size, digest.hexdigest(), b"".join(kept) if keep else None)


def _header(block: bytes) -> _Header | None:
    """A header; None at the end of the archive; `InputError` for what is none."""
    if not block.strip(b"\0"):
        return None
    told = _octal(block[148:156])
    if block[257:262] != b"ustar" or told != sum(block[:148]) + 8 * 32 + sum(block[156:]):
        raise InputError("it is damaged: a header of a member is no header")
    name, prefix = (_text(part) for part in (block[:100], block[345:500]))
    gnu = block[257:265] == b"ustar  \0"  # has other fields where the prefix stands
    whole = f"{prefix}/{name}" if prefix and not gnu else name
    size, kind = _octal(block[124:136]), chr(block[156]) if block[156] else "0"
    if size is None:
        raise InputError(f"member {whole[:80]!r}: its size is none, or longer than any of ours")
    return _Header(whole, size, kind)


def _octal(field: bytes) -> int | None:
    digits = field.strip(b" \0")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else None


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def _checked(header: _Header) -> str:
    """The name below the archive's folder; `InputError` for what no bundle holds."""
    name = header.name.removeprefix("./")
    shown = repr(name[:80])
    if header.kind not in "05":
        what = _ODD.get(header.kind, "of a kind that is not known")
        raise InputError(f"member {shown} is {what}: a bundle has plain files only")
    if name.startswith("/") or ".." in name.split("/"):
        raise InputError(f"member {shown} leads out of the archive")
    if not _NAME.fullmatch(name.rstrip("/")):
        raise InputError(f"member {shown} has a name that no bundle has")
    if header.size > MEMBER_MOST:
        raise InputError(
            f"member {shown} has {header.size} bytes; a bundle's have {MEMBER_MOST} at most"
        )
    return name.partition("/")[2].rstrip("/")
