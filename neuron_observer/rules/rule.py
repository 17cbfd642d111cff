"""Rules as values: what is looked for (`when`), and what it means if it is found.

A condition is one predicate with its parameters, or a combination of conditions. Field names are
the names of the parameters in a rules file; docs/rules-format.md tells what each predicate does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from neuron_observer.model import Why

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.catalogue.spec import Version
    from neuron_observer.model import Action, Severity
    from neuron_observer.rules.pattern import Fact

RuleScope: TypeAlias = Literal["node", "device", "core", "port", "efa", "pci", "sensor", "disk"]
Needs: TypeAlias = Literal["instant", "pair", "window"]
Side: TypeAlias = Literal["high", "low", "both"]
Among: TypeAlias = Literal["chip", "device"]
# Events that are no lines of a log; their kinds may be matched too.
EVENTS = ("driver_reloaded", "devices_changed", "files_moved", "counter_reset")


class Above(NamedTuple):
    """Value > `than` times `times`; of a count that nobody can clear: value over its baseline."""

    metric: str
    than: float | str  # a number, or the metric that gives it
    times: float = 1.0
    # Once true it stays so until the value is here or lower; of a metric: a factor, as `times`.
    clear_at: float | None = None


class Below(NamedTuple):
    """Value < `than` times `times`."""

    metric: str
    than: float | str
    times: float = 1.0
    clear_at: float | None = None  # once true it stays so until the value is here or higher


class OneOf(NamedTuple):
    """The state is one of these words or numbers."""

    metric: str
    values: tuple[str | int, ...]


class NoneOf(NamedTuple):
    """The state is read, and is none of these words or numbers."""

    metric: str
    values: tuple[str | int, ...]


class Contains(NamedTuple):
    """A list of words that are joined by commas holds this one."""

    metric: str
    word: str


class Increased(NamedTuple):
    """A counter grew by at least `by` within the last `within` seconds, as far as we watched."""

    metric: str
    by: int = 1
    within: float = 600.0
    steps: int = 1  # rises,
    apart: float = 0.0  # counted only if they are so many seconds apart
    clear_at: int | None = None  # once true it stays so until it grew by this or less
    ended_by: str = ""  # an event of the reader after which what grew before does not count


class RateAbove(NamedTuple):
    """A counter grew faster than `than` each `per` seconds, over a whole window."""

    metric: str
    than: float
    window: float
    per: float = 1.0
    clear_at: float | None = None


class Stuck(NamedTuple):
    """The value has been read and has not changed for so many seconds."""

    metric: str
    lasting: float


class AbsentFor(NamedTuple):
    """The reading has been missing, for one of these reasons, for so many seconds."""

    metric: str
    lasting: float = 0.0
    whys: tuple[Why, ...] = (Why.FAILED, Why.STALE)
    saying: str = ""  # a part of the detail


class Matches(NamedTuple):
    """Events of this finding, kind or pattern came: `at_least` so many `within` so long."""

    finding: str
    within: float = 600.0
    at_least: int = 1
    ended_by: str = ""  # an event after which those before it do not count any more
    excused_by: str = ""  # an event right beside which one is harmless


class DiffersFromPeers(NamedTuple):
    """Off the peers' median by `by` robust deviations, and by what matters at all."""

    metric: str
    by: float = 6.0
    least: float = 0.0  # a smaller difference never matters,
    least_share: float = 0.0  # nor a smaller share of the median; one of the two must be given
    side: Side = "both"
    peers: int = 4  # fewer of them say nothing
    among: Among = "chip"


class Trend(NamedTuple):
    """The value climbs (or, `than` negative, falls) faster than `than` each `per` seconds."""

    metric: str
    than: float
    window: float
    per: float = 3600.0
    rises: int = 3  # moves in that direction, of up to 23: a step is no trend


class MissingDevice(NamedTuple):
    """A device that the instance type has, or that was here before, is not there."""


class CollectorFails(NamedTuple):
    """A collector has failed at each run for so many seconds."""

    lasting: float = 30.0


class ClockJumped(NamedTuple):
    """The wall clock moved by at least `by` seconds more or less than time went by."""

    by: int = 5
    within: float = 600.0


class AllOf(NamedTuple):
    """Every part is true; false as soon as one is false."""

    parts: tuple[Condition, ...]


class AnyOf(NamedTuple):
    """A part is true; false only if every one is false."""

    parts: tuple[Condition, ...]


class Not(NamedTuple):
    """The part is false; what is unknown stays unknown."""

    part: Condition


class Unless(NamedTuple):
    """The part is not true; what cannot be known here at all does not stand in the way."""

    part: Condition


class Anywhere(NamedTuple):
    """The part is true at any place of the node, wherever the rule looks."""

    part: Condition


