"""What people set on the screen, kept for the next time: $XDG_CONFIG_HOME/neuron-observer/top.json.

    {"theme": "safe", "ascii": false, "page": "overview",
     "tables": {"cores": {"sort": "core.utilization", "falling": false, "columns": [...]}}}

A file that cannot be read changes nothing and is never written over: it is set aside as
`top.json.bad` before another one is written. Keys that are not known here are kept.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuron_observer.tui.pages import PAGES
from neuron_observer.tui.themes import DEFAULT, THEMES, WITHOUT_COLOR
from neuron_observer.tui.view import Way

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST = 100_000  # bytes of a file


class Settings:
    """The settings of a user; without a path they live as long as the program."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the file, if there is one; `trouble` tells what is wrong with it."""
        self.path = path
        self.theme = DEFAULT
        self.ascii = False
        self.page = "overview"
        self.ways: dict[str, Way] = {}
        self.trouble = ""
        self._document: dict[str, Any] = {}  # as it is to be kept
        self._is_bad = False  # to be set aside before another one is written
        self._keeps_off = False  # not even readable: nothing is written over it
        if path is not None:
            self._load(path)

    def _load(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                document = json.loads(file.read(_MOST))
            if not isinstance(document, dict):
                raise ValueError("not an object")  # noqa: TRY004 - as json's own error
        except FileNotFoundError:
            return
        except OSError as error:
            self._keeps_off = True
            self._complain(f"{error.strerror}: the defaults are in force")
        except (ValueError, RecursionError) as error:
            self._is_bad = True
            self._complain(f"{error}: the defaults are in force")
        else:
            self._document = document
            self._take(document)

    def _take(self, document: dict[str, Any]) -> None:
        """Take what is valid; the first thing that is not is told."""
        theme, page = document.get("theme", DEFAULT), document.get("page", "overview")
        if theme in list(THEMES):
            self.theme = theme
        else:
            self._complain(f"no theme {theme!r}: {', '.join(THEMES)}")
        if page in list(PAGES):
            self.page = page
        else:
            self._complain(f"no page {page!r}: {', '.join(PAGES)}")
        self.ascii = document.get("ascii", False) is True
        tables = document.get("tables", {})
        if isinstance(tables, dict):
            self.ways = {page: _way(of) for page, of in tables.items() if page in PAGES}
        else:
            self._complain("tables: not an object")

    def _complain(self, what: str) -> None:
        self.trouble = self.trouble or f"{self.path}: {what}"

    def wear(self, theme: str) -> str:
        """Choose a theme and keep it; what went wrong, or nothing."""
        self.theme = self._document["theme"] = theme
        return self.save()

    def use_ascii(self, *, wanted: bool) -> str:
        """Choose the signs and keep that; what went wrong, or nothing."""
        self.ascii = self._document["ascii"] = wanted
        return self.save()

    def look_at(self, page: str, way: Way) -> str:
        """Keep how a table is looked at; what went wrong, or nothing."""
        self.ways[page] = way
        tables = self._document.get("tables")
        tables = self._document["tables"] = dict(tables) if isinstance(tables, dict) else {}
        known = tables.get(page)
        own = {"sort": way.sort, "falling": way.falling, "columns": list(way.columns)}
        tables[page] = {**(known if isinstance(known, dict) else {}), **own}
        return self.save()

    def save(self) -> str:
        """Write them, in one step; what went wrong, or nothing."""
        if self.path is None:
            return ""
        if self._keeps_off:
            return f"{self.path}: not readable: kept until the end only"
        try:
            self._write(self.path, json.dumps(self._document, indent=1) + "\n")
        except OSError as error:
            return f"{self.path}: {error.strerror}: kept until the end only"
        return ""

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if self._is_bad:
            path.replace(path.with_name(path.name + ".bad"))
            self._is_bad = False
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.replace(path)


def _way(of: Any) -> Way:
    """A table's way, as far as it is valid."""
    if not isinstance(of, dict):
        return Way()
    columns = of.get("columns")
    known = isinstance(columns, list) and all(isinstance(one, str) for one in columns)
    return Way(
        sort=str(of.get("sort", "")),
        falling=of.get("falling", True) is not False,
        columns=tuple(columns) if known and columns else (),
    )


def settings_of(environment: Mapping[str, str], theme: str | None = None) -> Settings:
    """The settings of the user whose environment that is; NO_COLOR and an option win over them."""
    home = environment.get("XDG_CONFIG_HOME") or ""
    if not os.path.isabs(home):  # noqa: PTH117 - the specification: a relative one is ignored
        home = os.path.join(environment.get("HOME") or "/", ".config")  # noqa: PTH118 - as above
    settings = Settings(Path(home) / "neuron-observer" / "top.json")
    if environment.get("NO_COLOR"):
        settings.theme = WITHOUT_COLOR
    if theme is not None:
        settings.theme = theme
    return settings
