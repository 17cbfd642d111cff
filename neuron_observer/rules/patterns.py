"""Patterns: what a log line means, one YAML row a message (`rules/patterns/*.yaml`).

A file is a mapping with `defaults` (any keys of a row) and `patterns` (a list of rows):

    id            name of the row, unique over all files
    match         one regular expression or a list; searched, never anchored, ASCII
    where         kernel | runtime | host: who writes such a line; or monitor | listing: a report
                  of neuron-monitor or neuron-ls says so (such a row has no expression)
    verdict       hw_fault | suspect | victim | app_error | capacity | benign | info
    meaning       one sentence that a newcomer understands
    action        what to do (model.Action); severity, if it is not the verdict's usual one
    if_confirmed, confirm_by     what to do once other evidence agrees, and which evidence
    finding       the finding that the row belongs to, if several rows make one
    code          NRT status that the line stands for
    blames_hardware    default: true for hw_fault only
    weak          the line follows from a cause that stands elsewhere; it never leads
    excuses       this line right beside one of that finding makes the other one harmless
    ours          our own sysfs reads can cause the line; it is no evidence of anything
    fact          {grade: source | document | capture | inferred, source: where that stands}

Named groups `device`, `core` and `code` of an expression are the line's whereabouts; every other
named group is kept as a field. Of these, `adapter` (name of an EFA) and `function` (address of a
PCI function) tell a live event's place. A row whose fact is only inferred is shown and never
counted.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import yaml

from neuron_observer.errors import ConfigError
from neuron_observer.model import Action, Severity
from neuron_observer.rules.nodes import NodeReader, compose
from neuron_observer.rules.pattern import REPORTED, Class, Fact, Grade, Pattern, Where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHIPPED = Path(__file__).parent / "patterns"

_USUAL = {"hw_fault": Severity.CRITICAL, "benign": Severity.INFO, "info": Severity.INFO}
_REQUIRED = ("id", "where", "verdict", "meaning", "action", "fact")


def load(paths: Iterable[Path] | None = None) -> tuple[Pattern, ...]:
    """All rows of the given files (default: the shipped ones), in order; ids are unique."""
    return _shipped() if paths is None else _load(paths)


@cache
def _shipped() -> tuple[Pattern, ...]:
    """The shipped rows; the kernel log and the rules both need them."""
    return _load(sorted(SHIPPED.glob("*.yaml")))


def _load(files: Iterable[Path]) -> tuple[Pattern, ...]:
    rows: dict[str, Pattern] = {}
    for path in files:
        for line, row in _rows(path):
            if row.id in rows:
                raise ConfigError(f"{row.id}: this id is taken", file=str(path), line=line)
            rows[row.id] = row
    return tuple(rows.values())


def _rows(path: Path) -> list[tuple[int, Pattern]]:
    root = compose(path)
    top = _Reader(str(path)).mapping(root, "the file")
    unknown = set(top) - {"defaults", "patterns"}
    if unknown:
        raise ConfigError(f"unknown key {min(unknown)!r}", file=str(path), line=1)
    reader = _Reader(str(path))
    defaults = reader.mapping(top["defaults"], "defaults") if "defaults" in top else {}
    return [
        (node.start_mark.line + 1, reader.pattern(node, defaults))
        for node in reader.sequence(top.get("patterns"), "patterns")
    ]


class _Reader(NodeReader):
    """Turns YAML nodes into rows."""

    def text(self, node: yaml.Node, what: str) -> str:
        """On one line, however it is written."""
        return " ".join(super().text(node, what).split())

    def expression(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.isascii():
            raise self.fail(f"{what} must be an ASCII regular expression", node)
        return str(node.value)

    def fact(self, node: yaml.Node) -> Fact:
        part = self.mapping(node, "fact")
        if set(part) != {"grade", "source"}:
            raise self.fail("fact has the keys grade and source, no others", node)
        grade: Any = self.choice(part["grade"], "fact.grade", get_args(Grade))
        return Fact(grade, self.text(part["source"], "fact.source"))

    def pattern(self, node: yaml.Node, defaults: dict[str, yaml.Node]) -> Pattern:
        self.row = ""
        given = defaults | self.mapping(node, "a row")
        if "id" in given:
            self.row = self.text(given["id"], "id")
        missing = [key for key in _REQUIRED if key not in given]
        if missing:
            raise self.fail(f"the key {missing[0]!r} is missing", node)
        fields: dict[str, Any] = {key: self.value(key, value) for key, value in given.items()}
        verdict: str = fields["verdict"]
        fields.setdefault("severity", _USUAL.get(verdict, Severity.WARNING))
        fields.setdefault("finding", fields["id"])
        fields.setdefault("blames_hardware", verdict == "hw_fault")
        row = Pattern(**fields)
        self.check(row, node)
        return row

    def value(self, key: str, node: yaml.Node) -> Any:
        actions = tuple(action.value for action in Action)
        readers: dict[str, Callable[[], Any]] = {
            "id": lambda: self.text(node, key),
            "finding": lambda: self.text(node, key),
            "meaning": lambda: self.text(node, key),
            "code": lambda: self.text(node, key),
            "excuses": lambda: self.text(node, key),
            "match": lambda: self.texts(node, key, self.expression),
            "confirm_by": lambda: self.texts(node, key),
            "where": lambda: self.choice(node, key, get_args(Where)),
            "verdict": lambda: self.choice(node, key, get_args(Class)),
            "severity": lambda: Severity(self.choice(node, key, [s.value for s in Severity])),
            "action": lambda: Action(self.choice(node, key, actions)),
            "if_confirmed": lambda: Action(self.choice(node, key, actions)),
            "blames_hardware": lambda: self.flag(node, key),
            "weak": lambda: self.flag(node, key),
            "ours": lambda: self.flag(node, key),
            "fact": lambda: self.fact(node),
        }
        if key not in readers:
            raise self.fail(f"unknown key {key!r}", node)
        return readers[key]()

    def check(self, row: Pattern, node: yaml.Node) -> None:
        """What must hold between the keys of a row."""
        if bool(row.match) == (row.where in REPORTED):
            raise self.fail(f"where: {row.where} and the presence of match do not agree", node)
        quiet = row.quiet
        if quiet and row.severity is not Severity.INFO:
            raise self.fail(f"a {row.verdict} line never has severity {row.severity.value}", node)
        if quiet and row.action not in {Action.NONE, Action.WATCH}:
            raise self.fail(f"a {row.verdict} line never asks for {row.action.value}", node)
        if row.verdict == "hw_fault" and not (row.if_confirmed and row.confirm_by):
            raise self.fail("a hw_fault needs if_confirmed and confirm_by", node)
        if row.blames_hardware and row.verdict not in {"hw_fault", "suspect"}:
            raise self.fail(f"a {row.verdict} line never blames the hardware", node)
