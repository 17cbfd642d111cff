"""The signs of bars and charts, and which of them a terminal can show."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.locales import ascii_was_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Signs(NamedTuple):
    """One set of signs; every sign is one cell."""

    eighths: str  # a cell filled from the left by 1/n … n/n
    levels: str  # a cell filled from below by 1/n … n/n
    empty: str  # the rest of a bar
    dash: str  # a missing value
    dot: str  # between two pieces
    chosen: str  # before the selected device
    falling: str  # behind the heading by which a table is sorted, the largest first
    rising: str
    mark: str  # of something that is wrong with a row


UNICODE = Signs("▏▎▍▌▋▊▉█", "▁▂▃▄▅▆▇█", "·", "—", "·", "▸", "▾", "▴", "▲")
ASCII = Signs("#", ".:|#", ".", "-", "|", ">", "v", "^", "!")


def signs_for(environment: Mapping[str, str], encoding: str | None) -> Signs:
    """The signs for a locale and the encoding of the stream that is written to.

    A locale that was *said* to be C gets ASCII. Where nothing is said the encoding decides.
    """
    try:
        "".join(UNICODE).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return ASCII if ascii_was_said(environment) else UNICODE


def bar(share: float, width: int, signs: Signs) -> tuple[str, str]:
    """The filled and the empty part of a bar; a share above nothing shows at least a sliver."""
    steps = len(signs.eighths)
    filled = round(min(max(share, 0.0), 1.0) * width * steps)
    if share > 0 and width > 0:
        filled = max(filled, 1)
    whole, part = divmod(filled, steps)
    text = signs.eighths[-1] * whole + (signs.eighths[part - 1] if part else "")
    return text, signs.empty * (width - len(text))


def chart(shares: Sequence[float | None], rows: int, signs: Signs) -> list[str]:
    """Columns of up to `rows` cells, top row first; a gap is blank and 0 is the lowest level."""
    steps = len(signs.levels)
    lines = [""] * rows
    for share in shares:
        filled = 0 if share is None else max(1, round(min(max(share, 0.0), 1.0) * rows * steps))
        for row in range(rows):
            part = min(max(filled - (rows - 1 - row) * steps, 0), steps)
            lines[row] += signs.levels[part - 1] if part else " "
    return lines
