"""What lies over the board: a text to be read, a line to be written, columns to be chosen."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from neuron_observer.tui.canvas import styles_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from neuron_observer.tui.lines import Line
    from neuron_observer.tui.themes import Theme


class Overlay(ModalScreen[None]):
    """A text to be read and left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark,w,enter,space", "dismiss", "close"),
        ("up,k", "scroll(-1)", "up"),
        ("down,j", "scroll(1)", "down"),
        ("pageup", "scroll(-10)", "up"),
        ("pagedown", "scroll(10)", "down"),
        ("home,g", "scroll(-100000)", "begin"),
        ("end,G", "scroll(100000)", "end"),
    ]

    def __init__(self, lines: Sequence[Line], theme: Theme) -> None:
        super().__init__()
        self._text = Text(no_wrap=False)
        styles = styles_of(theme)
        for number, one in enumerate(lines):
            if number:
                self._text.append("\n")
            for span in one:
                self._text.append(span.text, styles[span.tone])
        self._theme = theme

    def compose(self) -> ComposeResult:
        """The text in a frame that scrolls."""
        yield dressed(VerticalScroll(Static(self._text, markup=False)), self._theme)

    def action_scroll(self, lines: int) -> None:
        """Scroll by some lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class Question(ModalScreen["str | None"]):
    """One line to be written at the bottom; None where somebody would rather not."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "leave")]

    def __init__(self, label: str, value: str, theme: Theme) -> None:
        super().__init__()
        self._label = label
        self._value = value
        self._theme = theme

    def compose(self) -> ComposeResult:
        """What is asked, and the line."""
        yield dressed(Static(self._label, markup=False), self._theme)
        yield dressed(Input(self._value, compact=True, select_on_focus=False), self._theme)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """That is the answer."""
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        """No answer."""
        self.dismiss(None)


class _Options(OptionList):
    """Textual's (8.2.8), also where the screen is so small that no line of it has been laid out."""

    def action_page_up(self) -> None:
        """Where there is a page."""
        with suppress(KeyError):
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """Where there is a page."""
        with suppress(KeyError):
            super().action_page_down()  # type: ignore[no-untyped-call]


class Choice(ModalScreen["list[str] | None"]):
    """Some of many, in the order in which they stand; None where all shall be as it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q", "leave", "leave"),
        ("c", "done", "done"),
        ("space", "turn", "in or out"),
    ]

    def __init__(
        self, names: Sequence[tuple[str, str]], chosen: Sequence[str], theme: Theme
    ) -> None:
        """`names` are pairs of what is shown and what is given back."""
        super().__init__()
        self._names = names
        self._chosen = set(chosen)
        self._theme = theme

    def compose(self) -> ComposeResult:
        """What to press, and the list."""
        text = "Space: in or out   c: done   Esc: as it was"
        yield dressed(Static(text, markup=False), self._theme)
        yield dressed(_Options(*map(self._line, range(len(self._names)))), self._theme)

    def _line(self, place: int) -> Text:
        text, id_ = self._names[place]
        return Text(f"[{'x' if id_ in self._chosen else ' '}] {text}")

    def action_turn(self) -> None:
        """The line under the cursor."""
        place = self.query_one(OptionList).highlighted
        if place is not None:
            self._turn(place)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click."""
        self._turn(event.option_index)

    def _turn(self, place: int) -> None:
        self._chosen ^= {self._names[place][1]}
        self.query_one(OptionList).replace_option_prompt_at_index(place, self._line(place))

    def action_done(self) -> None:
        """Those are the ones."""
        self.dismiss([id_ for _, id_ in self._names if id_ in self._chosen])

    def action_leave(self) -> None:
        """No answer."""
        self.dismiss(None)


def dressed(widget: Widget, theme: Theme) -> Widget:
    """A widget in the colours of a theme; without ground and text those of the terminal stay."""
    if theme.ground and theme.text:
        widget.styles.background = theme.ground
        widget.styles.color = theme.text
    return widget
