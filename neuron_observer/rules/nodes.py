"""YAML nodes into values; every error names the file, the line, the row and the key."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Any

import yaml

from neuron_observer.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

MOST_BYTES = 1 << 20  # a rules file is written by a person
MOST_DEPTH = 16
REMEDY = "Look at the indentation, at colons and brackets; put a text that has them in quotes."
_TEXT = "tag:yaml.org,2002:str"
_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|min|h|d)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, None: 1.0}


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def compose(path: Path) -> yaml.Node | None:
    """The root node of a file; None if it is empty. Aliases are refused: they can multiply."""
    file = str(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError(f"longer than {MOST_BYTES} bytes", file=file)
        with path.open("rb") as stream:
            _refuse_tricks(stream, file)
        with path.open("rb") as stream:  # its name is in the marks of the nodes
            return yaml.compose(stream, Loader=_LOADER)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", file=file) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        line = min(mark.line, _last_line(path)) + 1 if mark else None
        raise ConfigError(f"is no YAML: {problem}", file=file, line=line, remedy=REMEDY) from None


def _last_line(path: Path) -> int:
    """From 0; what is missing at the end is said to be missing in a line that there is."""
    return path.read_bytes().rstrip(b"\n").count(b"\n")


def _refuse_tricks(stream: IO[bytes], file: str) -> None:
    depth = 0
    for event in yaml.parse(stream, Loader=_LOADER):
        line = event.start_mark.line + 1 if event.start_mark else None
        if isinstance(event, yaml.AliasEvent):
            raise ConfigError(
                "an alias (*name) is not allowed", file=file, line=line, remedy="Write it out."
            )
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEPTH:
            raise ConfigError(f"deeper than {MOST_DEPTH} levels", file=file, line=line)


def plain(node: yaml.Node | None) -> Any:
    """A node as mappings, lists and scalars."""
    if node is None:
        return None
    return yaml.constructor.SafeConstructor().construct_document(node)


def nearest(word: str, choices: Iterable[str]) -> str:
    """`; did you mean …?`, or nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 - only after a mistake

    close = get_close_matches(word, list(choices), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


class NodeReader:
    """Reads nodes of one file; `row` is the id that errors name."""

    def __init__(self, file: str, row: str = "") -> None:
        self.file = file
        self.row = row

    def fail(self, message: str, node: yaml.Node | None, remedy: str = "") -> ConfigError:
        """The error to raise for a node."""
        prefix = f"{self.row}: " if self.row else ""
        if node is None:
            return ConfigError(prefix + message, file=self.file, remedy=remedy)
        mark = node.start_mark  # a row may be put together from two files
        return ConfigError(prefix + message, file=mark.name, line=mark.line + 1, remedy=remedy)

    def mapping(self, node: yaml.Node | None, what: str) -> dict[str, yaml.Node]:
        """Key → node; a key that stands twice is an error."""
        if not isinstance(node, yaml.MappingNode):
            raise self.fail(f"{what} must be a mapping", node)
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.fail(f"{what}: a key must be a word", key)
            if key.value in found:
                raise self.fail(f"{what}: the key {key.value!r} stands twice", key)
            found[key.value] = value
        return found

    def sequence(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        """The items of a list."""
        if not isinstance(node, yaml.SequenceNode):
            raise self.fail(f"{what} must be a list", node)
        return list(node.value)

    def known(self, keys: dict[str, yaml.Node], allowed: Iterable[str], what: str) -> None:
        """Refuse a key that is not allowed."""
        choices = tuple(allowed)
        for key, node in keys.items():
            if key not in choices:
                near = nearest(key, choices)
                raise self.fail(
                    f"{what}: unknown key {key!r}{near}", node, f"Keys: {', '.join(choices)}."
                )

    def text(self, node: yaml.Node, what: str) -> str:
        """A word or a sentence, not empty."""
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            raise self.fail(f"{what} must be a text", node)
        return str(node.value).strip()

    def words(self, node: yaml.Node, what: str) -> str:
        """A text that people read: a number, a date or `yes` is most likely a slip."""
        text = self.text(node, what)
        if node.tag != _TEXT:
            raise self.fail(f"{what}: {text} is no text", node, "If it is meant so, quote it.")
        return text

    def choice(self, node: yaml.Node, what: str, choices: Iterable[str]) -> str:
        """One of a few words."""
        value, allowed = self.text(node, what), tuple(choices)
        if value not in allowed:
            near = nearest(value, allowed)
            raise self.fail(f"{what}: {value!r} is none of {', '.join(allowed)}{near}", node)
        return value

    def flag(self, node: yaml.Node, what: str) -> bool:
        """True or false."""
        return self.choice(node, what, ("true", "false")) == "true"

    def number(self, node: yaml.Node, what: str) -> float:
        """A finite number; whole ones stay integers."""
        value = self.scalar(node, what)
        if isinstance(value, str):
            raise self.fail(f"{what}: {value!r} is no number", node)
        return value

    def count(self, node: yaml.Node, what: str) -> int:
        """A whole number above 0."""
        value = self.number(node, what)
        if not isinstance(value, int) or value < 1:
            raise self.fail(f"{what}: {value} is no whole number above 0", node)
        return value

    def scalar(self, node: yaml.Node, what: str) -> int | float | str:
        """A number if it is written as one without quotes, else the text."""
        text = self.text(node, what)
        if isinstance(node, yaml.ScalarNode) and not node.style:
            if re.fullmatch(r"[+-]?\d+", text):
                return int(text)
            if re.fullmatch(r"[+-]?\d+\.\d+(e[+-]?\d+)?", text):
                return float(text)
        return text

    def seconds(self, node: yaml.Node, what: str) -> float:
        """A duration: `30`, `30 s`, `10 min`, `2 h`, `7 d`."""
        found = _DURATION.fullmatch(self.text(node, what))
        if not found:
            raise self.fail(
                f"{what}: {self.text(node, what)!r} is no duration", node, "Write 30 s or 10 min."
            )
        return float(found[1]) * _SECONDS[found[2]]

    def texts(
        self, node: yaml.Node, what: str, one: Callable[[yaml.Node, str], str] | None = None
    ) -> tuple[str, ...]:
        """One text or a list of them."""
        take = one or self.words
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        return tuple(take(item, what) for item in items)
