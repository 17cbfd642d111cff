"""Where devices stand: by their links, and which of them are missing."""

from __future__ import annotations

from random import Random

import pytest

from neuron_observer.model import NODE, Device, Place
from neuron_observer.readings import find
from neuron_observer.tui.torus import SIDE, not_here, order, torus
from tests.tui.hosts import still, view_of


def links(names: list[int]) -> tuple[tuple[int, tuple[int, ...] | None], ...]:
    """A 4x4 torus whose places bear these names."""
    near: dict[int, tuple[int, ...]] = {}
    for place, name in enumerate(names):
        row, column = divmod(place, SIDE)
        near[name] = tuple(
            names[(row + down) % SIDE * SIDE + (column + right) % SIDE]
            for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0))
        )
    return tuple(sorted(near.items()))


@pytest.mark.parametrize("seed", range(5))
def test_neighbours_stand_side_by_side(seed: int) -> None:
    """However devices are numbered, those next to each other are linked."""
    names = list(range(16))
    Random(seed).shuffle(names)  # noqa: S311 - a test's numbering
    known = links(names)
    placed = torus(known)
    assert placed is not None
    assert sorted(placed) == list(range(16))
    near = dict(known)
    for place, name in enumerate(placed):
        row, column = divmod(place, SIDE)
        right = placed[row * SIDE + (column + 1) % SIDE]
        below = placed[(row + 1) % SIDE * SIDE + column]
        assert {right, below} <= set(near[name] or ())


def test_a_ring_is_no_torus() -> None:
    """Twelve devices of two links each stand by index."""
    assert torus(tuple((i, ((i - 1) % 12, (i + 1) % 12)) for i in range(12))) is None
    indexes, is_torus = order(view_of(still("inf2.48xlarge-2.30.2-worn")))
    assert (indexes, is_torus) == (tuple(range(12)), False)


def test_sixteen_with_four_links_that_are_no_torus() -> None:
    """Four groups of five cannot be laid out; nothing is forced."""
    groups = [(i, tuple((i + step) % 16 for step in (2, 4, 12, 14))) for i in range(16)]
    assert torus(tuple(groups)) is None


def test_unreadable_links_are_no_torus() -> None:
    """One device whose neighbours cannot be read is enough to stand by index."""
    known = links(list(range(16)))
    assert torus((*known[:15], (15, None))) is None


def test_the_reference_node_is_a_torus() -> None:
    """trn2.48xlarge stands row by row in the order of its indexes."""
    indexes, is_torus = order(view_of(still("trn2.48xlarge-2.30.2-busy")))
    assert (indexes, is_torus) == (tuple(range(16)), True)


def without(*gone: int, hidden: int = 0, instance: str = "trn2.48xlarge") -> tuple[int, ...]:
    """What is said to be missing where some devices are gone."""
    feed = still("trn2.48xlarge-2.30.2-busy")
    snapshot = feed.frame.snapshot
    left: tuple[Device, ...] = tuple(d for d in snapshot.devices if d.index not in gone)
    found = find(snapshot.batches, "node.devices_hidden", NODE)
    assert found is not None
    batch, row = found
    cells = [*batch.cells[:row], hidden, *batch.cells[row + 1 :]]
    batches = tuple(b._replace(cells=cells) if b is batch else b for b in snapshot.batches)
    changed = snapshot._replace(devices=left, batches=batches, instance_type=instance)
    feed.frame = feed.frame._replace(snapshot=changed)
    assert Place(0) is not NODE
    return not_here(view_of(feed))


def test_a_missing_device_is_told() -> None:
    """The gap in the numbers is the device that is not there."""
    assert without(3, 7) == (3, 7)


def test_hidden_devices_are_not_missing() -> None:
    """In a container that was given some devices nobody can tell which are missing."""
    assert without(3, 7, hidden=2) == ()


def test_on_inf1_later_devices_shift_down() -> None:
    """There the missing index cannot be known."""
    assert without(15, instance="inf1.24xlarge") == ()
