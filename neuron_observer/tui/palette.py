"""What the command palette finds: every key's action, every theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Provider

from neuron_observer.tui.keys import KEYS
from neuron_observer.tui.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from functools import partial

    from textual.command import Hits

    Command = tuple[str, str, Callable[[], object] | partial[object]]


class Palette(CommandPalette):
    """Textual's, also where the screen is so low that its list has no line."""

    def _action_command_list(self, action: str) -> None:
        """Textual 8.2.8 looks for a first line to move from, and raises where there is none."""
        if self.query_one(CommandList).size.height:
            super()._action_command_list(action)


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
