"""What the verdict rests on: which signals were decided, which are missing, which cannot be had.

Kept up to date instance by instance, so that a tick costs only what changed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from neuron_observer.model import Coverage, Gap, Missing, Why
from neuron_observer.rules.findings import entity, place_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.rules.instance import Instance
    from neuron_observer.rules.outcome import Outcome
    from neuron_observer.rules.rule import Rule

GRACE = 30.0  # seconds for which a late reading is not yet missing: 3 periods of the slowest lane
MOST = 200  # missing signals that are named
_NOT_LOOKED_AT = Missing(Why.NOT_YET, "not looked at yet")

_WORDS = {
    Why.UNSUPPORTED: "",
    Why.DENIED: "denied: ",
    Why.FAILED: "failed: ",
    Why.STALE: "stale: ",
    Why.NOT_YET: "not yet: ",
}


class Cover:
    """The standing of every instance."""

    def __init__(self, rules: Sequence[Rule], grace: float) -> None:
        self._rules = rules
        self._grace = grace
        self.elsewhere: dict[str, str] = {}  # rule → why it has no instance on this host
        self._placed: Counter[str] = Counter()  # instances by rule
        self._required: Counter[int | None] = Counter()  # by device
        self._open: dict[str, dict[Instance, Missing]] = {}  # by rule: cannot be had
        self._missing: dict[Instance, Missing] = {}  # required, should be there
        self._coverage: Coverage | None = None
        self.decided: dict[int | None, int] = {}  # required signals by device, of that coverage

    def add(self, instance: Instance) -> None:
        """Count an instance in; it is missing until it has been looked at."""
        if not instance.placed:
            return
        self._placed[instance.rule.id] += 1
        if instance.rule.required:
            self._required[instance.place.device] += 1
            self._missing[instance] = _NOT_LOOKED_AT
        self._coverage = None

    def remove(self, instance: Instance) -> None:
        """Count an instance out."""
        if not instance.placed:
            return
        self._placed[instance.rule.id] -= 1
        self._open.get(instance.rule.id, {}).pop(instance, None)
        self._missing.pop(instance, None)
        if instance.rule.required:
            self._required[instance.place.device] -= 1
        self._coverage = None

    def update(self, instance: Instance, now: float) -> float | None:
        """Take an evaluation over; when it must be looked at again for its lateness alone."""
        outcome = instance.outcome
        plainly = outcome.truth is not None and not outcome.holes
        if not instance.placed:
            return None
        if plainly and instance.decided:
            instance.stale_since = None
            return None
        if instance.covered is not None and _same(outcome, instance.covered):
            return None
        known = outcome.truth is not None and not instance.rests_on_hearsay()
        late = not known and not outcome.open and instance.only_stale()
        if not late:
            instance.stale_since = None
        elif instance.stale_since is None:
            instance.stale_since = now
        if late and instance.stale_since is not None:
            until = instance.stale_since + self._grace
            if now < until:
                instance.covered = None
                return until
        self._set(instance, known=known)
        instance.decided, instance.covered = known, outcome
        return None

    def _set(self, instance: Instance, *, known: bool) -> None:
        outcome = instance.outcome
        is_open = not known and (outcome.open or outcome.truth is not None)
        opened = self._open.setdefault(instance.rule.id, {})
        reason = None if known else instance.reason()
        was = (opened.get(instance), self._missing.get(instance))
        opened.pop(instance, None)
        self._missing.pop(instance, None)
        if reason is not None and is_open:
            opened[instance] = reason
        elif reason is not None and instance.rule.required:
            self._missing[instance] = reason
        if was != (opened.get(instance), self._missing.get(instance)):
            self._coverage = None

    def coverage(self, serials: Mapping[int, str]) -> Coverage:
        """Decided, required, missing, not covered; the same object until something changes."""
        if self._coverage is None:
            self.decided = self._count_decided()
            required = sum(self._required.values()) - len(self._open_required())
            missing = sorted(self._missing.items(), key=lambda item: _order(item[0]))
            self._coverage = Coverage(
                required - len(missing),
                required,
                tuple(
                    Gap(one.rule.id, _told(why), entity(one.rule.scope, one.place, serials))
                    for one, why in missing[:MOST]
                ),
                tuple(self._not_covered()),
            )
        return self._coverage

    def _count_decided(self) -> dict[int | None, int]:
        left = self._required.copy()
        left.subtract(one.place.device for one in self._missing)
        left.subtract(self._open_required())
        return dict(left)

    def _open_required(self) -> list[int | None]:
        """The devices of required signals that cannot be had."""
        opened = (one for those in self._open.values() for one in those)
        return [one.place.device for one in opened if one.rule.required]

    def _not_covered(self) -> list[Gap]:
        """Each rule that cannot be decided, once."""
        gaps = []
        for rule in self._rules:
            opened, placed = self._open.get(rule.id, {}), self._placed[rule.id]
            if not placed:
                gaps.append(Gap(rule.id, self.elsewhere.get(rule.id, f"no {rule.scope} here")))
            elif opened:
                why = _told(next(iter(opened.values())))
                part = f" (on {len(opened)} of {placed})" if len(opened) < placed else ""
                gaps.append(Gap(rule.id, why + part))
        return gaps


def _same(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes are the same to the coverage."""
    return one is other or (
        (one.truth, one.open, one.deaf) == (other.truth, other.open, other.deaf)
        and one.holes == other.holes
    )


def _told(reason: Missing) -> str:
    return _WORDS[reason.why] + (reason.detail or reason.why.value)


def _order(instance: Instance) -> tuple[int, int, str, str]:
    return *place_order(instance.place), instance.rule.id
