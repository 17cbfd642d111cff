"""What the command palette finds: every key's action, every theme."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from textual.command import CommandPalette, DiscoveryHit, Hit, Provider
from textual.css.query import NoMatches

from neuron_observer.tui.keys import KEYS
from neuron_observer.tui.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from functools import partial

    from textual.command import Hits

    Command = tuple[str, str, Callable[[], object] | partial[object]]


class Palette(CommandPalette):
    """Textual's (8.2.8), which can be left while it searches, and opened where it has no room."""

    def _action_command_list(self, action: str) -> None:
        """It looks for a line to move from, and raises where none has been laid out."""
        with suppress(KeyError):
            super()._action_command_list(action)

    def _watch__list_visible(self) -> None:
        """A search that goes on when the list is gone already has nothing to show."""
        with suppress(NoMatches):
            super()._watch__list_visible()

    async def _watch__show_busy(self) -> None:
        """The same."""
        with suppress(NoMatches):
            await super()._watch__show_busy()


class Everything(Provider):
    """All keys by what they do."""

    def _commands(self) -> Iterator[tuple[str, str, str]]:
        for key in KEYS:
            if not key.action.startswith(("palette", "move", "side", "leap", "end")):
                yield key.text, key.action, key.shown
        for name, theme in THEMES.items():
            yield f"theme {name}: {theme.help}", f"theme('{name}')", ""

    async def discover(self) -> Hits:
        """Everything, before anything is typed."""
        for text, action, shown in self._commands():
            yield DiscoveryHit(text, self._run(action), help=shown)

    async def search(self, query: str) -> Hits:
        """What matches."""
        matcher = self.matcher(query)
        for text, action, shown in self._commands():
            score = matcher.match(text)
            if score > 0:
                yield Hit(score, matcher.highlight(text), self._run(action), help=shown)

    def _run(self, action: str) -> Callable[[], object]:
        async def run() -> None:
            await self.screen.run_action(action)

        return run
