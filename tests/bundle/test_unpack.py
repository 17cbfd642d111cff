"""Archives from anybody: what is no bundle is refused by name, in bounded memory."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import tracemalloc
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.bundle.archive import Member, pack
from neuron_observer.bundle.unpack import MEMBER_MOST, TOTAL_MOST, is_bundle, members
from neuron_observer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "neuron-bundle-20261130T210000Z-00000000"
GOOD = gzip.decompress(
    pack(FOLDER, [Member("manifest.json", b"{}" * 400), Member("kernel.log", b"line\n")], 0.0)
)


def chunks(data: bytes, size: int = 1000) -> Iterator[bytes]:
    """Pieces of some length."""
    return (data[at : at + size] for at in range(0, len(data), size))


def tar_of(*infos: tuple[tarfile.TarInfo, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    """An archive as another program may make it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, data in infos:
            info.size = len(data) or info.size
            tar.addfile(info, io.BytesIO(data) if data else None)
    return out.getvalue()


def info(name: str, kind: bytes = tarfile.REGTYPE, **more: Any) -> tarfile.TarInfo:
    """A header."""
    one = tarfile.TarInfo(name)
    one.type = kind
    for field, value in more.items():
        setattr(one, field, value)
    return one


@pytest.mark.parametrize("size", [1, 511, 1000, 100_000])
def test_members_come_as_they_were(size: int) -> None:
    """Whatever the pieces; bytes only of what is wanted, a digest of all."""
    found = list(members(chunks(GOOD, size), {"kernel.log"}.__contains__))
    assert [(one.name, one.size, one.data) for one in found] == [
        ("manifest.json", 800, None),
        ("kernel.log", 5, b"line\n"),
    ]
    assert found[0].sha256 == hashlib.sha256(b"{}" * 400).hexdigest()
    assert is_bundle(GOOD)


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_packed_anew_by_another_program(form: int) -> None:
    """With folders and with headers of its own in front."""
    pax = form == tarfile.PAX_FORMAT
    headers: dict[str, Any] = {"pax_headers": {"comment": "é"}} if pax else {}
    data = tar_of(
        (info(f"./{FOLDER}", tarfile.DIRTYPE), b""),
        (info(f"./{FOLDER}/manifest.json", **headers), b"{}"),
        form=form,
    )
    (one,) = members(chunks(data), lambda _: True)
    assert (one.name, one.data) == ("manifest.json", b"{}")


def put(kind: bytes, **more: Any) -> bytes:
    """A bundle with a member of another kind."""
    return tar_of((info(f"{FOLDER}/x", kind, **more), b""))


HOSTILE = {
    "is a symbolic link": put(tarfile.SYMTYPE, linkname="/etc/shadow"),
    "is a hard link": put(tarfile.LNKTYPE, linkname="/etc/shadow"),
    "is a device": put(tarfile.CHRTYPE),
    "is a pipe": put(tarfile.FIFOTYPE),
    "of a kind that is not known": put(b"7"),
    "leads out of the archive": tar_of((info(f"{FOLDER}/../../etc/cron.d/x"), b"x")),
    "'/etc/passwd' leads out": tar_of((info("/etc/passwd"), b"x")),
    "a name that no bundle has": tar_of((info(f"{FOLDER}/a\x1b[2Jb"), b"x")),
    "stands twice": tar_of((info(f"{FOLDER}/x"), b"1"), (info(f"{FOLDER}/x"), b"2")),
    "1073741824 bytes": put(tarfile.REGTYPE, size=1 << 30),
    "its headers are longer": tar_of(
        (info(f"{FOLDER}/x", pax_headers={"comment": "x" * 100_000}), b"x"), form=tarfile.PAX_FORMAT
    ),
    "ends early, in member manifest.json": GOOD[:700],
    "ends early, in a header": GOOD[:2000],
    "is no header": GOOD[:1536] + b"x" * 512,
    "more than 500 members": tar_of(*((info(f"{FOLDER}/x{n}"), b"") for n in range(501))),
}


@pytest.mark.parametrize("why", HOSTILE)
def test_what_is_no_bundle_is_refused_by_name(why: str) -> None:
    """Links, devices, ways out, doubles, giants, cut ones."""
    with pytest.raises(InputError, match=why):
        list(members(chunks(HOSTILE[why]), lambda _: True))


def test_sizes_that_no_header_can_have() -> None:
    """Base-256 and negative ones are none of ours."""
    header = bytearray(GOOD[:512])
    header[124:136] = b"\x80" + bytes(10) + b"\x01"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    with pytest.raises(InputError, match="its size is none"):
        list(members(iter([bytes(header)]), lambda _: True))


def test_a_bomb_costs_no_memory() -> None:
    """A gigabyte of zeros in a few megabytes: refused once it is too much, and never held."""

    def bomb() -> Iterator[bytes]:
        zeros = bytes(1 << 20)
        for number in range(32):
            yield tar_of((info(f"{FOLDER}/x{number}", size=MEMBER_MOST), b""))[:512]
            yield from (zeros for _ in range(MEMBER_MOST >> 20))

    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=f"more than {TOTAL_MOST >> 20} MiB"):
            list(members(bomb(), lambda _: False))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 << 20


@settings(max_examples=80)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255), st.integers(0, len(GOOD)))
def test_damaged_anywhere_it_is_told_or_read(at: int, byte: int, end: int) -> None:
    """Never anything else than members or a clear error."""
    data = bytearray(GOOD)
    data[at] = byte
    try:
        found = list(members(chunks(bytes(data[:end])), lambda _: True))
    except InputError:
        return
    assert all(one.data is not None and len(one.data) == one.size for one in found)


@given(st.binary(max_size=2000))
@settings(max_examples=60)
def test_bytes_of_anything(data: bytes) -> None:
    """Noise is told to be noise."""
    try:
        found = list(members(iter([data]), lambda _: True))
    except InputError:
        return
    assert not found
    assert not zlib.crc32(data[:512].strip(b"\0"))
