"""The screen of several nodes, and the one of the node among them that is looked at whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.screen import Screen

from neuron_observer.tui.app import ScreenApp
from neuron_observer.tui.board import Board
from neuron_observer.tui.canvas import Canvas
from neuron_observer.tui.keys import Key
from neuron_observer.tui.lines import Line, Span, joined, line
from neuron_observer.tui.nodes import listed
from neuron_observer.tui.settings import Settings
from neuron_observer.tui.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from neuron_observer.clock import Clock
    from neuron_observer.feed import Node
    from neuron_observer.tui.signs import Signs

_KEYS = (("arrows", "choose"), ("Enter", "look at it"), ("q", "quit"))


BACK = Key("n,backspace", "leave", "n", "back to all nodes", "Nodes")


class NodesApp(ScreenApp):
    """Several nodes side by side."""

    def __init__(
        self,
        nodes: Sequence[Node],
        clock: Clock,
        signs: Signs,
        begin: Callable[[], None] = lambda: None,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(begin)
        self.nodes = NodesBoard(nodes, clock, signs, settings or Settings())

    def get_default_screen(self) -> NodesBoard:
        """All of them; the one that is looked at lies over it."""
        return self.nodes


class NodesBoard(Screen[None]):
    """A line a node; one is chosen and can be looked at whole."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k", "move(-1)", "up"),
        ("down,j", "move(1)", "down"),
        ("home,g", "move(-99)", "first"),
        ("end,G", "move(99)", "last"),
        ("enter,space,right,l", "open", "look at it"),
        ("q,ctrl+c,ctrl+q", "quit", "quit"),
    ]

    def __init__(
        self, nodes: Sequence[Node], clock: Clock, signs: Signs, settings: Settings
    ) -> None:
        super().__init__(id="nodes")
        self._settings = settings
        self._several = nodes
        self._clock = clock
        self._signs = signs
        self._chosen = 0
        self._canvas = Canvas(THEMES[settings.theme])

    def compose(self) -> ComposeResult:
        """One widget for everything."""
        yield self._canvas

    def on_mount(self) -> None:
        """Paint what is there."""
        self.look()

    def on_resize(self) -> None:
        """Lay out anew."""
        self.look()

    @property
    def first_line(self) -> int:
        """Of the nodes that are shown; the chosen one always is."""
        return max(self._chosen - max(self.size.height - 3, 0), 0)

    def look(self) -> None:
        """Paint what is known of all of them now."""
        width, height = self.size
        glances = [node.glance() for node in self._several]
        now = self._clock.monotonic()
        heading, *lines = listed(glances, now, self._signs, width, self._chosen)
        room = max(height - 2, 0)
        lines = lines[self.first_line : self.first_line + room]
        lines += [()] * (room - len(lines))
        self._canvas.show([heading, *lines, _keys()][:height])

    def action_move(self, way: int) -> None:
        """Choose another one."""
        self._chosen = min(max(self._chosen + way, 0), len(self._several) - 1)
        self.look()

    def on_canvas_clicked(self, event: Canvas.Clicked) -> None:
        """A click chooses a node, another one opens it."""
        number = event.y - 1 + self.first_line
        if event.y < 1 or number >= len(self._several):
            return
        if number == self._chosen:
            self.action_open()
        self._chosen = number
        self.look()

    def action_open(self) -> None:
        """Look at the chosen node."""
        node = self._several[self._chosen]
        self.app.push_screen(NodeBoard(node, self._clock, self._signs, self._settings))

    async def action_quit(self) -> None:
        """End."""
        self.app.exit()


class NodeBoard(Board):
    """One node of several, while somebody looks at it."""

    BINDINGS: ClassVar[list[BindingType]] = [(BACK.keys, BACK.action, BACK.text)]
    OWN_KEYS: ClassVar[tuple[Key, ...]] = (BACK,)

    def __init__(self, node: Node, clock: Clock, signs: Signs, settings: Settings) -> None:
        super().__init__(node.open(), clock, signs, None, settings)
        self._of = node
        self.state.node = node.name

    @property
    def waiting(self) -> str:
        """What is said before the first frame."""
        problem = self._of.glance().problem
        return f"{self._of.name}: {problem or 'asked for its first frame'} (n: back to all nodes)"

    def action_back(self) -> None:
        """From the overview back to all nodes."""
        if self.state.page == "overview" and not self.state.way.filter:
            self.action_leave()
        else:
            super().action_back()

    def action_leave(self) -> None:
        """Back to all nodes."""
        self.dismiss()

    def on_unmount(self) -> None:
        """However it was left."""
        self._of.leave()


def _keys() -> Line:
    return joined([line(Span(key, "heading"), f" {what}") for key, what in _KEYS], Span("  "))
