"""Where what is read together lies: files at rest side by side, and those that move side by side.

Of thousands of counters a few move, as a rule the same ones. One comparison then tells that all the
others are what they were, and only what moves is looked at, file by file.
"""

from __future__ import annotations

import ctypes
import struct
from functools import lru_cache
from itertools import accumulate, compress
from operator import ne
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Slots:
    """Two places for each file: one among those at rest, and one for when it has moved once."""

    def __init__(self, limits: Sequence[int]) -> None:
        """`limits` are the bytes that each takes at most."""
        self._limits = tuple(limits)
        size = sum(limits)
        self._buffer = ctypes.create_string_buffer(2 * size)
        # A bytearray compares with what lies in memory without a copy of it.
        self._area = memoryview(self._buffer).cast("B")
        self._rest, self._moving = self._area[:size], self._area[size:size]
        self._rest_before, self._moving_before = bytearray(), bytearray()
        self._numbers: list[int] = []  # of those that move, as they lie
        self._sizes: Sequence[int] = ()
        self._rest_form = self._moving_form = struct.Struct("")
        self._latest: tuple[bytes, ...] = ()  # of those that move
        self._fresh: list[int] = []  # to be laid among them
        self._contents: list[bytes] = []
        self._before: list[bytes] = []
        self._changed: list[int] = []  # between the two

    def addresses(self) -> list[int]:
        """Where each file is to be read to at first."""
        return list(accumulate(self._limits[:-1], initial=ctypes.addressof(self._buffer)))

    def contents(self, sizes: Sequence[int] | None) -> list[bytes]:
        """What lies there, the same list as before if nothing is new; no sizes: those of before."""
        if sizes is not None or self._rest_before != self._rest:
            self._take_all(self._sizes if sizes is None else sizes)
        elif self._moving_before != self._moving:
            self._take_moving()
        return self._contents

    def changed_since(self, contents: object) -> list[int] | None:
        """What differs from what was given before the last; None if it is not that.

        As long as the same ones move it is the same list.
        """
        return self._changed if contents is self._before else None

    def _take_moving(self) -> None:
        self._moving_before[:] = self._moving
        before, self._latest = self._latest, self._moving_form.unpack(self._moving)
        found = self._contents.copy()
        for number, content in zip(self._numbers, self._latest, strict=True):
            found[number] = content
        changed = list(compress(self._numbers, map(ne, self._latest, before)))
        self._put(found, self._numbers if changed == self._numbers else changed)

    def _take_all(self, sizes: Sequence[int]) -> None:
        if sizes != self._sizes:
            self._sizes = sizes
            self._rest_form = self._form(range(len(sizes)))
            self._moving_form = self._form(self._numbers)
        self._rest_before[:], self._moving_before[:] = self._rest, self._moving
        same: dict[bytes, bytes] = {}  # most counters are 0: one object stands for all of them
        found = [same.setdefault(one, one) for one in self._rest_form.unpack(self._rest)]
        self._latest = self._moving_form.unpack(self._moving)
        for number, content in zip(self._numbers, self._latest, strict=True):
            found[number] = content
        known = self._contents or found
        self._put(found, list(compress(range(len(found)), map(ne, found, known))))
        self._fresh = list(set(self._changed).difference(self._numbers))

    def _put(self, contents: list[bytes], changed: list[int]) -> None:
        self._before, self._contents, self._changed = self._contents, contents, changed

    def moved(self) -> list[tuple[int, int]]:
        """Files that have another place now, each with the address to read it to."""
        if not self._fresh:
            return []
        self._numbers, self._fresh = sorted([*self._numbers, *self._fresh]), []
        start = end = len(self._rest)
        base, placed = ctypes.addressof(self._buffer), []
        for number in self._numbers:
            content = self._contents[number]
            self._area[end : end + len(content)] = content
            placed.append((number, base + end))
            end += self._limits[number]
        self._moving = self._area[start:end]
        self._moving_before[:] = self._moving
        self._moving_form = self._form(self._numbers)
        self._latest = self._moving_form.unpack(self._moving)
        return placed

    def _form(self, numbers: Iterable[int]) -> struct.Struct:
        sizes, limits = self._sizes, self._limits
        return _form("".join([f"{sizes[n]}s{limits[n] - sizes[n]}x" for n in numbers]))


@lru_cache(64)  # devices that are alike give as much, until their counters have grown
def _form(text: str) -> struct.Struct:
    return struct.Struct(text)
