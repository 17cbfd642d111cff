"""A screen as a picture: SVG that needs no font but the reader's own and asks no other host."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.tui.lines import Line, Span, Tone

WIDTH, HEIGHT = 8.4, 18.0  # of a cell, in pixels
_MARGIN = 14.0
_BASELINE = 13.5  # below the top of a line
_STYLES: Mapping[Tone, str] = {
    "plain": "fill:#d8dee9",
    "dim": "fill:#7b8494",
    "heading": "fill:#eceff4;font-weight:bold",
    "figure": "fill:#eceff4",
    "good": "fill:#8fbf6a",
    "load": "fill:#8fbf6a",
    "memory": "fill:#5fb3c8",
    "power": "fill:#b48ead",
    "warn": "fill:#ebcb8b;font-weight:bold",
    "bad": "fill:#e06c75;font-weight:bold",
    "chosen": "fill:#1d2129;font-weight:bold",
}
_FONT = "14px 'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace"


def svg(lines: Sequence[Line], columns: int, title: str) -> str:
    """The picture of some lines; each piece keeps its place whatever the font's width is."""
    width = columns * WIDTH + 2 * _MARGIN
    height = len(lines) * HEIGHT + 2 * _MARGIN
    styles = "".join(f".{tone}{{{style}}}" for tone, style in _STYLES.items())
    body = "\n".join(part for row, line in enumerate(lines) if (part := _row(row, line)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>text{{font:{_FONT};white-space:pre}}{styles}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#1d2129"/>\n{body}\n</svg>\n'
    )


def _row(row: int, line: Line) -> str:
    parts, column = [], 0
    for span in line:
        parts.append(_piece(row, column, span))
        column += len(span.text)
    return "".join(parts)


def _piece(row: int, column: int, span: Span) -> str:
    """One piece from its first sign that is no blank to its last."""
    text = span.text.rstrip()
    lead = len(text) - len(text.lstrip())
    text = text[lead:]
    if not text:
        return ""
    x, y = _MARGIN + (column + lead) * WIDTH, _MARGIN + row * HEIGHT
    length = len(text) * WIDTH
    back = ""
    if span.tone == "chosen":
        back = (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{length:.1f}" height="{HEIGHT}" fill="#eceff4"/>'
        )
    return (
        f'{back}<text class="{span.tone}" x="{x:.1f}" y="{y + _BASELINE:.1f}"'
        f' textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
    )
