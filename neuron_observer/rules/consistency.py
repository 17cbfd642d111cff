"""What must hold between the keys of a rule, and what a rule needs to see."""

from __future__ import annotations

import re
from string import Formatter
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.model import Action, Severity
from neuron_observer.rules import rule as r
from neuron_observer.rules.trust import is_level, trust

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.rules.rule import Condition, Leaf, Needs, Rule

# What a message may show; docs/rules-format.md tells what each is.
FIELDS = (
    *("device", "core", "port", "serial", "metric", "source", "value", "previous", "than"),
    *("baseline", "seconds", "count", "line", "driver", "chip", "instance_type"),
)
_ORDER: tuple[Needs, ...] = ("instant", "pair", "window")
_SOFTWARE = {Action.FIX_PROGRAM, Action.RESTART_JOB, Action.LOOK_AT_OTHER_WORKERS}
_ABOVE = {"node": (), "device": ("node",), "core": ("device", "node")}  # scopes further up
_EDGES = (r.Increased, r.RateAbove)


def needs(condition: Condition, hold: float) -> Needs:
    """What must be seen before a condition can be decided: one read, two, or a stretch of time."""
    if hold:
        return "window"
    return max((_needs(leaf) for leaf in r.leaves(condition)), key=_ORDER.index)


def _needs(leaf: Leaf) -> Needs:
    if isinstance(leaf, (r.RateAbove, r.Stuck, r.Trend, r.CollectorFails)):
        return "window"
    if isinstance(leaf, r.AbsentFor):
        return "window" if leaf.lasting else "instant"
    if isinstance(leaf, (r.Increased, r.ClockJumped)):
        return "pair"
    return "instant"


def problems(rule: Rule, at_least: Needs) -> Iterator[tuple[str, str]]:
    """Key and what is wrong with it, of everything that does not fit together."""
    yield from _of_meaning(rule)
    yield from _of_message(rule)
    if _ORDER.index(rule.needs) < _ORDER.index(at_least):
        yield "needs", f"{rule.needs} is too little: the condition and hold need {at_least}"
    if rule.since and rule.until and rule.since > rule.until:
        yield "until", "is before since"
    if rule.latched and rule.clear:
        yield "clear", "a latched finding does not clear by itself"
    if rule.witness and METRICS[rule.witness].kind is not Kind.COUNTER:
        yield "witness", f"{rule.witness} is no counter"
    for key, condition in (("when", rule.when), ("given", rule.given)):
        for leaf, scope in r.scoped(condition, rule.scope) if condition else ():
            for problem in _of_leaf(rule, leaf, scope):
                yield key, problem


def _of_meaning(rule: Rule) -> Iterator[tuple[str, str]]:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id):
        yield "id", f"{rule.id!r}: lower case words joined by hyphens"
    if rule.severity is Severity.CRITICAL and rule.action in {Action.NONE, Action.WATCH}:
        yield "action", f"a critical finding asks for more than {rule.action.value}"
    if rule.fact.grade == "inferred" and not rule.shadow:
        yield "shadow", "a rule that rests on an inferred fact is in shadow"
    if rule.blames_hardware and (rule.program or rule.action in _SOFTWARE):
        yield "blames_hardware", f"{rule.action.value} is no remedy for hardware"
    if rule.blames_hardware and not _has_hardware(rule) and not rule.shadow:
        if rule.if_confirmed is None:
            yield "if_confirmed", "is missing: hearsay alone blames the hardware"
        if not rule.confirm_by:
            yield "confirm_by", "is missing: hearsay alone blames the hardware"


def _has_hardware(rule: Rule) -> bool:
    return any(
        trust(metric) == "hardware" for leaf in r.leaves(rule.when) for metric in r.metrics_of(leaf)
    ) or any(isinstance(leaf, r.MissingDevice) for leaf in r.leaves(rule.when))


def _of_message(rule: Rule) -> Iterator[tuple[str, str]]:
    try:
        names = [name for _, name, _, _ in Formatter().parse(rule.message) if name is not None]
    except ValueError as error:
        yield "message", f"is no template: {error}"
        return
    for name in names:
        if name not in FIELDS:
            yield "message", f"{{{name}}} is none of {', '.join(FIELDS)}"


def _of_leaf(rule: Rule, leaf: Leaf, scope: str) -> Iterator[str]:
    for metric in r.metrics_of(leaf):
        if not _reachable(scope, METRICS[metric].scope):
            yield f"{metric} is of each {METRICS[metric].scope}, not of a {scope}"
    yield from _of_counts(leaf)
    yield from _of_thresholds(leaf)
    within = getattr(leaf, "within", None)
    if within is not None and rule.hold >= within:
        yield f"hold {rule.hold:g} s is never reached: it is remembered for {within:g} s"


def _of_counts(leaf: Leaf) -> Iterator[str]:
    metric = getattr(leaf, "metric", None)
    if not isinstance(metric, str):
        return
    spec = METRICS[metric]
    if isinstance(leaf, _EDGES) and spec.kind is not Kind.COUNTER:
        yield f"{metric} is no counter"
    if isinstance(leaf, (r.Above, r.Below)) and spec.kind is Kind.COUNTER and not is_level(metric):
        yield f"{metric} counts since load or can be cleared: use increased or rate_above"
    if isinstance(leaf, r.Above) and isinstance(leaf.than, str):
        yield from () if METRICS[leaf.than].kind is not Kind.COUNTER else (f"{leaf.than}: counter",)
    if isinstance(leaf, r.DiffersFromPeers) and spec.kind is not Kind.GAUGE:
        yield f"{metric} is no gauge: peers are compared by gauges"
    if isinstance(leaf, r.DiffersFromPeers) and not (leaf.least or leaf.least_share):
        yield "differs_from_peers needs least or least_share: what difference matters at all"


def _of_thresholds(leaf: Leaf) -> Iterator[str]:
    if isinstance(leaf, r.Increased) and leaf.ended_by not in ("", *r.EVENTS):
        yield f"increased is ended by what the reader sees, not by a line: {', '.join(r.EVENTS)}"
    clear_at = getattr(leaf, "clear_at", None)
    than = getattr(leaf, "than", None)
    if isinstance(leaf, r.Increased):
        than = leaf.by
    elif isinstance(than, str):  # a factor, as times is
        than = getattr(leaf, "times", 1.0)
    if clear_at is None or than is None:
        return
    if not isinstance(leaf, r.Below) and clear_at > than:
        yield f"clear_at {clear_at:g} is above {than:g}"
    if isinstance(leaf, r.Below) and clear_at < than:
        yield f"clear_at {clear_at:g} is below {than:g}"


def _reachable(scope: str, metric_scope: str) -> bool:
    """The same place, one that it is part of, or parts of it: any part counts."""
    if scope in (metric_scope, "node") or metric_scope == "node":
        return True
    return metric_scope in _ABOVE.get(scope, ()) or scope in _ABOVE.get(metric_scope, ())
