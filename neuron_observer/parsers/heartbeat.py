"""The file in which the step hook tells of one rank: bytes → typed values, a reason otherwise.

Total, like all parsers here: whatever the bytes, a value or one line of text. The layout (little
endian, version 1) is that of docs/hook.md: a header of 1,024 bytes, then a ring of 256 records of
64 bytes, record k at slot k mod 256. All of it is hearsay: the program itself wrote it.
Times are seconds of the writer's CLOCK_MONOTONIC unless said; NaN is a time that is not known.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Final, NamedTuple

from neuron_observer.parsers.process import plain

if TYPE_CHECKING:
    from neuron_observer.model import RankPhase, TimeSource

MAGIC: Final = b"NOBSRANK"
VERSION: Final = 1
HEADER: Final = 1024  # bytes
RECORD: Final = 64
RECORDS: Final = 256
SIZE: Final = HEADER + RECORD * RECORDS
FRONT: Final = 128  # bytes that tell whether anything was written since, and whether it is now
GENERATION_AT: Final = 16

PHASES: Final[tuple[RankPhase, ...]] = (
    *("init", "compile", "training"),
    *("checkpoint", "evaluation", "ended"),
)
SOURCES: Final[tuple[TimeSource, ...]] = ("none", "blocking", "event")

_FRONT: Final = struct.Struct("<8sHHHHQ")
_HEAD: Final = struct.Struct("<IIQ16siiiiBBBBIQddQQdB31sQdddQ")
_RECORD: Final = struct.Struct("<QddddddIBBH")
_SOURCE_AT: Final = 61  # in a record
_BY_EVENT: Final = bytes([SOURCES.index("event")])
_AT: Final = 24  # where _HEAD stands
_COUNTS: Final = struct.Struct("<QQ")  # collectives entered, completed: beside the generation
_COUNTS_AT: Final = 104
_PROGRESS: Final = struct.Struct("<B6xQ")  # how times were taken, steps
_PROGRESS_AT: Final = 73
_LABELS: Final = struct.Struct("64s64s128s")  # role, replica, run
_LABELS_AT: Final = 256
_LONGEST: Final = 7 * 86_400.0  # seconds that a step is believed to take


class Head(NamedTuple):
    """The header. None is unknown, never zero."""

    written: tuple[int, int, int]  # as `written()` tells; the first is the generation, even
    pid: int  # as the process itself sees it
    uid: int
    ticks: int  # its start, clock ticks since boot
    boot: str  # boot id, 32 hex digits
    rank: int | None
    world_size: int | None
    local_rank: int | None
    restarts: int | None
    phase: RankPhase
    source: TimeSource  # how times in collectives were taken
    loader: bool  # the data loader is wrapped: waiting for input is known
    collectives: bool  # collectives are wrapped
    tokens: bool
    async_handles: bool  # seen: time in collectives is not known
    compiled: bool  # the step is a compiled one
    steps: int  # finished
    at: float  # of the last write
    wall: float  # wall clock of the same instant
    entered: int  # collectives
    completed: int
    inside_since: float | None  # of the collective that it is in
    operation: str  # its name, or that of the last one
    operation_code: int | None  # hash of operation, shape, type and group
    step_began: float | None
    input_since: float | None  # the data loader was asked and has not answered
    phase_since: float
    pauses: int
    role: str | None
    replica: str | None
    run: str | None  # what its launcher calls the run


class Step(NamedTuple):
    """One finished step. NaN is not known."""

    number: int
    begin: float
    end: float
    collectives: float  # seconds in all of them
    shortest: float  # of them
    input: float  # seconds of waiting for data
    tokens: float
    calls: int  # collectives
    compiled: bool
    pause: bool  # a checkpoint or an evaluation lies in it
    async_handles: bool
    source: TimeSource


def generation(raw: bytes) -> int | str:
    """The generation by the first `FRONT` bytes, odd while it is written; else what is wrong."""
    if len(raw) < FRONT:
        return f"cut off: {len(raw)} bytes"
    magic, version, header, record, records, count = _FRONT.unpack_from(raw)
    if magic != MAGIC:
        return "no heartbeat file"
    if version != VERSION:
        return f"heartbeat of version {version}, this reads {VERSION}"
    if (header, record, records) != (HEADER, RECORD, RECORDS):
        return f"a header of {header} and {records} records of {record} bytes are not version 1"
    return int(count)


def written(raw: bytes) -> tuple[int, int, int] | str:
    """By the first `FRONT` bytes what differs once anything was written; else what is wrong."""
    count = generation(raw)
    return count if isinstance(count, str) else (count, *_COUNTS.unpack_from(raw, _COUNTS_AT))


def progress(raw: bytes) -> tuple[int, bool]:
    """By the header how many steps are finished, and whether the device tells their times."""
    source, steps = _PROGRESS.unpack_from(raw, _PROGRESS_AT)
    return steps, source == _BY_EVENT[0]


def place(number: int) -> int:
    """Where the record of a step stands."""
    return HEADER + number % RECORDS * RECORD


def head(raw: bytes, size: int | None = None) -> Head | str:
    """The header of a file that was read, at least so far; else what is wrong with it.

    `size`: bytes of the file, where not all of them were read.
    """
    count = generation(raw)
    if isinstance(count, str):
        return count
    size = len(raw) if size is None else size
    if len(raw) < HEADER or size < SIZE:
        return f"cut off: {size} of {SIZE} bytes"
    if count % 2:
        return "torn: it was being written"
    # fmt: off
    (pid, uid, ticks, boot, rank, world, local, restarts, phase, source, flags, _role, _reserved,
     steps, at, wall, entered, completed, inside, length, name, code, began, asked, moved,
     pauses) = _HEAD.unpack_from(raw, _AT)
    # fmt: on
    if not pid or phase >= len(PHASES) or source >= len(SOURCES):
        return f"pid {pid}, phase {phase}, source {source}: not what version 1 has"
    if not (isfinite(at) and isfinite(wall)):
        return "the time of its last write is no number"
    role, replica, run = _labels(raw[_LABELS_AT : _LABELS_AT + _LABELS.size])
    return Head(
        written=(count, entered, completed),
        pid=pid,
        uid=uid,
        ticks=ticks,
        boot=boot.hex(),
        rank=rank if rank >= 0 else None,
        world_size=world if world > 0 else None,
        local_rank=local if local >= 0 else None,
        restarts=restarts if restarts >= 0 else None,
        phase=PHASES[phase],
        source=SOURCES[source],
        loader=bool(flags & 1),
        collectives=bool(flags & 2),
        tokens=bool(flags & 4),
        async_handles=bool(flags & 8),
        compiled=bool(flags & 16),
        steps=steps,
        at=at,
        wall=wall,
        entered=entered,
        completed=min(completed, entered),
        inside_since=_instant(inside) if entered > completed else None,
        operation=_text(name[: min(length, len(name))]) or "",
        operation_code=code or None,
        step_began=_instant(began),
        input_since=_instant(asked),
        phase_since=moved if isfinite(moved) else at,
        pauses=pauses,
        role=role,
        replica=replica,
        run=run,
    )


def steps(raw: bytes, of: Head, since: int = 0, *, begin: int = 0) -> list[Step]:
    """The finished steps from number `since` on that the ring still holds, in order.

    A record that is not of its step, or whose times cannot be, is left out. `begin`: where the
    bytes begin in the file.
    """
    found = []
    for number in range(max(since, of.steps - RECORDS), of.steps):
        step = _step(raw, place(number) - begin, number, of)
        if step is not None:
            found.append(step)
    return found


def told(raw: bytes, of: Head, since: int, before: int, *, begin: int = 0) -> list[Step]:
    """Of the steps from `since` to before `before`, those whose times are the device's."""
    found = []
    for number in range(max(since, of.steps - RECORDS), min(before, of.steps)):
        at = place(number) - begin
        if raw[at + _SOURCE_AT : at + _SOURCE_AT + 1] == _BY_EVENT:
            step = _step(raw, at, number, of)
            found += [step] if step is not None else []
    return found


