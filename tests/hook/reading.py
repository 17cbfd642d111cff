"""A reader of heartbeat files, written from the table in docs/hook.md and from nothing else."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 1024 + 256 * 64


class Step(NamedTuple):
    """One record."""

    number: int
    begin: float
    end: float
    collectives: float
    shortest: float
    input: float
    tokens: float
    calls: int
    flags: int
    source: int
    reserved: int


class Heartbeat(NamedTuple):
    """The header's fields, by their offsets, and the steps that the ring holds."""

    generation: int
    pid: int
    uid: int
    ticks: int
    boot: str
    identity: tuple[int, int, int, int]
    phase: int
    source: int
    flags: int
    steps: int
    at: float
    wall: float
    entered: int
    completed: int
    since: float
    name: str
    signature: int
    begin: float
    asked: float
    phase_at: float
    pauses: int
    role: str
    replica: str
    hint: str
    records: tuple[Step, ...]


def heartbeat(raw: bytes) -> Heartbeat:
    """The bytes of a whole file, at rest."""
    assert len(raw) == SIZE
    assert raw[:8] == b"NOBSRANK"
    assert struct.unpack_from("<HHHH", raw, 8) == (1, 1024, 64, 256)
    assert raw[512:1024] == bytes(512)
    (generation,) = struct.unpack_from("<Q", raw, 16)
    steps = int(struct.unpack_from("<Q", raw, 80)[0])
    length = raw[128]
    first = max(steps - 256, 0)
    slots = (1024 + 64 * (number % 256) for number in range(first, steps))
    parts: list[Any] = [
        *(generation, *struct.unpack_from("<IIQ", raw, 24), raw[40:56].hex()),
        *(struct.unpack_from("<iiii", raw, 56), *struct.unpack_from("<BBB", raw, 72)),
        *struct.unpack_from("<Qdd", raw, 80),
        *(*struct.unpack_from("<QQd", raw, 104), raw[129 : 129 + length].decode()),
        *(*struct.unpack_from("<Qddd", raw, 160), *struct.unpack_from("<Q", raw, 192)),
        *(raw[a:b].rstrip(b"\0").decode() for a, b in ((256, 320), (320, 384), (384, 512))),
        tuple(Step(*struct.unpack_from("<QddddddIBBH", raw, slot)) for slot in slots),
    ]
    return Heartbeat(*parts)


def only(folder: Path) -> Heartbeat:
    """The only heartbeat file of a folder."""
    (path,) = folder.glob("rank-*.hb")
    return heartbeat(path.read_bytes())
