"""Heartbeat files that a test makes up: the bytes of version 1, packed by docs/hook.md.

Written apart from the hook and from what reads it, so that neither can be wrong alone.
"""

from __future__ import annotations

import struct
from math import nan
from typing import NamedTuple

BOOT = bytes(range(16))
PHASES = {"init": 0, "compile": 1, "training": 2, "checkpoint": 3, "evaluation": 4, "ended": 5}


class Record(NamedTuple):
    """One step as the ring holds it."""

    number: int
    begin: float
    end: float
    collectives: float = nan
    shortest: float = nan
    input: float = nan
    tokens: float = nan
    calls: int = 0
    flags: int = 0
    source: int = 1

    def packed(self) -> bytes:
        """Its 64 bytes."""
        times = (self.begin, self.end, self.collectives, self.shortest, self.input, self.tokens)
        return struct.pack("<Q6dIBBH", self.number, *times, self.calls, self.flags, self.source, 0)


def header(**of: float | str | bytes) -> bytes:
    """1,024 bytes; what is not said is as of a rank that has just begun."""

    def field(name: str, default: float = 0) -> object:
        return of.get(name, default)

    def put(at: int, form: str, *values: object) -> None:
        struct.pack_into("<" + form, raw, at, *values)

    raw = bytearray(1024)
    put(0, "8sHHHH", b"NOBSRANK", of.get("version", 1), 1024, 64, 256)
    put(16, "Q", of.get("generation", 2))
    put(24, "IIQ", field("pid", 4242), field("uid", 1000), field("ticks", 5000))
    put(40, "16s", of.get("boot", BOOT))
    put(56, "iiii", field("rank"), field("world", 8), field("local"), field("restarts"))
    phase = PHASES[str(of.get("phase", "training"))]
    put(72, "BBBB", phase, field("source", 1), field("flags", 7), 0)
    put(80, "Qdd", field("steps"), field("at", 100.0), field("wall", 1.79e9))
    put(104, "QQd", field("entered"), field("completed"), field("inside_since"))
    name = str(of.get("operation", "all_reduce")).encode()[:31]
    put(128, "B31s", len(name), name)
    put(160, "Qdd", field("code"), field("step_began"), field("input_since"))
    put(184, "dQ", field("phase_since", 1.0), field("pauses"))
    for at, size, label in ((256, 64, "role"), (320, 64, "replica"), (384, 128, "run")):
        put(at, f"{size}s", str(of.get(label, "")).encode())
    return bytes(raw)


def file_of(records: list[Record] | None = None, **of: float | str | bytes) -> bytes:
    """A whole file: the header and a ring that holds the last 256 of these records."""
    ring = bytearray(256 * 64)
    held = (records or [])[-256:]
    for one in held:
        at = one.number % 256 * 64
        ring[at : at + 64] = one.packed()
    steps = of.pop("steps", held[-1].number + 1 if held else 0)
    return header(steps=steps, **of) + bytes(ring)
