"""A rule at one place: its condition, the life of its finding, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.catalogue import METRICS
from neuron_observer.model import Confidence, Missing, Place, State, Why
from neuron_observer.rules import rule as r
from neuron_observer.rules.lifecycle import Life, Tempo, due, step
from neuron_observer.rules.outcome import FALSE, Outcome, Sight
from neuron_observer.rules.places import reached
from neuron_observer.rules.predicates import test_of
from neuron_observer.rules.trust import constant, is_level, kind, not_live, trust
from neuron_observer.rules.view import NOT_YET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Finding
    from neuron_observer.rules.memory import Kept, Word
    from neuron_observer.rules.predicates import Shared
    from neuron_observer.rules.rule import Rule
    from neuron_observer.rules.scene import Scene
    from neuron_observer.rules.view import Seen, Spot, View

_NOT_HERE = Missing(Why.UNSUPPORTED, "does not apply here")
_OF_A_FINDING = (
    "life",
    "shown",
    "confirmed",
    "contradicted",
    "escalated",
    "word",
    "told",
    "doubted_until",
    "_hard_at",
    "_witness",
)
STOOD_STILL = 60.0  # seconds after which a counter that did not move contradicts a line


class _Witness(NamedTuple):
    """The counter that moves if a line is true, from when on it is watched, and what it showed."""

    line_at: float
    since: float
    values: tuple[int, ...]


class Instance:
    """A rule at a place."""

    __slots__ = (
        "_given",
        "_hard_at",
        "_one_shot",
        "_test",
        "_witness",
        "confirmed",
        "contradicted",
        "covered",
        "decided",
        "doubted_until",
        "escalated",
        "life",
        "outcome",
        "place",
        "placed",
        "rule",
        "scheduled",
        "shown",
        "stale_since",
        "told",
        "word",
    )

    def __init__(
        self, rule: Rule, place: Place, shared: Shared, *, placed: bool, one_shot: bool
    ) -> None:
        self.rule = rule
        self.place = place
        self.placed = placed  # not made for an event that tells no better place
        self._one_shot = one_shot
        self._test = test_of(rule.when, rule.scope, place, shared)
        self._given = test_of(rule.given, rule.scope, place, shared) if rule.given else None
        self.life: Life | None = None
        self.outcome: Outcome = FALSE
        self.shown: tuple[Sight, ...] = ()  # of the last time that it was true
        self.confirmed = False
        self.contradicted: tuple[Sight, ...] = ()
        self.escalated = False
        self.word: Word | None = None  # by which it was acknowledged
        self.told: Finding | None = None  # by an earlier run; until it is seen anew
        self.doubted_until = 0.0  # false may only mean that nobody watched for long enough
        self.scheduled: float | None = None
        self.stale_since: float | None = None
        self.decided = False  # as the coverage has it
        self.covered: Outcome | None = None  # that the coverage was told
        self._hard_at: float | None = None
        self._witness: _Witness | None = None

    @property
    def tempo(self) -> Tempo:
        """How long it must last; a one-shot waits for nothing, and what is not sure is not kept."""
        rule = self.rule
        hold = 0.0 if self._one_shot else rule.hold
        return Tempo(hold, rule.clear, rule.latched and self.confirmed)

    @property
    def unheld(self) -> bool:
        """Whether it must last, and nobody looks for long enough to tell whether it does."""
        return self._one_shot and self.rule.hold > 0

    def bind(self, view: View) -> list[Spot]:
        """Find what it reads; again whenever files came or went."""
        spots = list(self._test.bind(view))
        spots += self._given.bind(view) if self._given else ()
        return spots

    def unmoved(self, spot: Spot, seen: Seen) -> bool:
        """Whether a new reading of something that it reads is sure to change nothing."""
        if self.life is not None or NOT_YET in self.outcome.holes:  # time alone ends that
            return False
        if not self._test.unmoved(spot, seen):
            return False
        return self._given is None or self._given.unmoved(spot, seen)

    def restore(self, kept: Kept, now: float, wall: float) -> None:
        """Go on with a finding of an earlier run; time that must pass begins anew.

        What the growth of a counter showed then still counts until its window ends.
        """
        self.life = kept.life._replace(since=now)
        self.confirmed, self.escalated = kept.confirmed, kept.escalated
        self.word, self.told = kept.word, kept.told
        left = 0.0 if kept.until is None else kept.until - wall
        self.doubted_until = now + max(min(left, r.longest(self.rule)), 0.0)

    def acknowledge(self, word: Word) -> None:
        """Somebody knows of its finding."""
        if self.life is not None:
            self.word = word
            standing = self.life.state in (State.FIRING, State.ACKNOWLEDGED)
            state = State.ACKNOWLEDGED if standing else self.life.state
            self.life = self.life._replace(state=state, acknowledged=True)

    def renew(self, view: View, shared: Shared) -> None:
        """Begin anew, also with what the condition has seen."""
        self.forget()
        self._test = test_of(self.rule.when, self.rule.scope, self.place, shared)
        self._test.bind(view)

    def heir(self, other: Instance) -> Instance:
        """Who goes on in the place of another rule's instance: itself where nothing differs."""
        if r.same(self.rule, other.rule) and self.placed == other.placed:
            self.rule = other.rule  # the lines may have moved
            self.scheduled = self.stale_since = self.covered = None
            self.decided = False
            return self
        for name in _OF_A_FINDING:
            setattr(other, name, getattr(self, name))
        return other

    def evaluate(self, scene: Scene, wall: float) -> State | None:
        """Look anew; the state of the finding before."""
        before = self.life.state if self.life else None
        self.stood_until(scene.wall_before)
        if before is State.RESOLVED:
            self.forget()
        if self.outcome.truth is None and self.life is not None:  # unknown lets nothing run out
            self.life = self.life._replace(since=scene.now)
        outcome = self.outcome = self._look(scene)
        if self.life is None and not outcome.truth:  # as nearly always
            if outcome.truth is False:
                self._hard_at, self._witness = None, None
            return before
        truth = None if self._doubts(outcome, scene) else outcome.truth
        self.life = step(self.life, truth, scene.now, wall, self.tempo)
        if outcome.truth:
            self.shown, self.told = outcome.sights, None
            self._weigh(scene, outcome)
        elif outcome.truth is False:
            self._hard_at, self._witness = None, None
        return before

    def stood_until(self, wall: float) -> None:
        """What was true when it was looked at last was there up to now, though nobody asked."""
        if self.outcome.truth and self.life and self.life.state is not State.RESOLVED:
            self.life = self.life._replace(last_seen=wall)

    def _doubts(self, outcome: Outcome, scene: Scene) -> bool:
        """Whether false may only mean that this run has not watched for long enough."""
        if outcome.truth is not False or self.told is None or self._remedied(scene):
            return False
        lasts = outcome.again is not None and r.awaits(self.rule)
        return lasts or scene.now < self.doubted_until

    def _remedied(self, scene: Scene) -> bool:
        """Whether what an earlier run saw grow was remedied since it was seen last."""
        seen = self.told.last_seen if self.told else None
        since = scene.now - (scene.wall - seen) if seen is not None else scene.now
        of, scope = scene.occurrences.of, self.rule.scope
        return any(of(name, self.place, scope, since) for name in r.remedies(self.rule))

    def _look(self, scene: Scene) -> Outcome:
        outcome = self._test.evaluate(scene)
        if self._given is None:
            return outcome
        given = self._given.evaluate(scene)
        if given.truth:
            return outcome
        holes = given.holes or (_NOT_HERE,)
        times = [at for at in (outcome.again, given.again) if at is not None]
        return Outcome(None, holes=holes, open=True, again=min(times, default=None))

    def forget(self) -> None:
        """Begin anew."""
        self.life, self.shown, self.contradicted = None, (), ()
        self.confirmed = self.escalated = False
        self.word = self.told = None
        self.doubted_until = 0.0
        self._hard_at, self._witness = None, None

    def _weigh(self, scene: Scene, outcome: Outcome) -> None:
        """Hardware on two reads is confirmed; a line may be contradicted by its counter."""
        if outcome.hard:
            if self._hard_at is None:
                self._hard_at = outcome.read_at
            self.confirmed |= outcome.read_at > self._hard_at
            self.contradicted = ()
        elif self.rule.witness and not self.confirmed:
            self._hear(scene, self.rule.witness, outcome.read_at)

    def _hear(self, scene: Scene, metric: str, line_at: float) -> None:
        driver = scene.view.snapshot.driver.version if scene.view.snapshot else None
        live = not not_live(metric, driver) and not constant(metric, scene.chip(self.place))
        places = _under(metric, self.place, scene.view)
        seen = [scene.view.see(metric, at) for at in places]
        values = tuple(one.cell for one in seen if isinstance(one.cell, int))
        stands = live and bool(values) and len(values) == len(seen)
        if stands and is_level(metric):
            stands = all(
                value <= scene.baseline(metric, at)
                for value, at in zip(values, places, strict=True)
            )
        if not stands:
            self._witness, self.contradicted = None, ()
            return
        known = self._witness
        if known is None or known.line_at != line_at or known.values != values:
            self._witness, self.contradicted = _Witness(line_at, scene.now, values), ()
            return
        read_at = min(one.read_at for one in seen)
        if read_at - known.since >= STOOD_STILL and not self.contradicted:
            self.contradicted = tuple(
                Sight(kind(metric), trust(metric), metric, one.source, at, value, value, read_at)
                for one, at, value in zip(seen, places, values, strict=True)
            )

    def next_look(self, now: float) -> float | None:
        """When it must be looked at again although nothing that it reads has changed."""
        if self.life is None and self.outcome.truth is False:
            return self.outcome.again
        times = [self.outcome.again, due(self.life, self.tempo)]
        if self.life and self.life.state is State.RESOLVED:
            times.append(now)  # told once
        if now < self.doubted_until:
            times.append(self.doubted_until)
        if self.outcome.truth:
            if self.outcome.hard and not self.confirmed:
                times.append(now)  # until the second read
            elif self._witness and not self.contradicted:
                times.append(max(self._witness.since + STOOD_STILL, now))
        return min((at for at in times if at is not None), default=None)

    def confidence(self, *, capped: bool) -> Confidence:
        """How sure the finding is; on an untested driver never more than probable."""
        if self.contradicted and not self.confirmed:
            return Confidence.CONTRADICTED
        capped = (capped and self.rule.blames_hardware) or self.unheld
        return Confidence.CONFIRMED if self.confirmed and not capped else Confidence.PROBABLE

    def rests_on_hearsay(self) -> bool:
        """Whether it is only false because no line came: what else tells it cannot be had here."""
        return self.outcome.deaf and bool(self.outcome.holes)

    def only_stale(self) -> bool:
        """Whether it is unknown only because readings are late."""
        holes = self.outcome.holes
        return bool(holes) and all(hole.why is Why.STALE for hole in holes)

    def reason(self) -> Missing:
        """Why it is unknown: what should be there first."""
        later = (Why.UNSUPPORTED, Why.NOT_YET)
        ranked = sorted(self.outcome.holes, key=lambda one: one.why in later)
        return ranked[0] if ranked else Missing(Why.UNSUPPORTED, "not known of this place")


def _under(metric: str, place: Place, view: View) -> Sequence[Place]:
    """Where a counter stands that belongs to a place."""
    scope = METRICS[metric].scope
    if scope == "core" and place.core is None and place.device is not None:
        return [at for at in view.places(metric) if at.device == place.device]
    return reached(scope, place)
