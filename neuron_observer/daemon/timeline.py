"""`/api/v1/events`: what happened and what changed, oldest first, as far as it is held."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from neuron_observer.daemon.earlier import of_earlier_times

if TYPE_CHECKING:
    from neuron_observer.daemon.asked import Asked, Instant
    from neuron_observer.daemon.changes import Change
    from neuron_observer.daemon.standing import Aged, Standing

EVENTS_SCHEMA = "neuron-observer/events/1"
LIMIT = 500  # entries, where nobody asks for another number


def events(standing: Standing, _: Aged, asked: Asked) -> dict[str, Any]:
    """The newest entries that fit; `last_id` is where to go on, with `after` or on the stream.

    `missed`: entries after `after` that are no longer here; null where nobody can tell.
    """
    changes, now = standing.changes, standing.clock.monotonic()
    found = changes.held() if asked["after"] is None else changes.after(asked["after"])
    earlier = [] if asked["after"] else of_earlier_times(standing, found.changes)
    fitting = [one for one in (*earlier, *found.changes) if _fits(one, asked, now)]
    last_id = found.last_id
    limit = asked["limit"] or LIMIT
    more = len(fitting) > limit
    if asked["after"] is None:
        fitting = fitting[-limit:]
    elif more:  # the oldest first, so that nobody who goes on misses one
        fitting = fitting[:limit]
        last_id = fitting[-1].id
    return {
        "schema": EVENTS_SCHEMA,
        "last_id": last_id,
        "missed": found.missed,
        "more": more,
        "events": [json.loads(one.body) for one in fitting],
    }


def _fits(one: Change, asked: Asked, now: float) -> bool:
    return (
        _is_after(one, asked["since"], now)
        and not (asked["until"] is not None and _is_after(one, asked["until"], now))
        and (asked["type"] is None or one.kind in asked["type"])
        and (asked["device"] is None or one.device in asked["device"])
    )


def _is_after(one: Change, instant: Instant | None, now: float) -> bool:
    """Whether it was seen less long ago, or is dated later; all is after what was not asked."""
    if instant is None:
        return True
    if instant.ago is not None:
        return now - one.seen <= instant.ago
    return instant.wall is None or one.at > instant.wall
