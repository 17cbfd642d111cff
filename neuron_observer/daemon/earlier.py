"""What is kept of times before the log of this run begins, in the form of its entries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from neuron_observer import contract
from neuron_observer.daemon.changes import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.daemon.standing import Standing
    from neuron_observer.store.queries import Past

MOST = 2000  # entries
_EVENTS, _TURNS = "00000000", "ffffffff"  # in place of a run: nobody can go on from these ids


def of_earlier_times(standing: Standing, held: Sequence[Change]) -> list[Change]:
    """Entries from before the oldest one that is held, oldest first."""
    if standing.past is None:
        return []
    until = min((one.at for one in held), default=standing.clock.wall())
    offset = standing.clock.wall() - standing.clock.monotonic()
    found = [*_events(standing.past, until, offset), *_turns(standing.past, until, offset)]
    return sorted(found, key=lambda one: one.at)[-MOST:]


def _events(past: Past, until: float, offset: float) -> list[Change]:
    return [
        _entry(
            f"{_EVENTS}-{number}",
            ("event", event.at, event.place.device),
            contract.event(event),
            offset,
        )
        for number, event in past.events(until=until, most=MOST)
        if event.at < until
    ]


def _turns(past: Past, until: float, offset: float) -> list[Change]:
    return [
        _entry(
            f"{_TURNS}-{round(turn.at * 1000)}",
            ("finding", turn.at, turn.finding.entity.device),
            {
                "at": contract.instant(turn.at),
                "change": turn.change,
                "finding": contract.finding(turn.finding),
            },
            offset,
        )
        for turn in past.turns(until=until, most=MOST)
        if turn.at < until
    ]


def _entry(
    id_: str, what: tuple[Any, float, int | None], document: dict[str, Any], offset: float
) -> Change:
    kind, at, device = what
    body = json.dumps({"id": id_, "type": kind, **document}).encode()
    return Change(id_, 0, kind, at - offset, at, device, body)
