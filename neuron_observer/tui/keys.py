"""The keys: one table, of which bindings, help, palette and docs/top.md are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Key(NamedTuple):
    """What some keys do."""

    keys: str  # by Textual's names, joined by commas
    action: str  # of the board
    shown: str  # what people call the keys
    text: str
    group: str


KEYS: tuple[Key, ...] = (
    Key("left,h", "move(-1, 0)", "← h", "left", "Move"),
    Key("right,l", "move(1, 0)", "→ l", "right", "Move"),
    Key("up,k", "move(0, -1)", "↑ k", "up", "Move"),
    Key("down,j", "move(0, 1)", "↓ j", "down", "Move"),
    Key("home,g", "first", "Home g", "first", "Move"),
    Key("end,G", "last", "End G", "last", "Move"),
    Key("p,space", "pause", "p Space", "pause and go on; reading goes on meanwhile", "Time"),
    Key("w", "why", "w", "why values are missing", "Read"),
    Key("question_mark,f1", "help", "? F1", "this help", "Read"),
    Key("q,ctrl+c,ctrl+q", "quit", "q Ctrl+C", "quit", "Leave"),
)


def bindings() -> Iterator[tuple[str, str, str]]:
    """As Textual wants them."""
    for key in KEYS:
        yield key.keys, key.action, key.text
