"""From what was said to a value: one function a form, each refuses what is not of its form."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from neuron_observer.config import units
from neuron_observer.config.keys import range_text
from neuron_observer.config.mapped import mapped_path
from neuron_observer.config.said import Word, Words, wrong
from neuron_observer.errors import UsageError
from neuron_observer.exporters.listener import parse_address

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.config.keys import Key
    from neuron_observer.config.said import Said
    from neuron_observer.errors import ConfigError

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_LONGEST = 4096  # characters of a text
_MOST = 64  # items of a list
_REMEDIES = {
    "text": "Put it in quotes.",
    "path": "Write it from the root on, without `..`.",
    "paths": "Write them from the root on, without `..`.",
    "addresses": "Write 127.0.0.1:9744 or, in quotes, '[::1]:9744'.",
}
_NO_TEXT = {"Cc", "Cs", "Cn", "Zl", "Zp"}  # control, half a character, none, line separators


def value_of(key: Key, said: Said) -> Any:
    """The value; `ConfigError` with the place, the key and what it takes."""
    if isinstance(said, Word) and said.tag == "null":
        if key.nullable:
            return None
        raise _not(key, said)
    if key.form in ("paths", "addresses"):
        items = said.items if isinstance(said, Words) else (said,)
        return _many(key, said, items)
    if isinstance(said, Words):
        raise _not(key, said)
    return _FORMS[key.form](key, said)


def _not(key: Key, said: Said, why: str = "") -> ConfigError:
    why = why or _REMEDIES.get(key.form, "")
    return wrong(said.origin, f"{key.name} must be {range_text(key)}", why)


def _flag(key: Key, word: Word) -> bool:
    value = word.text.lower()
    if word.tag not in ("", "bool") or value not in _BOOLEANS:
        raise _not(key, word)
    return _BOOLEANS[value]


def _choice(key: Key, word: Word) -> str:
    """A word; `off` is one of them although YAML takes it for a boolean."""
    if word.text in key.choices:
        return word.text
    from difflib import get_close_matches  # noqa: PLC0415 - only after a mistake

    nearest = get_close_matches(word.text.lower(), key.choices, n=1)
    raise _not(key, word, f"Did you mean {nearest[0]!r}?" if nearest else "")


def _count(key: Key, word: Word) -> int:
    text = word.text
    if word.tag not in ("", "int") or not (text.isascii() and text.isdigit()) or len(text) > 15:
        raise _not(key, word, "Write a whole number, without quotes.")
    if len(text) > 1 and text[0] == "0":
        raise _not(key, word, "A leading zero may mean an octal number: leave it out.")
    return int(_within(key, word, int(text)))


def _quantity(read: Callable[[str], float]) -> Callable[[Key, Word], Any]:
    def value(key: Key, word: Word) -> Any:
        if word.tag not in ("", "str", "int", "float"):
            raise _not(key, word)
        try:
            found = read(word.text)
        except units.UnitError as error:
            raise wrong(word.origin, f"{key.name}: {error.message}", error.remedy) from None
        return _within(key, word, found)

    return value


def _within(key: Key, word: Word, value: float) -> float:
    below = key.low is not None and value < key.low
    if below or (key.high is not None and value > key.high):
        message = f"{key.name}: {word.text} is out of range"
        raise wrong(word.origin, message, f"It takes {range_text(key)}.")
    return value


def _text(key: Key, word: Word) -> str:
    if word.tag not in ("", "str"):
        raise _not(key, word)
    if len(word.text) > _LONGEST:
        raise wrong(word.origin, f"{key.name}: longer than {_LONGEST} characters")
    for sign in word.text:
        if unicodedata.category(sign) in _NO_TEXT:
            raise wrong(word.origin, f"{key.name}: the character {sign!r} is no text")
    return word.text


def _path(key: Key, word: Word) -> str | None:
    text = _text(key, word)
    if not text and (key.nullable or key.name == "socket"):
        return None if key.nullable else ""
    if not text.startswith("/") or ".." in text.split("/"):
        raise _not(key, word)
    return text


def _address(key: Key, word: Word) -> str:
    text = _text(key, word)
    try:
        return str(parse_address(text))
    except UsageError as error:
        message = f"{key.name}: {error.message}"
        raise wrong(word.origin, message, _REMEDIES[key.form]) from None


def _many(key: Key, said: Said, words: tuple[Word, ...]) -> tuple[str, ...]:
    if len(words) > _MOST:
        raise wrong(said.origin, f"{key.name}: more than {_MOST} items")
    found: list[str] = []
    for word in words:
        value = _address(key, word) if key.form == "addresses" else _path(key, word)
        if value in found and not str(value).endswith(":0"):  # port 0: the system's choice
            raise wrong(word.origin, f"{key.name}: {value} stands twice", "Leave one out.")
        found.append(str(value))
    return tuple(found)


_FORMS: dict[str, Callable[[Key, Word], Any]] = {
    "flag": _flag,
    "count": _count,
    "choice": _choice,
    "duration": _quantity(units.duration),
    "size": _quantity(units.size),
    "share": _quantity(units.share),
    "text": _text,
    "path": _path,
    "mapped": lambda key, word: mapped_path(key.path[-1], word),
}
