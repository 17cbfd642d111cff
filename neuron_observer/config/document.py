"""A YAML file as what it says of each key. Everything that is wrong in it is found at once.

Strict: UTF-8, no anchors, no merge keys, no key twice, no key that nobody knows. Aliases are
refused where they are met, so that one that stands for a million costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from neuron_observer.config.keys import groups, keys
from neuron_observer.config.mapped import mappable
from neuron_observer.config.said import Origin, Word, Words, wrong
from neuron_observer.errors import ConfigError
from neuron_observer.rules.nodes import REMEDY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from msgspec import Struct

    from neuron_observer.config.keys import Path
    from neuron_observer.config.said import Said

MOST_BYTES = 256_000  # so that no file takes long, whatever it is made of
_DEEPEST = 16
_TAG = "tag:yaml.org,2002:"


class _Refused(yaml.MarkedYAMLError):
    """What YAML knows and a configuration has no use for."""


class _Loader(yaml.SafeLoader):
    """Composes nodes; refuses aliases when the first one is read."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next node."""
        event = self.peek_event()  # type: ignore[no-untyped-call]  # as its stubs have it
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _Refused(problem="anchors and aliases are refused", problem_mark=event.start_mark)
        if self.depth > _DEEPEST:
            raise _Refused(problem="is nested too deep", problem_mark=event.start_mark)
        self.depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


def text_of(raw: bytes, file: str) -> str:
    """A file's bytes as text; `ConfigError` with the line of what is none."""
    if len(raw) > MOST_BYTES:
        raise ConfigError(f"is longer than {MOST_BYTES} bytes: no configuration is", file=file)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            "is not UTF-8 text", file=file, line=line, remedy="Save it as UTF-8."
        ) from error


def compose(text: str, file: str) -> yaml.Node | None:
    """The root of a document; `ConfigError` where it is no YAML or more than this reads."""
    loader = None
    try:
        loader = _Loader(text)
        node: yaml.Node | None = loader.get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError("a control character is no text", file=file, line=line) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        problem = error.problem or "is not YAML"
        if problem.startswith("but ") and error.context:
            problem = f"{error.context} {problem}"
        # What is missing at the end is said to be missing in a line that there is.
        line_ = min(mark.line, text.rstrip("\n").count("\n")) + 1 if mark else None
        raise ConfigError(problem, file=file, line=line_, remedy=_remedy(problem)) from error
    except (ValueError, OverflowError, RecursionError) as error:  # \UFFFFFFFF
        raise ConfigError(f"is not YAML: {error}", file=file) from error
    finally:
        if loader is not None:
            loader.dispose()
    return node


def _remedy(problem: str) -> str:
    if "'\\t'" in problem:
        return "Indent with spaces: YAML knows no tabs."
    if "anchors" in problem:
        return "Write the value out where it stands; a text that begins with & or * needs quotes."
    if "nested" in problem:
        return ""
    return REMEDY


class Reader:
    """Reads documents of one struct; what is wrong is noted and the rest is read."""

    def __init__(self, struct: type[Struct], problems: list[ConfigError]) -> None:
        self._keys = keys(struct)
        maps = {path for path, key in self._keys.items() if key.form == "map"}
        self._above = maps | {(name,) for name in groups(struct)}  # what holds keys
        self.problems = problems

    def read(self, text: str, file: str) -> dict[Path, Said]:
        """What a file says, by key."""
        try:
            node = compose(text, file)
        except ConfigError as error:
            self.problems.append(error)
            return {}
        return dict(self._walk(node, (), file))

    def _walk(self, node: yaml.Node | None, above: Path, file: str) -> Iterator[tuple[Path, Said]]:
        for key, value in self._items(node, above, file):
            path = (*above, key.value)
            if not self._known(key, above, file):
                continue
            if path in self._above:
                yield from self._walk(value, path, file)
            else:
                said = self._said(value, path, file)
                if said is not None:
                    yield path, said

    def _items(
        self, node: yaml.Node | None, above: Path, file: str
    ) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        """Keys and values; nothing of a key whose lines are all comments."""
        if node is None or _tag(node) == "null":
            return
        where = f"{'.'.join(above)} " if above else ""
        if not isinstance(node, yaml.MappingNode):
            self._note(node, file, f"{where}must be a mapping of keys to values")
            return
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._note(key, file, "a key must be a word")
            elif key.value in seen:
                name = ".".join((*above, key.value))
                self._note(
                    key,
                    file,
                    f"key {name!r} stands twice",
                    f"It stands in line {seen[key.value]} too: leave one out.",
                )
            else:
                seen[key.value] = line
                yield key, value

    def _known(self, key: yaml.ScalarNode, above: Path, file: str) -> bool:
        path = (*above, key.value)
        if above and above in self._keys:  # below a map
            if key.value in mappable():
                return True
            self._note(key, file, *unknown("metric", key.value, mappable(), ()))
            return False
        if path in self._keys or path in self._above:
            return True
        if _tag(key) == "merge":
            self._note(key, file, "merge keys are refused", "Write the keys out where they stand.")
            return False
        siblings = {found[len(above)] for found in self._keys if found[: len(above)] == above}
        what = f"key in {'.'.join(above)}" if above else "key"
        elsewhere = [".".join(found) for found in self._keys if found[-1] == key.value]
        self._note(key, file, *unknown(what, key.value, siblings, elsewhere))
        return False

    def _said(self, node: yaml.Node, path: Path, file: str) -> Said | None:
        origin = Origin(file, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return Word(node.value, _tag(node), origin)
        if isinstance(node, yaml.SequenceNode):
            items = [self._said(one, path, file) for one in node.value]
            words = tuple(one for one in items if isinstance(one, Word))
            if len(words) == len(items):
                return Words(words, origin)
        what = "mapping" if isinstance(node, yaml.MappingNode) else "list of lists or mappings"
        self._note(node, file, f"{'.'.join(path)} takes no {what}")
        return None

    def _note(self, node: yaml.Node, file: str, message: str, remedy: str = "") -> None:
        origin = Origin(file, node.start_mark.line + 1)
        self.problems.append(wrong(origin, message, remedy))


def unknown(
    what: str, name: str, known: Iterable[str], elsewhere: Iterable[str]
) -> tuple[str, str]:
    """Message and remedy for a name that nobody knows."""
    names = sorted(known)
    from difflib import get_close_matches  # noqa: PLC0415 - only after a mistake

    nearest = get_close_matches(name, names, n=1) or list(elsewhere)
    remedy = f"Did you mean {nearest[0]!r}?" if nearest else f"Known: {', '.join(names)}"
    return f"unknown {what} {name!r}", remedy


def _tag(node: yaml.Node) -> str:
    """YAML's own tags without their prefix; a tag that a file made up is no form of anything."""
    tag: str = node.tag
    return tag.removeprefix(_TAG) or "!"
