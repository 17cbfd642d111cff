"""The keys: one table, of which bindings, help, palette and docs/top.md are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.tui.pages import PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Key(NamedTuple):
    """What some keys do."""

    keys: str  # by Textual's names, joined by commas
    action: str  # of the board
    shown: str  # what people call the keys
    text: str
    group: str


GROUPS = ("Views", "Move", "Tables", "Time", "Read", "Take along", "Other")
KEYS: tuple[Key, ...] = (
    *(
        Key(page.key, f"page('{page.name}')", page.key, f"{page.name}: {page.help}", "Views")
        for page in PAGES.values()
    ),
    Key("tab", "turn(1)", "Tab", "next view", "Views"),
    Key("shift+tab", "turn(-1)", "Shift+Tab", "view before", "Views"),
    Key("escape", "back", "Esc", "back: clears the filter, then to the overview", "Views"),
    Key(
        "left,h",
        "side(-1)",
        "Left h",
        "device at the left; columns of a table; earlier while paused",
        "Move",
    ),
    Key(
        "right,l",
        "side(1)",
        "Right l",
        "device at the right; columns of a table; later while paused",
        "Move",
    ),
    Key("up,k", "move(-1)", "Up k", "up", "Move"),
    Key("down,j", "move(1)", "Down j", "down", "Move"),
    Key("pageup", "leap(-1)", "PgUp", "a page up", "Move"),
    Key("pagedown", "leap(1)", "PgDn", "a page down", "Move"),
    Key("home,g", "end(0)", "Home g", "first", "Move"),
    Key("end,G", "end(-1)", "End G", "last", "Move"),
    Key("enter", "open", "Enter", "everything that is known of what is chosen", "Read"),
    Key("slash", "filter", "/", "filter: words, -words, column>number, all of them", "Tables"),
    Key("s", "sort(1)", "s", "sort by the next column (or click its heading)", "Tables"),
    Key("S", "sort(-1)", "S", "sort by the column before", "Tables"),
    Key("r", "reverse", "r", "the other way round", "Tables"),
    Key("c", "columns", "c", "choose columns", "Tables"),
    Key("p,space", "pause", "p Space", "pause and go on; reading goes on meanwhile", "Time"),
    Key("left_square_bracket,comma", "time(-1)", "[ ,", "a second earlier (pauses)", "Time"),
    Key("right_square_bracket,full_stop", "time(1)", "] .", "a second later", "Time"),
    Key("left_curly_bracket", "time(-60)", "{", "a minute earlier (pauses)", "Time"),
    Key("right_curly_bracket", "time(60)", "}", "a minute later", "Time"),
    Key("w", "why", "w", "why values are missing", "Read"),
    Key("question_mark,f1", "help", "? F1", "this help", "Read"),
    Key("y", "copy", "y", "copy the chosen row", "Take along"),
    Key("Y", "copy_all", "Y", "copy the whole table", "Take along"),
    Key(
        "e",
        "export",
        "e",
        "write the table (.csv .json) or the screen (.svg .txt) to a file",
        "Take along",
    ),
    Key("t", "theme", "t", "next theme", "Other"),
    Key("a", "signs", "a", "ASCII signs and back", "Other"),
    Key("colon,ctrl+p", "palette", ": Ctrl+P", "all of this by name", "Other"),
    Key("ctrl+z", "suspend", "Ctrl+Z", "to the shell; `fg` comes back", "Other"),
    Key("q,ctrl+c,ctrl+q", "quit", "q Ctrl+C", "quit", "Other"),
)


def bindings() -> Iterator[tuple[str, str, str]]:
    """As Textual wants them."""
    for key in KEYS:
        yield key.keys, key.action, key.text


def help_lines(own: Sequence[Key] = ()) -> Iterator[str]:
    """The table as text, by groups; first the keys that only this board has."""
    for group in dict.fromkeys((*(key.group for key in own), *GROUPS)):
        yield group
        for key in (*own, *KEYS):
            if key.group == group:
                yield f"  {key.shown:<12}{key.text}"
        yield ""
