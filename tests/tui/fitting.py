"""What holds of every screen, whatever it shows and however large it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.tui.layout import arrange, screen

if TYPE_CHECKING:
    from neuron_observer.tui.view import View


def assert_fits(view: View, width: int, height: int) -> None:
    """It has its size; no panel leaves it, none covers another."""
    lines = screen(view, width, height)
    assert len(lines) == height
    assert all(len(text) <= width for text in lines)
    taken: set[tuple[int, int]] = set()
    for region in arrange(view, width, height):
        cells = {
            (x, y)
            for x in range(region.x, region.x + region.width)
            for y in range(region.y, region.y + region.height)
        }
        assert not cells & taken, region
        assert all(0 <= x < width and 0 <= y < height for x, y in cells)
        taken |= cells
