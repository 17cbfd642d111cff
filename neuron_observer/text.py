"""Values as people read them: units, the dash for what is missing, plain tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.model import Action, Missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.model import Cell

DASH = "—"
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def printable(line: str) -> str:
    """A line from somewhere else without anything that could move a terminal's cursor."""
    return "".join(c if c.isprintable() else "·" for c in line.replace("\t", " "))


def count_text(number: int, one: str, several: str) -> str:
    """1 device, 2 devices."""
    return f"{number} {one if number == 1 else several}"


def action_text(action: Action) -> str:
    """An action as people say it."""
    return "nothing" if action is Action.NONE else action.value.replace("_", " ")


def bytes_text(number: float) -> str:
    """1536 → 1.5 KiB; whole numbers stay whole."""
    value, unit = float(number), _BYTES[0]
    for step in _BYTES:
        unit = step
        if abs(round(value, 1)) < 1024 or step == _BYTES[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if value == int(value) else f"{value:.1f} {unit}"


def ratio_text(number: float) -> str:
    """0.834 → 83 %."""
    return f"{number * 100:.0f} %" if number >= 0.1 or number == 0 else f"{number * 100:.1f} %"


def seconds_text(number: float) -> str:
    """0.0001 → 0.1 ms; 90 → 1 min 30 s; 7200 → 2 h."""
    if number < 0.9995:  # from here on three digits round to the next unit
        return f"{number * 1000:.3g} ms"
    if number < 59.95:
        return f"{number:.3g} s"
    minutes, seconds = divmod(round(number), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


_UNITS: dict[str, Callable[[float], str]] = {
    "bytes": bytes_text,
    "ratio": ratio_text,
    "percent": lambda number: f"{number:.2f} %",
    "seconds": seconds_text,
}


def cell_text(cell: Cell, unit: str = "") -> str:
    """A cell in its unit; the dash where it is missing."""
    if isinstance(cell, Missing):
        return DASH
    if isinstance(cell, str):
        return cell or "none"
    if unit in _UNITS:
        return _UNITS[unit](cell)
    number = f"{cell:,}" if isinstance(cell, int) else f"{cell:,.4g}"
    return f"{number} {unit}".rstrip()


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> str:
    """Columns padded to their widest cell, two blanks apart; `right` tells which align right."""
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    aligned = list(right) + [False] * (len(heads) - len(right))
    lines = []
    for row in (heads, *rows):
        cells = [
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, aligned, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


class Footnotes:
    """Reasons of missing values, each with a letter: `—a`, and what `a` means below the table."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def mark(self, cell: Missing) -> str:
        """The dash with the letter of its reason."""
        reason = f"{cell.why.value}: {cell.detail}" if cell.detail else cell.why.value
        letter = self._reasons.setdefault(reason, _letter(len(self._reasons)))
        return f"{DASH}{letter}"

    def lines(self) -> list[str]:
        """One line a reason."""
        return [f"{DASH}{letter}  {reason}" for reason, letter in self._reasons.items()]


def _letter(number: int) -> str:
    first, second = divmod(number, 26)
    return (_letter(first - 1) if first else "") + chr(ord("a") + second)
