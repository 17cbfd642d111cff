"""Does a timeline notice if a threshold of a rule is off by a factor of two?

    python -m benchmarks.rule_mutations [RULE …] [--every N]

Every number of every rule (thresholds, counts, times, shares) is doubled and halved, one at a time,
and the timelines of that rule's fault are played until one fails. What none of them notices
survives, and is printed: either the timelines are too coarse, or the number does not matter.
"""

from __future__ import annotations

import argparse
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.checks.play import play
from neuron_observer.checks.timeline import read_timelines
from neuron_observer.rules import consistency
from neuron_observer.rules import rule as r
from neuron_observer.rules.loader import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from neuron_observer.checks.timeline import Timeline
    from neuron_observer.rules.rule import Condition, Rule

ROOT = Path(__file__).parent.parent
TIMELINES = ROOT / "tests" / "rules" / "timelines"
HOSTS = (ROOT / "tests" / "trees",)
_NUMBERS = (
    *("than", "times", "clear_at", "by", "within", "steps", "apart", "window", "lasting"),
    *("at_least", "rises", "least", "least_share"),
)


# Numbers that cannot matter by a factor of two, and why.
EQUAL = {
    "driver-reloaded: when[0].at_least": "a reload is seen as two changes at least",
    "driver-not-loaded: when[1][1].within": "the line is evidence beside what is true without it",
    "driver-not-loaded: when[1][1].at_least": "the same",
}


class Mutant(NamedTuple):
    """A rule with one number changed."""

    rule: Rule
    where: str  # path of the number in the rule
    before: float
    after: float

    def __str__(self) -> str:
        """In a line."""
        return f"{self.rule.id}: {self.where} {self.before:g} → {self.after:g}"


def mutants(rule: Rule) -> Iterator[Mutant]:
    """The rule with each number doubled, and halved where that is another number above 0."""
    for where, before, after, changed in _conditions(rule.when, "when"):
        mutant = rule._replace(when=changed)
        refused = any(consistency.problems(mutant, rule.needs))  # by the loader
        if not refused and f"{rule.id}: {where}" not in EQUAL:
            yield Mutant(mutant, where, before, after)
    for name in ("hold", "clear"):
        value = getattr(rule, name)
        for after in _others(value):
            yield Mutant(rule._replace(**{name: after}), name, value, after)


def _others(value: float) -> Iterator[Any]:
    """Twice and half as much; whole numbers stay whole."""
    if not value or isinstance(value, bool):
        return
    yield value * 2
    half = value // 2 if isinstance(value, int) else value / 2
    if half:
        yield half


def _conditions(of: Condition, where: str) -> Iterator[tuple[str, float, Any, Condition]]:
    if isinstance(of, (r.AllOf, r.AnyOf)):
        for number, part in enumerate(of.parts):
            for path, before, after, changed in _conditions(part, f"{where}[{number}]"):
                parts = (*of.parts[:number], changed, *of.parts[number + 1 :])
                yield path, before, after, type(of)(parts)
    elif isinstance(of, (r.Not, r.Unless, r.Anywhere)):
        denied = isinstance(of, (r.Not, r.Unless))
        for path, before, after, changed in _conditions(of.part, where):
            if not (denied and before == 1):  # one of it is enough
                yield path, before, after, type(of)(changed)
    else:
        for name in _NUMBERS:
            value = getattr(of, name, None)
            if isinstance(value, (int, float)) and not _is_idle(of, name):
                for after in _others(value):
                    yield f"{where}.{name}", value, after, _with(of, name, after)


def _is_idle(of: r.Leaf, name: str) -> bool:
    """Whether a number is what it is without being written, and says nothing there."""
    default = of._field_defaults.get(name)
    return name not in ("by", "at_least", "within") and getattr(of, name) == default


def _with(of: Any, name: str, value: float) -> Any:
    """A number changed; where it is about to pass the one that clears, that goes with it."""
    changed = of._replace(**{name: value})
    clear_at = getattr(of, "clear_at", None)
    if clear_at is None or name not in ("than", "times", "by"):
        return changed
    at = max(clear_at, value) if isinstance(of, r.Below) else min(clear_at, value)
    return changed._replace(clear_at=at)


@cache
def timelines(fault: str) -> tuple[Timeline, ...]:
    """The timelines of a fault, the short ones first."""
    return tuple(sorted(_by_fault()[fault], key=lambda one: one.seconds))


@cache
def _by_fault() -> dict[str, list[Timeline]]:
    found: dict[str, list[Timeline]] = {}
    for file in sorted(TIMELINES.glob("*.yaml")):
        for one in read_timelines(file, HOSTS):
            found.setdefault(one.fault, []).append(one)
    return found


def killed_by(mutant: Mutant) -> str:
    """The name of the first timeline that notices; empty if none does."""
    for one in timelines(mutant.rule.id):
        if play(one, [mutant.rule]).problems:
            return one.name
    return ""


def survivors(these: Iterable[Mutant]) -> Iterator[Mutant]:
    """Those that no timeline notices."""
    return (mutant for mutant in these if not killed_by(mutant))


def _main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rules", nargs="*", help="only these")
    parser.add_argument("--every", type=int, default=1, help="one mutant in so many")
    options = parser.parse_args()
    rules = [rule for rule in load() if not options.rules or rule.id in options.rules]
    these = [mutant for rule in rules for mutant in mutants(rule)][:: options.every]
    alive = 0
    for mutant in survivors(these):
        alive += 1
        print(mutant, flush=True)
    print(f"{len(these) - alive} of {len(these)} were noticed", file=sys.stderr)
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(_main())
