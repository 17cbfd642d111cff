"""Lines of a screen: pieces of text, each with a tone; what a tone looks like is decided later.

Every character is one cell wide: what comes from the host goes through `text.printable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Tone: TypeAlias = Literal[
    "plain",
    "dim",
    "heading",
    "figure",
    "chosen",
    "good",
    "warn",
    "bad",
    "cool",  # cores of the heat map
    "warm",
    "hot",
    "load",  # bars, by what they measure
    "memory",
    "power",
]


class Span(NamedTuple):
    """A piece of a line."""

    text: str
    tone: Tone = "plain"


Line: TypeAlias = "tuple[Span, ...]"
BLANK: Line = ()


def line(*pieces: Span | str) -> Line:
    """A line from pieces; bare text is plain."""
    return tuple(Span(piece) if isinstance(piece, str) else piece for piece in pieces)


def plain(of: Line) -> str:
    """The text alone."""
    return "".join(span.text for span in of)


def length(of: Line) -> int:
    """Cells that a line takes."""
    return sum(len(span.text) for span in of)


def fit(of: Line, width: int) -> Line:
    """Exactly `width` cells: cut or filled up with blanks."""
    kept: list[Span] = []
    left = width
    for text, tone in of:
        if left <= 0:
            break
        kept.append(Span(text[:left], tone))
        left -= len(text)
    if left > 0:
        kept.append(Span(" " * left))
    return tuple(kept)


def apart(left: Line, right: Line, width: int) -> Line:
    """One piece at each end; where both do not fit, the left one is cut."""
    room = width - length(right)
    if room <= 0:
        return fit(left, width)
    return (*fit(left, room), *right)


def beside(columns: Sequence[tuple[Sequence[Line], int]], height: int) -> list[Line]:
    """Blocks of lines next to each other, each as wide as it says, `height` lines in all."""
    return [
        tuple(
            span
            for block, width in columns
            for span in fit(block[row] if row < len(block) else BLANK, width)
        )
        for row in range(height)
    ]


def joined(pieces: Iterable[Line], between: Span) -> Line:
    """Pieces with something between them; empty ones are left out."""
    spans: list[Span] = []
    for piece in pieces:
        if piece:
            spans += [between, *piece] if spans else piece
    return tuple(spans)
