"""What the evaluation of a condition says: true, false or unknown, and on what it rests."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import NODE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from neuron_observer.model import EvidenceKind, Missing, Place, Scalar, Trust

NO_EXTRA: Mapping[str, Scalar] = MappingProxyType({})


class Sight(NamedTuple):
    """One observation that makes a condition true."""

    kind: EvidenceKind
    trust: Trust
    metric: str  # empty for a line of a log
    source: str
    place: Place = NODE
    value: Scalar | None = None
    previous: Scalar | None = None
    read_at: float = 0.0  # monotonic
    extra: Mapping[str, Scalar] = NO_EXTRA


class Outcome(NamedTuple):
    """Three-valued: `truth` None is unknown, and `holes` tell why: what readings are missing for.

    Of what is false they tell what was left out because it cannot be had; `deaf`: then only a line
    of a log could have made it true.

    `open`: what is missing will never come (chip, driver, privilege), so the condition is not
    covered. `hard`: hardware alone makes it true; `read_at` is the read that shows it. `again` is
    the instant at which it may change without a new reading.
    """

    truth: bool | None
    sights: tuple[Sight, ...] = ()
    holes: tuple[Missing, ...] = ()
    open: bool = False
    hard: bool = False
    read_at: float = 0.0
    again: float | None = None
    deaf: bool = False


FALSE = Outcome(truth=False)


def false(again: float | None) -> Outcome:
    """False until `again`."""
    return FALSE if again is None else Outcome(truth=False, again=again)


@lru_cache(maxsize=256)
def unknown(reason: Missing, *, open: bool) -> Outcome:  # noqa: A002 - the field's name
    """Unknown for a reason; one object for all places, for there may be thousands."""
    return Outcome(None, holes=(reason,), open=open)


def every(parts: Iterable[Outcome]) -> Outcome:
    """Kleene's and: false if one is, else unknown if one is."""
    found = tuple(parts)
    again = _earliest(found)
    for part in found:  # as nearly always, so without a generator
        if part.truth is False:
            return false(again)
    left = [part for part in found if part.truth is None]
    if left:
        return Outcome(
            None,
            holes=tuple(hole for part in left for hole in part.holes),
            open=any(part.open for part in left),
            again=again,
        )
    seen = [part for part in found if part.sights]
    return Outcome(
        truth=True,
        sights=tuple(sight for part in seen for sight in part.sights),
        hard=bool(seen) and all(part.hard for part in seen),
        read_at=min((part.read_at for part in seen), default=0.0),
        again=again,
    )


def some(parts: Iterable[Outcome]) -> Outcome:
    """Kleene's or over what can be had: true if one is, false if all are."""
    found = tuple(parts)
    if found and all(map(FALSE.__eq__, found)):  # as nearly always
        return FALSE
    again = _earliest(found)
    true = [part for part in found if part.truth]
    if true:
        hard = [part for part in true if part.hard]
        return Outcome(
            truth=True,
            sights=tuple(sight for part in sorted(true, key=_by_trust) for sight in part.sights),
            hard=bool(hard),
            read_at=max((part.read_at for part in hard or true), default=0.0),
            again=again,
        )
    covered = [part for part in found if not (part.truth is None and part.open)]
    left = [part for part in covered or found if part.truth is None]
    if not left:
        left_out = tuple(hole for part in found for hole in part.holes)
        deaf = all(part.deaf for part in covered)
        return Outcome(truth=False, holes=left_out, again=again, deaf=deaf)
    holes = tuple(hole for part in left for hole in part.holes)
    return Outcome(None, holes=holes, open=not covered, again=again)


def opposite(part: Outcome) -> Outcome:
    """Kleene's not; it shows nothing, so it is evidence of nothing."""
    if part.truth is None:
        return part
    return Outcome(truth=not part.truth, again=part.again)


def unless(part: Outcome) -> Outcome:
    """As `opposite`, but what cannot be known here at all does not stand in the way."""
    if part.truth is None and part.open:
        return Outcome(truth=True, again=part.again)
    return opposite(part)


def _by_trust(part: Outcome) -> bool:
    return not part.hard


def _earliest(parts: Iterable[Outcome]) -> float | None:
    earliest: float | None = None
    for part in parts:
        if part.again is not None and (earliest is None or part.again < earliest):
            earliest = part.again
    return earliest
