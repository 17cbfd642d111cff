"""The application: has its board look at the feed, begins and ends; the board does the rest."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from textual.app import App
from textual.await_complete import AwaitComplete

from neuron_observer.feed import Transport
from neuron_observer.tui.board import Board
from neuron_observer.tui.ending import end_by_signals, end_with_terminal
from neuron_observer.tui.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.binding import BindingType
    from textual.command import Provider

    from neuron_observer.clock import Clock
    from neuron_observer.feed import Feed
    from neuron_observer.tui.signs import Signs
    from neuron_observer.tui.view import View

LOOK = 0.1  # seconds between two looks at the feed


def palette() -> type[Provider]:
    """What the command palette finds; it is loaded when somebody asks for it."""
    from neuron_observer.tui.palette import Everything  # noqa: PLC0415 - not at the start

    return Everything


@runtime_checkable
class Looking(Protocol):
    """A screen that shows what its feed has when it is told to look."""

    def look(self) -> None:
        """Paint what changed."""
        ...


class ScreenApp(App[None]):
    """Begins, looks at what is shown again and again, and ends as it should."""

    CSS_PATH = "top.tcss"
    TITLE = "neuron-observer"
    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+z", "suspend_process", "to the shell")]
    COMMANDS: ClassVar[set[Callable[[], type[Provider]]]] = {palette}  # type: ignore[assignment]

    def __init__(self, begin: Callable[[], None]) -> None:
        """`begin` is called once, when the screen has been painted."""
        super().__init__(ansi_color=True)
        self._begin = begin
        self._restore: Callable[[], None] = lambda: None

    def on_mount(self) -> None:
        """Start looking at the feed; take signals as a wish to end."""
        self.set_interval(LOOK, self.look)
        self.app_resume_signal.subscribe(self, self._come_back)
        leave = partial(self._leave, asyncio.get_running_loop())
        self._restore = end_by_signals(leave)
        if not self.is_headless:
            end_with_terminal(leave)

    def on_unmount(self) -> None:
        """What comes after the screen is ended by signals as any program is."""
        self._restore()

    def on_ready(self) -> None:
        """What would keep the first frame waiting begins after it."""
        self.call_after_refresh(self._begin)

    def _come_back(self, _: App[None]) -> None:
        """From the shell: what stood there is gone, so everything is painted anew."""
        for screen in self.screen_stack:
            for widget in screen.walk_children():
                widget.refresh()

    def _leave(self, loop: asyncio.AbstractEventLoop, code: int) -> None:
        """End soon; called by a signal or another thread, perhaps when it has ended already."""
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self.exit, None, code)

    def look(self) -> None:
        """Have the uppermost screen look that shows a feed; texts and questions lie over it."""
        found = next((one for one in reversed(self.screen_stack) if isinstance(one, Looking)), None)
        if found:
            found.look()

    def pop_screen(self) -> AwaitComplete:
        """The first screen stays: of two keys in a row both may mean to leave what lies over it."""
        return super().pop_screen() if len(self.screen_stack) > 1 else AwaitComplete()

    def action_command_palette(self) -> None:
        """Find everything by its name."""
        from neuron_observer.tui.palette import Palette  # noqa: PLC0415 - not at the start

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())  # no id: the one before may still be on its way out

    async def action_quit(self) -> None:
        """End."""
        self.exit()


class TopApp(ScreenApp):
    """The screen. It never waits for a read: it shows the last frame, and how old that is."""

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        signs: Signs,
        selected: int | None = None,
        begin: Callable[[], None] = lambda: None,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(begin)
        self.board = _board(feed)(feed, clock, signs, selected, settings or Settings())

    def get_default_screen(self) -> Board:
        """The board is the only screen; texts and questions lie over it."""
        return self.board

    @property
    def view(self) -> View | None:
        """What is shown now; None before the first frame."""
        return self.board.view


def _board(feed: Feed) -> type[Board]:
    """A recording has keys of its own."""
    if not isinstance(feed, Transport):
        return Board
    from neuron_observer.tui.replay_board import ReplayBoard  # noqa: PLC0415 - of recordings only

    return ReplayBoard
