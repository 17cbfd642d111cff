"""The life of a finding: pending → firing → recovering → resolved. Pure.

A condition that is true for `hold` seconds fires; false for `clear` seconds it is resolved. True
again meanwhile is the same finding (flapping is no new alarm). Unknown changes nothing and lets
nothing run out: what cannot be read is neither there nor gone.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from neuron_observer.model import State

Truth: TypeAlias = "bool | None"


class Life(NamedTuple):
    """Where a finding stands."""

    state: State
    # monotonic, of the condition's present run: true while pending, false after; None: unknown now
    since: float | None
    first_seen: float  # wall clock
    last_seen: float  # wall clock
    acknowledged: bool = False  # somebody knows; it holds for as long as the finding lives


class Tempo(NamedTuple):
    """How long a condition must last."""

    hold: float = 0.0
    clear: float = 0.0
    latched: bool = False  # false is no end of it


def step(life: Life | None, truth: Truth, now: float, wall: float, tempo: Tempo) -> Life | None:
    """The life after one evaluation at `now` (monotonic) and `wall`; None: there is no finding."""
    if life is None or life.state is State.RESOLVED:
        return _begun(now, wall, tempo) if truth else None
    if truth is None:
        waits = life.state in (State.PENDING, State.RECOVERING)
        return life._replace(since=None) if waits else life
    return _true(life, now, wall, tempo) if truth else _false(life, now, tempo)


def _begun(now: float, wall: float, tempo: Tempo) -> Life:
    state = State.PENDING if tempo.hold > 0 else State.FIRING
    return Life(state, now, wall, wall)


def _true(life: Life, now: float, wall: float, tempo: Tempo) -> Life:
    since = now if life.since is None else life.since
    if life.state is State.PENDING and now - since < tempo.hold:
        return life._replace(since=since, last_seen=wall)
    known = life.acknowledged or life.state is State.ACKNOWLEDGED
    return life._replace(state=State.ACKNOWLEDGED if known else State.FIRING, last_seen=wall)


def _false(life: Life, now: float, tempo: Tempo) -> Life | None:
    if life.state is State.PENDING:
        return None
    if tempo.latched:
        return life
    before = life.since if life.state is State.RECOVERING else None
    since = now if before is None else before
    if now - since >= tempo.clear:
        return life._replace(state=State.RESOLVED, since=since)
    return life._replace(state=State.RECOVERING, since=since)


def due(life: Life | None, tempo: Tempo) -> float | None:
    """When (monotonic) the state changes if the condition stays as it is."""
    if life is None or life.since is None:
        return None
    if life.state is State.PENDING:
        return life.since + tempo.hold
    return life.since + tempo.clear if life.state is State.RECOVERING else None
