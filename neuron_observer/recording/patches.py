"""What changed in a large file, as a tape holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCK = 64
SIZES = (64 * BLOCK, 8 * BLOCK, BLOCK)  # of stretches that are compared
Patches: TypeAlias = tuple[tuple[int, bytes], ...]  # offsets, and the bytes that stand there now


def patches(before: bytes | bytearray, now: bytes) -> Patches:
    """Blocks of equally long contents that differ, by ever smaller stretches: most do not.

    Those side by side are one patch.
    """
    found = [0]
    for whole, size in zip((len(now), *SIZES), SIZES, strict=False):
        found = [
            at
            for start in found
            for at in range(start, min(start + whole, len(now)), size)
            if before[at : at + size] != now[at : at + size]
        ]
    runs: list[tuple[int, int]] = []
    for at in found:
        begin = runs.pop()[0] if runs and runs[-1][1] == at else at
        runs.append((begin, at + BLOCK))
    return tuple([(begin, now[begin:end]) for begin, end in runs])


def narrowed(before: bytearray, offset: int, now: bytes) -> list[tuple[int, bytes]]:
    """A piece without the blocks at both ends that stand there already; none if all do."""
    begin, end = 0, len(now)
    there = before[offset : offset + end]
    for size in SIZES:
        while end - begin >= size and there[end - size : end] == now[end - size : end]:
            end -= size
        while end - begin >= size and there[begin : begin + size] == now[begin : begin + size]:
            begin += size
    return [(offset + begin, now[begin:end])] if end > begin else []


def weight(told: Sequence[tuple[int, bytes]]) -> int:
    """What they take, in changed files."""
    return sum([1 + len(content) // BLOCK for _, content in told])