Leaf: TypeAlias = (
    Above
    | Below
    | OneOf
    | NoneOf
    | Contains
    | Increased
    | RateAbove
    | Stuck
    | AbsentFor
    | Matches
    | DiffersFromPeers
    | Trend
    | MissingDevice
    | CollectorFails
    | ClockJumped
)
Condition: TypeAlias = "Leaf | AllOf | AnyOf | Not | Unless | Anywhere"


class Again(NamedTuple):
    """The same fault of the same chip once more, after it had gone: another remedy."""

    within: float  # seconds since it was resolved
    action: Action
    severity: Severity | None = None


class Rule(NamedTuple):
    """One fault: when it is there, how bad it is, what to do."""

    id: str
    scope: RuleScope
    when: Condition
    severity: Severity
    action: Action
    fact: Fact
    message: str  # a template over the evidence
    meaning: str
    clears: str  # what makes it go away, in words
    hold: float = 0.0  # seconds that it must be true before it fires
    clear: float = 0.0  # seconds that it must be false before it is resolved
    needs: Needs = "instant"
    if_confirmed: Action | None = None
    confirm_by: tuple[str, ...] = ()
    blames_hardware: bool = False
    program: bool = False  # about a program or a job: no part of the node's health
    latched: bool = False  # does not go away by itself: only with the chip, or by set-healthy
    shadow: bool = False  # evaluated and shown, never counted
    required: bool = False  # HEALTHY needs it decided
    given: Condition | None = None  # where this is not so the rule does not apply
    witness: str | None = None  # the counter that moves if hearsay is true
    again: Again | None = None
    chips: tuple[str, ...] = ()  # device_name values; empty: all
    since: Version | None = None  # driver versions for which the rule is written
    until: Version | None = None
    runbook: str = ""
    steps: tuple[str, ...] = ()  # for the runbook: what else to do
    avoid: tuple[str, ...] = ()  # and not to do
    could_be: tuple[str, ...] = ()  # what else looks like this
    file: str = ""
    line: int = 0


def same(one: Rule, other: Rule) -> bool:
    """Whether two rules say the same, wherever they are written."""
    return one._replace(file="", line=0) == other._replace(file="", line=0)


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The predicates of a condition, from left to right."""
    return (leaf for leaf, _ in scoped(condition, ""))


def every_leaf(rule: Rule) -> Iterator[Leaf]:
    """The predicates of a rule's condition and of what must be given."""
    yield from leaves(rule.when)
    if rule.given is not None:
        yield from leaves(rule.given)


def asserted(of: Condition) -> Iterator[Leaf]:
    """The predicates that speak for a condition; those below `not` or `unless` do not."""
    if isinstance(of, (AllOf, AnyOf)):
        for part in of.parts:
            yield from asserted(part)
    elif isinstance(of, Anywhere):
        yield from asserted(of.part)
    elif not isinstance(of, (Not, Unless)):
        yield of


def scoped(condition: Condition, scope: str) -> Iterator[tuple[Leaf, str]]:
    """The predicates of a condition, each with the scope at which it looks."""
    if isinstance(condition, (AllOf, AnyOf)):
        for part in condition.parts:
            yield from scoped(part, scope)
    elif isinstance(condition, (Not, Unless, Anywhere)):
        yield from scoped(condition.part, "node" if isinstance(condition, Anywhere) else scope)
    else:
        yield condition, scope


def inputs(rule: Rule) -> frozenset[str]:
    """The metrics that a rule reads."""
    found = {metric for leaf in every_leaf(rule) for metric in metrics_of(leaf)}
    return frozenset(found | ({rule.witness} if rule.witness else set()))


def events(rule: Rule) -> frozenset[str]:
    """The names of events that a rule waits for."""
    waits = [leaf for leaf in every_leaf(rule) if isinstance(leaf, Matches)]
    names = {name for leaf in waits for name in (leaf.finding, leaf.ended_by, leaf.excused_by)}
    return frozenset((names | remedies(rule)) - {""})


def remedies(rule: Rule) -> frozenset[str]:
    """The names of events after which what a counter grew by before does not count."""
    grown = [leaf for leaf in every_leaf(rule) if isinstance(leaf, Increased)]
    return frozenset(leaf.ended_by for leaf in grown if leaf.ended_by)


def longest(rule: Rule) -> float:
    """Seconds for which the growth of a counter may speak for the rule; 0 if none does."""
    found = [leaf.within for leaf in asserted(rule.when) if isinstance(leaf, Increased)]
    found += [leaf.window for leaf in asserted(rule.when) if isinstance(leaf, RateAbove)]
    return max(found, default=0.0)


def awaits(rule: Rule) -> bool:
    """Whether a reading must have been missing for a while before the rule is true."""
    return any(isinstance(leaf, AbsentFor) and leaf.lasting for leaf in asserted(rule.when))


def metrics_of(leaf: Leaf) -> tuple[str, ...]:
    """The metrics that a predicate reads, the one that it is about first."""
    return tuple(
        value for name in ("metric", "than") if isinstance(value := getattr(leaf, name, None), str)
    )
