"""A screen as a picture: SVG that needs no font but the reader's own and asks no other host."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

from neuron_observer.tui.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.tui.lines import Line, Span
    from neuron_observer.tui.themes import Ink

WIDTH, HEIGHT = 8.4, 18.0  # of a cell, in pixels
_MARGIN = 14.0
_BASELINE = 13.5  # below the top of a line
_THEME = THEMES["dark"]
_FONT = "14px 'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace"


_escaped = partial(escape, quote=False)


def svg(lines: Sequence[Line], columns: int, title: str) -> str:
    """The picture of some lines; each piece keeps its place whatever the font's width is."""
    width = columns * WIDTH + 2 * _MARGIN
    height = len(lines) * HEIGHT + 2 * _MARGIN
    styles = "".join(f".{tone}{{{_style(ink)}}}" for tone, ink in _THEME.inks.items())
    body = "\n".join(part for row, line in enumerate(lines) if (part := _row(row, line)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" role="img">\n'
        f"<title>{_escaped(title)}</title>\n"
        f"<style>text{{font:{_FONT};white-space:pre}}{styles}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="{_THEME.ground}"/>\n{body}\n</svg>\n'
    )


def _style(ink: Ink) -> str:
    fill = _THEME.ground if ink.reverse else ink.color or _THEME.text
    return f"fill:{fill}" + (";font-weight:bold" if ink.bold else "")


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
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{length:.1f}" height="{HEIGHT}"'
            f' fill="{_THEME.text}"/>'
        )
    return (
        f'{back}<text class="{span.tone}" x="{x:.1f}" y="{y + _BASELINE:.1f}"'
        f' textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs">{_escaped(text)}</text>'
    )
