"""The tables of docs/top.md: `python -m tests.tui.page` writes them anew between their marks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.tui.keys import GROUPS, KEYS
from neuron_observer.tui.pages import PAGES
from neuron_observer.tui.themes import THEMES

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = Path(__file__).parent.parent.parent / "docs" / "top.md"
_PART = re.compile(r"(<!-- (\w+), made by tests/tui/page.py -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(heads: str, rows: Iterable[tuple[str, ...]]) -> str:
    names = heads.split()
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _keys() -> str:
    rows = [
        (f"`{key.shown}`", key.text.replace("|", "\\|"))
        for group in GROUPS
        for key in KEYS
        if key.group == group
    ]
    return _table("key does", rows)


def _views() -> str:
    return _table("key view shows", [(f"`{p.key}`", p.name, p.help) for p in PAGES.values()])


def _themes() -> str:
    return _table("theme is", [(f"`{name}`", theme.help) for name, theme in THEMES.items()])


PARTS = {"keys": _keys, "views": _views, "themes": _themes}


def current(text: str) -> str:
    """The page with its tables as they are now."""
    return _PART.sub(lambda found: found[1] + PARTS[found[2]]() + found[3], text)


if __name__ == "__main__":
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
