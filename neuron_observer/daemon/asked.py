"""Query strings, strictly: a parameter or a value that is not known is refused, never ignored.

What a client sent is named only where it is a plain word; everything else is told by what is known.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl

from neuron_observer.parsers.core_list import visible_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Schema: TypeAlias = "dict[str, Any]"
Asked: TypeAlias = "Mapping[str, Any]"  # parameter → its value, or None where it was left out

LONGEST_AGE = 366 * 86_400.0  # seconds
_MOST = 16  # parameters of one query
_WORD = re.compile(r"[a-z_]{1,32}", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_AGO = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)", re.ASCII)
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)
_LIST = re.compile(r"\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?)*", re.ASCII)


class WrongQuery(Exception):  # noqa: N818 - an answer, not an error of ours
    """A query that cannot be answered: which parameter is wrong, and what is known."""

    def __init__(self, title: str, detail: str, known: Sequence[str] = ()) -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail
        self.known = tuple(known)


class Parameter(NamedTuple):
    """One parameter of a path: how its value is read (None: it is none), and its JSON schema."""

    name: str
    help: str
    read: Callable[[str], object]
    form: str  # what a value looks like, in words
    schema: Schema
    known: tuple[str, ...] = ()
    required: bool = False


class Instant(NamedTuple):
    """An instant on the wall clock, or so many seconds ago: then no clock matters."""

    wall: float | None = None
    ago: float | None = None


def flag(name: str, text: str) -> Parameter:
    """`true` or `false`."""
    words = {"true": True, "false": False}
    return Parameter(name, text, words.get, "true or false", {"type": "boolean"}, tuple(words))


def choice(name: str, text: str, known: Sequence[str]) -> Parameter:
    """One of some words."""
    words = {word: word for word in known}
    schema = {"type": "string", "enum": list(known)}
    return Parameter(name, text, words.get, "one of the known words", schema, tuple(known))


def words(name: str, text: str, known: Sequence[str]) -> Parameter:
    """Some of some words, with commas."""

    def read(value: str) -> frozenset[str] | None:
        found = frozenset(value.split(","))
        return found if found.issubset(known) else None

    alternatives = "|".join(known)
    schema = {"type": "string", "pattern": f"^({alternatives})(,({alternatives}))*$"}
    return Parameter(name, text, read, "known words with commas between", schema, tuple(known))


def number(name: str, text: str, least: int, most: int) -> Parameter:
    """A whole number between two others."""

    def read(value: str) -> int | None:
        plain = value.isascii() and value.isdigit() and len(value) <= 9
        return int(value) if plain and least <= int(value) <= most else None

    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Parameter(name, text, read, f"a whole number from {least} to {most}", schema)


def numbers(name: str, text: str) -> Parameter:
    """Numbers and ranges, as in 0,3-5."""

    def read(value: str) -> tuple[int, ...] | None:
        return visible_cores(value) if _LIST.fullmatch(value) else None

    schema = {"type": "string", "pattern": f"^{_LIST.pattern}$", "examples": ["0,3-5"]}
    return Parameter(name, text, read, "numbers and ranges below 4096, as in 0,3-5", schema)


def instant(name: str, text: str) -> Parameter:
    """RFC 3339, or how long ago."""
    schema = {
        "type": "string",
        "anyOf": [{"format": "date-time"}, {"pattern": f"^{_AGO.pattern}$"}],
        "examples": ["15m", "2026-11-30T10:00:00Z"],
    }
    form = "RFC 3339 with its zone, or how long ago: 90s, 15m, 2h, 1d"
    return Parameter(name, text, read_instant, form, schema)


def matching(name: str, text: str, pattern: str, form: str, *, required: bool = False) -> Parameter:
    """A word of a form of its own."""
    compiled = re.compile(pattern, re.ASCII)

    def read(value: str) -> str | None:
        return value if compiled.fullmatch(value) else None

    schema = {"type": "string", "pattern": f"^{pattern}$"}
    return Parameter(name, text, read, form, schema, required=required)


def read_instant(value: str) -> Instant | None:
    """`15m`, or RFC 3339; None where it is neither."""
    found = _AGO.fullmatch(value)
    if found:
        ago = float(found[1]) * _UNITS[found[2]]
        return Instant(ago=ago) if ago <= LONGEST_AGE else None
    if not _INSTANT.fullmatch(value):
        return None
    whole, dot, rest = value.replace(" ", "T").replace("Z", "+00:00").partition(".")
    fraction, zone = (rest[:-6], rest[-6:]) if dot else ("0", "")
    try:
        moment = datetime.fromisoformat(whole + zone).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None
    return Instant(wall=moment.timestamp() + float(f"0.{fraction}"))


def read(query: str, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Values by name, None for what was left out; `WrongQuery` for what is not known."""
    known = {parameter.name: parameter for parameter in parameters}
    found: dict[str, Any] = dict.fromkeys(known)
    for name, value in _pairs(query):
        parameter = known.get(name)
        if parameter is None:
            told = f" {name}" if _WORD.fullmatch(name) else ""
            knows = f"known: {', '.join(known)}" if known else "there are none here"
            raise WrongQuery(f"unknown parameter{told}", knows, tuple(known))
        if found[name] is not None:
            raise WrongQuery(f"parameter {name} stands twice", "give it once", tuple(known))
        found[name] = parameter.read(value)
        if found[name] is None:
            choices = f": {', '.join(parameter.known)}" if parameter.known else ""
            detail = f"it takes {parameter.form}{choices}"
            raise WrongQuery(f"parameter {name} has no such value", detail, parameter.known)
    for parameter in parameters:
        if parameter.required and found[parameter.name] is None:
            detail = f"it takes {parameter.form}"
            raise WrongQuery(f"parameter {parameter.name} is needed", detail)
    return found


def _pairs(query: str) -> list[tuple[str, str]]:
    if not query:
        return []
    try:
        return parse_qsl(
            query,
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_MOST,
        )
    except (ValueError, UnicodeError):
        detail = f"at most {_MOST} pairs name=value with & between, in UTF-8"
        raise WrongQuery("the query cannot be read", detail) from None
