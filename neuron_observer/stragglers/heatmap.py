"""An SVG heat map rank x step of what every rank takes more than it should."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints

MOST_ROWS, MOST_COLUMNS = 256, 480  # cells; more are folded, the slowest of a fold shows
CELL_WIDTH, CELL_HEIGHT = (2, 16), (3, 16)  # pixels, least and most
FULL = 0.25  # log ratio of the strongest colour
SHADES = 10
LEFT, TOP, BOTTOM = 90, 46, 64


def svg(residual: Floats, steps: Ints, ranks: Ints, title: str) -> str:
    """The picture; `residual` is `(steps, ranks)` of log ratios, NaN where there is no value."""
    values, rows, columns = _folded(residual, ranks, steps)
    height, width = values.shape
    wide = min(max(960 // max(width, 1), CELL_WIDTH[0]), CELL_WIDTH[1])
    high = min(max(640 // max(height, 1), CELL_HEIGHT[0]), CELL_HEIGHT[1])
    across, down = LEFT + width * wide + 20, TOP + height * high + BOTTOM
    size = f'width="{max(across, 420)}" height="{down}"'
    note = "busy time over what it should be; grey: missing"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20" font-size="14">{escape(title)}</text>',
        f'<text x="{LEFT}" y="36" fill="#555">{note}</text>',
    ]
    lines += _cells(values, wide, high)
    lines += _axes(rows, columns, wide, high)
    lines += _legend(TOP + height * high + 34)
    return "\n".join([*lines, "</svg>", ""])


def _folded(residual: Floats, ranks: Ints, steps: Ints) -> tuple[Floats, Ints, Ints]:
    """Rows are ranks; cells beyond the bound are folded to their greatest value."""
    table = np.where(np.isfinite(residual), residual, -np.inf).T
    tall = -(-table.shape[0] // MOST_ROWS)
    wide = -(-table.shape[1] // MOST_COLUMNS)
    if tall > 1:
        table = np.maximum.reduceat(table, np.arange(0, table.shape[0], tall), axis=0)
    if wide > 1:
        table = np.maximum.reduceat(table, np.arange(0, table.shape[1], wide), axis=1)
    return np.where(np.isfinite(table), table, np.nan), ranks[::tall], steps[::wide]


def _colour(shade: int) -> str:
    """Red for slow, blue for fast, white between."""
    fade = round(255 * (1 - abs(shade) / SHADES))
    return f"#ff{fade:02x}{fade:02x}" if shade > 0 else f"#{fade:02x}{fade:02x}ff"


def _cells(values: Floats, wide: int, high: int) -> list[str]:
    """One rectangle a run of equal colour in a row; white is the ground."""
    missing = SHADES + 1
    scaled = np.clip(np.nan_to_num(values) / FULL, -1, 1) * SHADES
    shades = np.where(np.isnan(values), missing, np.rint(scaled)).astype(int)
    lines = []
    for row, line in enumerate(shades):
        ends = np.flatnonzero(np.diff(line)) + 1
        starts = np.concatenate(([0], ends))
        for start, end in zip(starts, np.concatenate((ends, [len(line)])), strict=True):
            if line[start] != 0:
                fill = "#c8c8c8" if line[start] == missing else _colour(int(line[start]))
                lines.append(
                    f'<rect x="{LEFT + start * wide}" y="{TOP + row * high}" '
                    f'width="{(end - start) * wide}" height="{high}" fill="{fill}"/>'
                )
    return lines


def _axes(rows: Ints, columns: Ints, wide: int, high: int) -> list[str]:
    below = TOP + len(rows) * high
    frame = f'x="{LEFT}" y="{TOP}" width="{len(columns) * wide}" height="{len(rows) * high}"'
    lines = [f'<rect {frame} fill="none" stroke="#888"/>']
    for row in range(0, len(rows), max(1, -(-14 // high))):
        y = TOP + row * high + high / 2 + 4
        lines.append(f'<text x="{LEFT - 6}" y="{y:g}" text-anchor="end">rank {rows[row]}</text>')
    for column in range(0, len(columns), max(1, -(-64 // wide))):
        x = LEFT + column * wide
        lines.append(f'<text x="{x}" y="{below + 14}">{columns[column]}</text>')
    lines.append(f'<text x="{LEFT - 6}" y="{below + 14}" text-anchor="end">step</text>')
    return lines


def _legend(top: int) -> list[str]:
    lines = []
    for place, shade in enumerate(range(-SHADES, SHADES + 1)):
        box = f'x="{LEFT + place * 12}" y="{top}" width="12" height="10"'
        lines.append(f'<rect {box} fill="{_colour(shade)}"/>')
    for share, place in ((-FULL, 0), (0.0, SHADES), (FULL, 2 * SHADES)):
        x = LEFT + place * 12
        lines.append(f'<text x="{x}" y="{top + 22}">{np.exp(share):.2f}x</text>')
    return lines
