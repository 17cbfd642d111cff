"""The widget of every panel: paints lines, and only those that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region as Area
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from neuron_observer.tui.lines import BLANK, Line, fit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.events import Click

    from neuron_observer.tui.lines import Tone

# The terminal's own colours, so that dark and light ones are both right.
STYLES: Mapping[Tone, Style] = {
    "plain": Style(),
    "dim": Style(dim=True),
    "heading": Style(bold=True),
    "figure": Style(),
    "good": Style(color="green"),
    "load": Style(color="green"),
    "memory": Style(color="cyan"),
    "power": Style(color="magenta"),
    "warn": Style(color="yellow", bold=True),
    "bad": Style(color="red", bold=True),
    "chosen": Style(reverse=True, bold=True),
}


class Panel(Widget):
    """A rectangle of lines."""

    class Clicked(Message):
        """Somebody clicked at a cell of a panel."""

        def __init__(self, name: str, x: int, y: int) -> None:
            super().__init__()
            self.panel = name
            self.x = x
            self.y = y

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._lines: list[Line] = []

    def show(self, lines: list[Line]) -> None:
        """Take new lines; those that are as before are not painted again."""
        before, self._lines = self._lines, lines
        changed = [
            Area(0, y, self.size.width, 1)
            for y in range(max(len(lines), len(before)))
            if _at(before, y) != _at(lines, y)
        ]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        """One line as Textual wants it."""
        spans = fit(_at(self._lines, y), self.size.width)
        return Strip([Segment(text, STYLES[tone]) for text, tone in spans], self.size.width)

    def on_click(self, event: Click) -> None:
        """Pass it on with its cell."""
        self.post_message(self.Clicked(self.id or "", event.x, event.y))


def _at(lines: list[Line], y: int) -> Line:
    return lines[y] if y < len(lines) else BLANK
