"""A rectangle of the screen and what stands in it."""

from __future__ import annotations

from typing import NamedTuple


class Region(NamedTuple):
    """Where a panel stands, in cells."""

    panel: str
    x: int
    y: int
    width: int
    height: int

    def has(self, x: int, y: int) -> bool:
        """Whether a cell of the screen lies in it."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height