def _step(raw: bytes, at: int, number: int, of: Head) -> Step | None:
    if not 0 <= at <= len(raw) - RECORD:
        return None
    # fmt: off
    (said, begin, end, inside, shortest, data, tokens, calls, flags, source,
     _reserved) = _RECORD.unpack_from(raw, at)
    # fmt: on
    length = end - begin
    if said != number or not 0 <= length <= _LONGEST or source >= len(SOURCES):
        return None
    return Step(
        number=number,
        begin=begin,
        end=end,
        collectives=_share(inside, length),
        shortest=_share(shortest, length),
        input=_share(data, inf),
        tokens=_share(tokens, inf),
        calls=calls,
        compiled=bool(flags & 1),
        pause=bool(flags & 2),
        async_handles=bool(flags & 4) or of.async_handles,
        source=SOURCES[source],
    )


def _share(value: float, most: float) -> float:
    """A time within a step; NaN for one that cannot be."""
    return value if 0 <= value < inf and value <= most * 1.001 + 1e-6 else nan


def _instant(value: float) -> float | None:
    return value if isfinite(value) and value > 0 else None


@lru_cache(maxsize=512)  # those of a rank do not change
def _labels(raw: bytes) -> tuple[str | None, str | None, str | None]:
    role, replica, run = _LABELS.unpack(raw)
    return _text(role), _text(replica), _text(run)


@lru_cache(maxsize=512)  # few operations have many names
def _text(raw: bytes) -> str | None:
    """Zero-padded text without control characters."""
    return plain(raw.partition(b"\0")[0], 128).strip() or None
