"""What those who write rows of recordings share with those who read them (`sources.rows`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

SEPARATOR = "\f"  # between contents of files of a set


class Patch(NamedTuple):
    """Bytes that took the place of others in a file of the same length."""

    offset: int
    content: bytes


def patched(content: bytes, patches: Iterable[Patch]) -> bytes:
    """The content with its patches."""
    made = bytearray(content)
    for offset, patch in patches:
        made[offset : offset + len(patch)] = patch
    return bytes(made)
