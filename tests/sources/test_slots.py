"""Files at rest and files that move, each with its place; what changed is told."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.sources.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMITS = (8, 4, 8, 1, 16)


class Kernel:
    """Writes what files hold to where it was told to, as reads do."""

    def __init__(self, limits: Sequence[int] = LIMITS) -> None:
        self.slots = Slots(limits)
        self.limits = limits
        self.addresses = dict(enumerate(self.slots.addresses()))
        self.sizes: list[int] = []

    def read(self, files: Sequence[bytes]) -> list[bytes]:
        """What the slots then hold."""
        for number, content in enumerate(files):
            ctypes.memmove(self.addresses[number], content, len(content))
        sizes, before = list(map(len, files)), self.sizes
        self.sizes = sizes
        found = self.slots.contents(None if sizes == before else sizes)
        self.addresses.update(self.slots.moved())
        return found


contents = st.tuples(*(st.binary(max_size=limit) for limit in LIMITS))
alike = st.tuples(
    *(st.binary(min_size=size, max_size=size) for size in (3, 4, 0, 1, 16)),
)


@given(st.lists(st.one_of(contents, alike), min_size=1, max_size=12))
def test_gives_what_was_written_and_tells_what_changed(reads: list[tuple[bytes, ...]]) -> None:
    """Whatever moves, and however much each file gives."""
    kernel = Kernel()
    before: list[bytes] = []
    for files in reads:
        found = kernel.read(files)
        assert found == list(files)
        if before and found is not before:
            told = kernel.slots.changed_since(before)
            assert told == [n for n, one in enumerate(files) if one != before[n]]
        before = found


def test_no_two_files_lie_at_one_place() -> None:
    """Wherever those lie that moved, early and late."""
    kernel = Kernel()
    files = [b"a"] * 5
    kernel.read(files)
    for number in (4, 1, 3, 0):
        files[number] = b"b"
        kernel.read(files)
    spans = sorted((start, start + LIMITS[n]) for n, start in kernel.addresses.items())
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert kernel.read([b"x", b"y", b"a", b"z", b"v"]) == [b"x", b"y", b"a", b"z", b"v"]


def test_nothing_new_is_the_same_list() -> None:
    """Of files at rest, and of those that moved before."""
    kernel = Kernel()
    first = kernel.read([b"1"] * 5)
    assert kernel.read([b"1"] * 5) is first
    second = kernel.read([b"1", b"2", b"1", b"1", b"1"])
    assert kernel.read([b"1", b"2", b"1", b"1", b"1"]) is second
    assert kernel.slots.changed_since(first) == [1]


def test_equal_contents_are_one_object() -> None:
    """Thousands of counters are 0; what holds them again and again then touches one of them."""
    found = Kernel().read([b"0\n", b"0\n", b"17\n", b"0", b"0\n"])
    assert found[0] is found[1] is found[4]


def test_the_same_files_are_told_by_the_same_list() -> None:
    """Whoever remembers what it knows of them need not look again."""
    kernel = Kernel()
    told = []
    found = kernel.read([b"0"] * 5)
    for text in (b"1", b"2", b"3", b"4"):
        before, found = found, kernel.read([text, b"0", text, b"0", b"0"])
        told.append(kernel.slots.changed_since(before))
    assert told == [[0, 2]] * 4
    assert told[1] is told[2] is told[3]
    before, found = found, kernel.read([b"5", b"0", b"4", b"0", b"0"])
    assert kernel.slots.changed_since(before) == [0]


def test_what_changed_since_another_read_is_not_known() -> None:
    """Only of the one before the last."""
    kernel = Kernel()
    first = kernel.read([b"0"] * 5)
    kernel.read([b"1", b"0", b"0", b"0", b"0"])
    assert kernel.slots.changed_since(first) == [0]
    kernel.read([b"2", b"0", b"0", b"0", b"0"])
    assert kernel.slots.changed_since(first) is None
    assert kernel.slots.changed_since([b"1", b"0", b"0", b"0", b"0"]) is None  # equal is not it
