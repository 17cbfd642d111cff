"""Text over the screen: the help, and every reason why a value is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

HELP = """\
neuron-observer top

 arrows, h j k l   select a device (or click it)
 Home, End         first, last device
 p, space          pause and go on; reading goes on meanwhile
 w                 why values are missing: of the selected device and the host
 ?                 this help
 q, Ctrl+C         quit

Letters: H healthy, D degraded, U unhealthy, ? not judged.
U utilization of all cores, P mean power of the last minute as share of the maximum.
A dash is a value that is not there; it is never a zero. Bars are shares of the whole:
of the time, of the chip's HBM, of the maximum power, of what is held by category.
Nothing is ever written to a device.
"""


class Overlay(ModalScreen[None]):
    """A text to be read and left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark,w,enter,space", "dismiss", "close"),
        ("up,k", "scroll(-1)", "up"),
        ("down,j", "scroll(1)", "down"),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """The text in a frame that scrolls."""
        yield VerticalScroll(Static(self._text, markup=False))

    def action_scroll(self, lines: int) -> None:
        """Scroll by some lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)
