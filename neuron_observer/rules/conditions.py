"""Conditions from YAML: `{above: {metric: …, than: 0}}`, `{all: [...]}`, `{not: {...}}`.

The parameters of a predicate are the fields of its type in `rule`; how each is read depends on its
name alone, so that a name means one thing everywhere.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, get_args

from neuron_observer.catalogue import METRICS
from neuron_observer.model import Why
from neuron_observer.rules import rule
from neuron_observer.rules.nodes import NodeReader, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import yaml

    from neuron_observer.rules.rule import Condition

PREDICATES: Mapping[str, Any] = {
    "above": rule.Above,
    "below": rule.Below,
    "one_of": rule.OneOf,
    "none_of": rule.NoneOf,
    "contains": rule.Contains,
    "increased": rule.Increased,
    "rate_above": rule.RateAbove,
    "stuck": rule.Stuck,
    "absent_for": rule.AbsentFor,
    "matches": rule.Matches,
    "differs_from_peers": rule.DiffersFromPeers,
    "trend": rule.Trend,
    "missing_device": rule.MissingDevice,
    "collector_fails": rule.CollectorFails,
    "clock_jumped": rule.ClockJumped,
}
_WRAPPERS: Mapping[str, Any] = {"not": rule.Not, "unless": rule.Unless, "anywhere": rule.Anywhere}
COMBINATIONS = ("all", "any", *_WRAPPERS)
_DURATIONS = ("within", "window", "lasting", "per", "apart")
_NUMBERS = ("times", "clear_at", "least", "least_share")


@cache
def known_events() -> frozenset[str]:
    """What `matches` may name: findings and ids of the shipped patterns, kinds of events."""
    from neuron_observer.rules.patterns import load  # noqa: PLC0415 - 50 ms, where it is used

    rows = load()
    return frozenset({row.finding for row in rows} | {row.id for row in rows} | set(rule.EVENTS))


class ConditionReader(NodeReader):
    """Nodes into conditions."""

    def condition(self, node: yaml.Node) -> Condition:
        """One condition: a mapping with one key."""
        given = self.mapping(node, "a condition")
        if len(given) != 1:
            raise self.fail(
                f"a condition has one predicate, this one has {len(given)}",
                node,
                "Combine with all: [...] or any: [...].",
            )
        name, body = next(iter(given.items()))
        if name in ("all", "any"):
            parts = tuple(self.condition(item) for item in self.sequence(body, name))
            if len(parts) < 2:
                raise self.fail(f"{name} needs two conditions or more", body)
            return rule.AllOf(parts) if name == "all" else rule.AnyOf(parts)
        if name in _WRAPPERS:
            wrapped: Condition = _WRAPPERS[name](self.condition(body))
            return wrapped
        return self._predicate(name, body)

    def _predicate(self, name: str, body: yaml.Node) -> Condition:
        choices = (*PREDICATES, *COMBINATIONS)
        if name not in PREDICATES:
            near = nearest(name, choices)
            raise self.fail(
                f"unknown predicate {name!r}{near}", body, f"There are: {', '.join(choices)}."
            )
        form = PREDICATES[name]
        given = self.mapping(body, name)
        self.known(given, form._fields, name)
        missing = [key for key in form._fields if key not in given]
        needed = [key for key in missing if key not in form._field_defaults]
        if needed:
            raise self.fail(f"{name}: the key {needed[0]!r} is missing", body)
        values = {key: self._parameter(key, at, f"{name}.{key}") for key, at in given.items()}
        if name in {"rate_above", "trend"}:
            self._plain(values["than"], given["than"], f"{name}.than")
        found: Condition = form(**values)
        return found

    def _plain(self, value: object, node: yaml.Node, what: str) -> None:
        if isinstance(value, str):
            raise self.fail(f"{what}: {value!r} is no number", node)

    def _parameter(self, key: str, node: yaml.Node, what: str) -> Any:
        if key in _DURATIONS:
            return self._positive(
                self.seconds(node, what), node, what, zero=key in ("lasting", "apart")
            )
        if key in _NUMBERS:
            return self.number(node, what)
        readers: dict[str, Callable[[yaml.Node, str], Any]] = {
            "metric": self._metric,
            "than": self._bound,
            "values": self._values,
            "word": self.text,
            "by": self._amount,
            "at_least": self.count,
            "peers": self.count,
            "steps": self.count,
            "rises": self.count,
            "saying": self.text,
            "among": lambda at, name: self.choice(at, name, get_args(rule.Among)),
            "whys": self._whys,
            "side": lambda at, name: self.choice(at, name, get_args(rule.Side)),
            "finding": self._finding,
            "ended_by": self._finding,
            "excused_by": self._finding,
        }
        return readers[key](node, what)

    def _positive(self, value: float, node: yaml.Node, what: str, *, zero: bool) -> float:
        if value < 0 or (value == 0 and not zero):
            raise self.fail(f"{what}: must be longer than 0 s", node)
        return value

    def _metric(self, node: yaml.Node, what: str) -> str:
        metric = self.text(node, what)
        if metric not in METRICS:
            raise self.fail(
                f"{what}: unknown metric {metric!r}{nearest(metric, METRICS)}",
                node,
                "`neuron-observer metrics` lists them.",
            )
        return metric

    def _bound(self, node: yaml.Node, what: str) -> float | str:
        value = self.scalar(node, what)
        return self._metric(node, what) if isinstance(value, str) else value

    def _amount(self, node: yaml.Node, what: str) -> float:
        value = self.number(node, what)
        if value <= 0:
            raise self.fail(f"{what}: must be above 0", node)
        return value

    def _values(self, node: yaml.Node, what: str) -> tuple[str | int, ...]:
        items = self.sequence(node, what)
        values = tuple(self.scalar(item, what) for item in items)
        if not values or any(isinstance(value, float) for value in values):
            raise self.fail(f"{what}: words or whole numbers, one at least", node)
        return tuple(value for value in values if not isinstance(value, float))

    def _whys(self, node: yaml.Node, what: str) -> tuple[Why, ...]:
        names = self.texts(
            node, what, lambda at, name: self.choice(at, name, [why.value for why in Why])
        )
        return tuple(Why(name) for name in names)

    def _finding(self, node: yaml.Node, what: str) -> str:
        name = self.text(node, what)
        if name not in known_events():
            raise self.fail(
                f"{what}: no pattern makes {name!r}{nearest(name, known_events())}",
                node,
                "Name a finding or id of rules/patterns, or " + ", ".join(rule.EVENTS) + ".",
            )
        return name
