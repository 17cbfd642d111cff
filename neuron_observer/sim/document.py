"""A YAML file read strictly: every complaint names file, line and remedy; nothing is expanded."""

from __future__ import annotations

import difflib
import math
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from neuron_observer.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_BYTES = 256 * 1024
MOST_DEPTH = 16
_NULL = "tag:yaml.org,2002:null"
_BOOLEAN = "tag:yaml.org,2002:bool"
_INTEGER = "tag:yaml.org,2002:int"
_NUMBERS = (_INTEGER, "tag:yaml.org,2002:float")
_TRUE = ("true", "yes", "on")


class Document:
    """One file: gives values out of its nodes, or an InputError with their line."""

    def __init__(self, file: str) -> None:
        self.file = file

    def wrong(self, node: yaml.Node | None, message: str, remedy: str = "") -> InputError:
        """The complaint about a node."""
        place = self.file if node is None else f"{self.file}:{node.start_mark.line + 1}"
        return InputError(f"{place}: {message}", remedy=remedy)

    def root(self) -> yaml.Node | None:
        """The whole document; no aliases, no deep nesting, no more bytes than a person writes."""
        text = self._text()
        try:
            self._check(text)
            return yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise InputError(f"{self.file}:{line}: a control character is no text") from error
        except yaml.MarkedYAMLError as error:
            where = f":{_shown_line(error.problem_mark, text)}" if error.problem_mark else ""
            raise InputError(
                f"{self.file}{where}: {error.problem or 'is not YAML'}",
                remedy="docs/simulation.md shows how a scenario is written.",
            ) from error
        except (ValueError, OverflowError, RecursionError) as error:
            raise InputError(f"{self.file}: is not YAML: {error}") from error

    def said(self) -> yaml.Node:
        """The whole document; InputError of one that is empty, which is most likely a slip."""
        node = self.root()
        if node is None or node.tag == _NULL:
            raise self.wrong(
                None,
                "is empty",
                "docs/simulation.md shows how a scenario is written; {} alone is an idle node.",
            )
        return node

    def _text(self) -> str:
        try:
            with Path(self.file).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                raise InputError(f"{self.file}: more than {MOST_BYTES} bytes, so no scenario")
            return data.decode("utf-8")
        except OSError as error:
            remedy = "Name a YAML file; `simulate --list` names what comes with the program."
            raise InputError(f"{self.file}: {error.strerror}", remedy=remedy) from error
        except UnicodeDecodeError as error:
            raise InputError(f"{self.file}: is not UTF-8 text") from error

    def _check(self, text: str) -> None:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise InputError(
                    f"{self.file}:{_line(event)}: aliases are not taken",
                    remedy="Write the value out where it is needed.",
                )
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MOST_DEPTH:
                raise InputError(f"{self.file}:{_line(event)}: nested too deep")

    def items(
        self, node: yaml.Node | None, known: Iterable[str], what: str
    ) -> dict[str, yaml.Node]:
        """Values by key of a mapping; each key known and there once."""
        if node is None or node.tag == _NULL:
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise self.wrong(node, f"{what} must be a mapping of keys to values")
        found: dict[str, yaml.Node] = {}
        names = list(known)
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.wrong(key, "a key must be a word")
            if key.value not in names:
                raise self.wrong(
                    key, f"unknown key {key.value!r} of {what}", suggestion(key.value, names)
                )
            if key.value in found:
                raise self.wrong(key, f"key {key.value!r} stands twice")
            found[key.value] = value
        return found

    def rows(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        """The items of a list."""
        if node is None or node.tag == _NULL:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.wrong(node, f"{what} must be a list", "Begin each item with a dash.")
        return list(node.value)

    def text(self, node: yaml.Node, what: str) -> str:
        """Text."""
        if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL:
            raise self.wrong(node, f"{what} must be text")
        return str(node.value)

    def flag(self, node: yaml.Node, what: str) -> bool:
        """True or false."""
        if node.tag != _BOOLEAN:
            raise self.wrong(node, f"{what} must be true or false")
        return str(node.value).lower() in _TRUE

    def number(
        self, node: yaml.Node, what: str, least: float = 0.0, most: float = math.inf
    ) -> float:
        """A number within bounds."""
        try:
            value = float(str(node.value)) if node.tag in _NUMBERS else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            remedy = "Digits without quotes, such as 90, 0.5 or 1.0e+9."
            raise self.wrong(node, f"{what} must be a number", remedy)
        if not least <= value <= most:
            limits = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
            raise self.wrong(node, f"{what} is {value:g}", f"It must be {limits}.")
        return value

    def whole(self, node: yaml.Node, what: str, least: float = 0, most: float = math.inf) -> int:
        """A whole number within bounds."""
        value = self.number(node, what, least, most)
        if not value.is_integer():
            raise self.wrong(node, f"{what} must be a whole number")
        return int(value)

    def choice(self, node: yaml.Node, what: str, known: Iterable[str]) -> str:
        """One of some words."""
        word, names = self.text(node, what), list(known)
        if word not in names:
            raise self.wrong(node, f"no {what} {word!r}", suggestion(word, names))
        return word


def _shown_line(mark: yaml.Mark, text: str) -> int:
    """What is missing at the end is said to be missing in a line that there is."""
    return min(mark.line, text.rstrip("\n").count("\n")) + 1


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def suggestion(word: str, known: list[str]) -> str:
    """A remedy: the nearest match, or all there are."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}."
