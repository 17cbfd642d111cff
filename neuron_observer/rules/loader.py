"""Rules from YAML: the shipped ones (`rules/default`), and those of users (`rules.d/*.yaml`).

A file is a mapping with `defaults` (any keys of a rule) and `rules` (a list of blocks). A block of
a later directory whose id is known changes the keys that it has; any other adds a rule. The format
is told in docs/rules-format.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.chips import CHIPS, parse_version
from neuron_observer.model import Action, Severity
from neuron_observer.rules import consistency
from neuron_observer.rules.conditions import ConditionReader
from neuron_observer.rules.nodes import NodeReader, compose, nearest
from neuron_observer.rules.pattern import Fact, Grade
from neuron_observer.rules.rule import Again, Needs, Rule, RuleScope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import yaml

SHIPPED = Path(__file__).parent / "default"
MOST_RULES = 1000

_REQUIRED = ("id", "scope", "when", "severity", "action", "fact", "message", "meaning", "clears")
_TEXTS = ("id", "message", "meaning", "clears", "runbook")
_FLAGS = ("blames_hardware", "program", "latched", "shadow", "required", "enabled")
_SECONDS = ("hold", "clear")
_ACTIONS = ("action", "if_confirmed")
_LISTS = ("confirm_by", "steps", "avoid", "could_be")
_KEYS = (
    *_REQUIRED,
    *("runbook", "if_confirmed", *_LISTS, "given", "witness", "again", "needs"),
    *("chips", "since", "until", *_FLAGS, *_SECONDS),
)


class _Block(NamedTuple):
    """A rule as written: its nodes by key, of one file or of several on top of each other."""

    nodes: dict[str, yaml.Node]
    node: yaml.Node
    file: str

    @property
    def line(self) -> int:
        """Where it begins."""
        return int(self.node.start_mark.line) + 1


def load(paths: Iterable[Path] | None = None, *, extra: Iterable[Path] = ()) -> tuple[Rule, ...]:
    """The rules of some files (default: the shipped ones), then of `extra`: files or directories.

    Ids are unique within each of the two; a block in `extra` changes the rule of its id.
    """
    taken: dict[str, str] = {}
    own = {id_: block for path in _files(extra) for id_, block in _blocks(path, taken)}
    taken.clear()
    rules: list[Rule | None] = []
    # File by file: nodes take several times the memory of the rules that are made of them.
    for path in sorted(SHIPPED.glob("*.yaml")) if paths is None else paths:
        for id_, block in _blocks(path, taken):
            changed = _on_top(block, own.pop(id_, None))
            rules.append(_RuleReader(changed.file).rule(changed))
    rules += [_RuleReader(block.file).rule(block, page=False) for block in own.values()]
    return tuple(rule for rule in rules if rule is not None)


def _on_top(below: _Block, block: _Block | None) -> _Block:
    return block._replace(nodes=below.nodes | block.nodes) if block else below


def _files(extra: Iterable[Path]) -> list[Path]:
    return [
        file
        for path in extra
        for file in (sorted(path.glob("*.yaml")) if path.is_dir() else [path])
    ]


def _blocks(path: Path, taken: dict[str, str]) -> Iterator[tuple[str, _Block]]:
    """The blocks of a file by id; `taken`: where each id stands, of this file and others."""
    reader = NodeReader(str(path))
    root = compose(path)
    if root is None:
        return
    top = reader.mapping(root, "the file")
    reader.known(top, ("defaults", "rules"), "the file")
    defaults = reader.mapping(top["defaults"], "defaults") if "defaults" in top else {}
    reader.known(defaults, _KEYS, "defaults")
    for node in reader.sequence(top.get("rules"), "rules"):
        given = reader.mapping(node, "a rule")
        if "id" not in given:
            raise reader.fail("a rule: the key 'id' is missing", node)
        id_ = reader.text(given["id"], "id")
        if id_ in taken:
            raise reader.fail(f"{id_}: this id is taken, at {taken[id_]}", node)
        if len(taken) == MOST_RULES:
            raise reader.fail(f"more than {MOST_RULES} rules", node)
        block = _Block(defaults | given, node, str(path))
        taken[id_] = f"{path}:{block.line}"
        yield id_, block


class _RuleReader(NodeReader):
    """One block into a rule."""

    def rule(self, block: _Block, *, page: bool = True) -> Rule | None:
        """The rule; None if it is switched off. `page`: whether docs/runbooks has one of it."""
        nodes = block.nodes
        self.row = self.text(nodes["id"], "id")
        self.known(nodes, _KEYS, "a rule")
        missing = [key for key in _REQUIRED if key not in nodes]
        if missing:
            raise self.fail(f"the key {missing[0]!r} is missing", block.node)
        fields = {key: self._value(key, node) for key, node in nodes.items()}
        if not fields.pop("enabled", True):
            return None
        conditions = ConditionReader(self.file, self.row)
        for key in ("when", "given"):
            if key in nodes:
                fields[key] = conditions.condition(nodes[key])
        fields.setdefault("runbook", f"docs/runbooks/{self.row}.md" if page else "")
        if fields["fact"].grade == "inferred":
            fields.setdefault("shadow", True)
        at_least = consistency.needs(fields["when"], fields.get("hold", 0.0))
        fields.setdefault("needs", at_least)
        rule = Rule(**fields, file=block.file, line=block.line)
        for key, problem in consistency.problems(rule, at_least):
            raise self.fail(f"{key}: {problem}", nodes.get(key, block.node))
        return rule

    def _value(self, key: str, node: yaml.Node) -> Any:
        for keys, read in (
            (_TEXTS, self.words),
            (_FLAGS, self.flag),
            (_SECONDS, self.seconds),
            (_ACTIONS, self._action),
            (_LISTS, self.texts),
        ):
            if key in keys:
                return read(node, key)
        special: dict[str, Callable[[yaml.Node, str], Any]] = {
            "scope": lambda at, what: self.choice(at, what, get_args(RuleScope)),
            "needs": lambda at, what: self.choice(at, what, get_args(Needs)),
            "severity": self._severity,
            "fact": self._fact,
            "witness": self._metric,
            "again": self._again,
            "chips": lambda at, what: self.texts(at, what, self._chip),
            "since": self._version,
            "until": self._version,
            "when": lambda _at, _what: None,  # read below
            "given": lambda _at, _what: None,
        }
        return special[key](node, key)

    def _action(self, node: yaml.Node, what: str) -> Action:
        return Action(self.choice(node, what, [action.value for action in Action]))

    def _severity(self, node: yaml.Node, what: str) -> Severity:
        return Severity(self.choice(node, what, [severity.value for severity in Severity]))

    def _chip(self, node: yaml.Node, what: str) -> str:
        return self.choice(node, what, CHIPS)

    def _metric(self, node: yaml.Node, what: str) -> str:
        metric = self.text(node, what)
        if metric not in METRICS:
            raise self.fail(f"{what}: unknown metric {metric!r}{nearest(metric, METRICS)}", node)
        return metric

    def _version(self, node: yaml.Node, what: str) -> tuple[int, ...]:
        text = self.text(node, what)
        version = parse_version(text)
        if version is None:
            raise self.fail(f"{what}: {text!r} is no driver version", node, "Write 2.30.2.")
        return version

    def _fact(self, node: yaml.Node, what: str) -> Fact:
        part = self.mapping(node, what)
        if set(part) != {"grade", "source"}:
            raise self.fail("fact has the keys grade and source, no others", node)
        grade: Any = self.choice(part["grade"], "fact.grade", get_args(Grade))
        return Fact(grade, self.text(part["source"], "fact.source"))

    def _again(self, node: yaml.Node, what: str) -> Again:
        part = self.mapping(node, what)
        self.known(part, ("within", "action", "severity"), what)
        if not {"within", "action"} <= set(part):
            raise self.fail(f"{what} needs the keys within and action", node)
        severity = self._severity(part["severity"], what) if "severity" in part else None
        return Again(
            self.seconds(part["within"], f"{what}.within"),
            self._action(part["action"], f"{what}.action"),
            severity,
        )
