"""Where devices stand in the grid: as the torus that their links form, else by index."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from neuron_observer.model import NODE

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

SIDE = 4  # trn1.32xlarge, trn2.48xlarge and trn3.48xlarge: 16 devices, each with four links
Links = tuple[tuple[int, "tuple[int, ...] | None"], ...]


@lru_cache(maxsize=8)
def torus(links: Links) -> tuple[int, ...] | None:
    """The devices row by row so that those side by side are linked; None if that cannot be."""
    known = {index: set(near) for index, near in links if near is not None}
    if len(known) != SIDE * SIDE or any(len(near) != SIDE for near in known.values()):
        return None
    placed: list[int] = [min(known)]
    return tuple(placed) if _place(known, placed) else None


def _place(known: dict[int, set[int]], placed: list[int]) -> bool:
    """Fill the next place, and all after it; takes the lowest index that fits."""
    at = len(placed)
    if at == SIDE * SIDE:
        return True
    near = [placed[before] for before in _linked_before(at)]
    fitting = set.intersection(*(known[index] for index in near)) - set(placed)
    for index in sorted(fitting):
        placed.append(index)
        if _place(known, placed):
            return True
        placed.pop()
    return False


def _linked_before(at: int) -> list[int]:
    """The places before `at` that it is linked with; the ends of rows and columns meet."""
    row, column = divmod(at, SIDE)
    before = []
    if column:
        before.append(at - 1)
    if column == SIDE - 1:
        before.append(at - column)
    if row:
        before.append(at - SIDE)
    if row == SIDE - 1:
        before.append(column)
    return before


def not_here(view: View) -> tuple[int, ...]:
    """Indexes that this instance should have and that are not there, where that can be told.

    On inf1 later devices shift down, so that the index that is missing cannot be known.
    """
    expected = view.cells.at("node.devices_expected", NODE)
    snapshot = view.snapshot
    told = snapshot.driver.state == "live" and not (snapshot.instance_type or "").startswith("inf1")
    if not told or view.cells.at("node.devices_hidden", NODE) != 0 or not isinstance(expected, int):
        return ()
    return tuple(sorted(set(range(expected)) - {device.index for device in snapshot.devices}))


def order(view: View) -> tuple[tuple[int, ...], bool]:
    """All indexes in the order of the grid, missing ones too, and whether that is a torus."""
    devices = view.snapshot.devices
    linked = torus(tuple((device.index, device.neighbours) for device in devices))
    if linked:
        return linked, True
    return tuple(sorted({device.index for device in devices} | set(not_here(view)))), False
