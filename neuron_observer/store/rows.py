"""Findings, events and places as text and columns, and back. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from neuron_observer.model import (
    Action,
    Confidence,
    Entity,
    Event,
    Evidence,
    Finding,
    Place,
    Severity,
    State,
)
from neuron_observer.rules.lifecycle import Life
from neuron_observer.rules.memory import Kept, Mark, Word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_TEXT = 2000  # characters of a message of an event that are kept
NOWHERE = -1  # in place of a number that there is none of: NULL is no part of a key


def finding_text(of: Finding) -> str:
    """A finding as JSON."""
    fields = of._asdict()
    fields["entity"] = of.entity._asdict()
    fields["evidence"] = [{**one._asdict(), "fields": dict(one.fields)} for one in of.evidence]
    return json.dumps(fields, separators=(",", ":"))


def finding_of(text: str) -> Finding:
    """A finding from JSON; a field of a later version is left out."""
    given = _known(json.loads(text), Finding._fields)
    given["entity"] = Entity(**_known(given["entity"], Entity._fields))
    given["evidence"] = tuple(
        Evidence(**_known(one, Evidence._fields)) for one in given["evidence"]
    )
    given["severity"] = Severity(given["severity"])
    given["confidence"] = Confidence(given["confidence"])
    given["action"] = Action(given["action"])
    given["state"] = State(given["state"])
    if given.get("if_confirmed"):
        given["if_confirmed"] = Action(given["if_confirmed"])
    given["confirm_by"] = tuple(given["confirm_by"])
    return Finding(**given)


def _known(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in names}


def word_text(word: Word | None) -> str | None:
    """What a person said, as JSON."""
    return None if word is None else json.dumps(word)


def word_of(text: str | None) -> Word | None:
    """The same from JSON."""
    return None if text is None else Word(*json.loads(text))


def place_columns(place: Place) -> tuple[int, str]:
    """Core and label of a place; its device is told by a key."""
    return NOWHERE if place.core is None else place.core, place.label


def place_of(core: int, label: str, device: int | None = None) -> Place:
    """A place from its columns."""
    return Place(device, None if core == NOWHERE else core, label)


def mark_columns(mark: Mark) -> tuple[str, str, int, str]:
    """A mark as columns: rule, key, core, label."""
    return mark.rule, mark.key, *place_columns(mark.place)


def mark_of(finding: Finding, keys: Mapping[int, str]) -> Mark:
    """Under which mark a finding stands; `keys` of the chips by index."""
    who = finding.entity
    key = who.serial or (keys.get(who.device, "") if who.device is not None else "")
    return Mark(finding.id, key, Place(None, who.core, who.port or who.job or ""))


def kept_columns(kept: Kept) -> tuple[object, ...]:
    """What is kept of a finding that stands."""
    life = kept.life
    return (
        life.state.value,
        life.last_seen,
        life.acknowledged,
        kept.confirmed,
        kept.escalated,
        kept.until,
        word_text(kept.word),
        None if kept.told is None else finding_text(kept.told),
    )


def kept_of(first_seen: float, columns: Sequence[Any]) -> Kept:
    """The same from columns."""
    state, last_seen, acknowledged, confirmed, escalated, until, word, told = columns
    life = Life(State(state), None, first_seen, last_seen, bool(acknowledged))
    return Kept(
        life,
        bool(confirmed),
        bool(escalated),
        until,
        word_of(word),
        None if told is None else finding_of(told),
    )


def shows(kept: Kept) -> tuple[object, ...]:
    """What of a standing finding must be written at once; the rest may wait a while."""
    told, life = kept.told, kept.life
    seen = () if told is None else (told.state, told.severity, told.confidence, told.note)
    return (
        *(life.state, life.first_seen, life.acknowledged),
        *(kept.confirmed, kept.escalated, kept.word, seen),
    )


def event_columns(event: Event, keys: Mapping[int, str]) -> tuple[object, ...]:
    """An event as columns: at, kind, key, device, core, label, message, fields."""
    place = event.place
    key = keys.get(place.device, "") if place.device is not None else ""
    device = NOWHERE if place.device is None else place.device
    fields = json.dumps(dict(event.fields), separators=(",", ":")) if event.fields else ""
    message = event.message[:MOST_TEXT]
    return event.at, event.kind, key, device, *place_columns(place), message, fields


def event_of(columns: Sequence[Any]) -> Event:
    """An event from columns."""
    at, kind, _key, device, core, label, message, fields = columns
    place = place_of(core, label, None if device == NOWHERE else device)
    return Event(kind, place, at, message, json.loads(fields) if fields else {})
