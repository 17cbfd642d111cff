"""What changed in a large file: no more of it than need be."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.recording.heard import LARGE
from neuron_observer.recording.patches import BLOCK, narrowed, patches
from neuron_observer.sources.form import Patch, patched


@settings(max_examples=60)
@given(st.binary(max_size=4 * LARGE), st.integers(0, 4 * LARGE), st.binary(max_size=100))
def test_patches_are_the_blocks_that_differ(before: bytes, at: int, new: bytes) -> None:
    """No more of them than need be."""
    now = (before[:at] + new + before[at + len(new) :])[: len(before)].ljust(len(before), b"x")
    found = patches(before, now)
    assert patched(before, map(Patch._make, found)) == now
    assert len(found) <= len(new) // BLOCK + 2
    assert patches(now, now) == ()


def test_of_pieces_the_blocks_at_both_ends_that_stand_there_are_left_out() -> None:
    """A header mostly stays; a piece that says nothing new is none."""
    before = bytearray(range(256)) * 8
    now = bytearray(before[512:1536])
    now[70], now[200] = 1, 1
    assert narrowed(before, 512, bytes(now)) == [(576, bytes(now[64:256]))]
    assert narrowed(before, 512, bytes(before[512:1536])) == []
    assert narrowed(before, 64, b"") == []
