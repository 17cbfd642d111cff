"""The widget that all panels stand on: paints lines, and only those that changed."""

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

    from textual.events import Click, MouseScrollDown, MouseScrollUp

    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.themes import Ink, Theme


def styles_of(theme: Theme) -> Mapping[Tone, Style]:
    """Tone → style of Rich."""
    return {tone: _style(ink, theme) for tone, ink in theme.inks.items()}


def _style(ink: Ink, theme: Theme) -> Style:
    return Style(
        color=ink.color or theme.text,
        bgcolor=theme.ground,
        bold=ink.bold or None,
        dim=ink.dim or None,
        reverse=ink.reverse or None,
    )


class Canvas(Widget):
    """A rectangle of lines, as large as the screen."""

    class Clicked(Message):
        """Somebody clicked at a cell."""

        def __init__(self, x: int, y: int) -> None:
            super().__init__()
            self.x = x
            self.y = y

    class Wheeled(Message):
        """Somebody turned the wheel: -1 up, 1 down."""

        def __init__(self, way: int) -> None:
            super().__init__()
            self.way = way

    def __init__(self, theme: Theme) -> None:
        super().__init__(id="canvas")
        self._lines: list[Line] = []
        self._styles = styles_of(theme)

    def dress(self, theme: Theme) -> None:
        """Take another theme."""
        self._styles = styles_of(theme)
        self.refresh()

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
        width, styles = self.size.width, self._styles
        return Strip(
            [Segment(text, styles[tone]) for text, tone in fit(_at(self._lines, y), width)], width
        )

    def on_click(self, event: Click) -> None:
        """Pass it on with its cell."""
        self.post_message(self.Clicked(event.x, event.y))

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Pass it on."""
        event.stop()
        self.post_message(self.Wheeled(-1))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Pass it on."""
        event.stop()
        self.post_message(self.Wheeled(1))


def _at(lines: list[Line], y: int) -> Line:
    return lines[y] if y < len(lines) else BLANK
