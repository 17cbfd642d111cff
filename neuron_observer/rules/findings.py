"""Instances into findings: entity, evidence and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.model import (
    Action,
    Confidence,
    Entity,
    Evidence,
    Finding,
    Severity,
    State,
)
from neuron_observer.text import DASH, cell_text, seconds_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from neuron_observer.model import EntityKind, Place, Scalar
    from neuron_observer.rules.instance import Instance
    from neuron_observer.rules.memory import Word
    from neuron_observer.rules.outcome import Sight
    from neuron_observer.rules.scene import Scene

MOST = 8  # observations of a finding that are handed on; a count tells of the rest
BEFORE_WATCHED = "before-we-watched"
LEFT = "the device left: another chip is in its place"
SETTLED = "settled: the device was declared healthy"

_KINDS: Mapping[str, EntityKind] = {
    "device": "device",
    "core": "core",
    "port": "port",
    "efa": "port",
    "pci": "link",
}


def finding(
    instance: Instance, scene: Scene, serials: Mapping[int, str], *, capped: bool
) -> Finding:
    """The finding of an instance that has one."""
    rule, life = instance.rule, instance.life
    again = rule.again if instance.escalated else None
    confidence = instance.confidence(capped=capped)
    message = _message(instance, scene, serials)
    sights = tuple(_evidence((*instance.shown, *instance.contradicted), scene))
    if instance.told and not instance.shown:  # by an earlier run, and not seen since
        message, sights = instance.told.message, instance.told.evidence
    elif instance.escalated:
        message += "; the same fault as before its repair"
    message += _still_to_last(instance)
    if confidence is Confidence.CONTRADICTED:
        message += f"; contradicted: {instance.contradicted[0].metric} stood still"
    return Finding(
        id=rule.id,
        entity=entity(rule.scope, instance.place, serials),
        severity=(again.severity if again else None) or rule.severity,
        confidence=confidence,
        action=again.action if again else rule.action,
        message=message,
        state=life.state if life else State.RESOLVED,
        if_confirmed=again.action if again and rule.if_confirmed else rule.if_confirmed,
        confirm_by=rule.confirm_by,
        blames_hardware=rule.blames_hardware,
        evidence=sights,
        first_seen=life.first_seen if life else None,
        last_seen=life.last_seen if life else None,
        runbook=rule.runbook,
        shadow=rule.shadow,
        program=rule.program,
        note=noted("acknowledged", instance.word),
    )


def _still_to_last(instance: Instance) -> str:
    """What keeps a message from claiming what only time can show."""
    lasts = seconds_text(instance.rule.hold)
    if instance.unheld:
        return f"; a fault only if it lasts {lasts}, which one look cannot tell"
    pending = instance.life is not None and instance.life.state is State.PENDING
    return f"; it counts once it has lasted {lasts}" if pending else ""


def entity(scope: str, place: Place, serials: Mapping[int, str]) -> Entity:
    """Who a place is; what tells no device is about the node."""
    kind: EntityKind = _KINDS.get(scope, "node")
    if kind == "core" and place.core is None:
        kind = "device"
    if kind in ("device", "core") and place.device is None:
        kind = "node"
    serial = serials.get(place.device) if place.device is not None else None
    port = (place.label or None) if kind in ("port", "link") else None
    if kind in ("port", "link") and port is None:
        kind = "node"
    return Entity(kind, device=place.device, core=place.core, serial=serial, port=port)


def _evidence(sights: Iterable[Sight], scene: Scene) -> Iterable[Evidence]:
    for number, sight in enumerate(sights):
        if number == MOST:
            return
        fields = {name: value for name, value in sight.extra.items() if name != "line"}
        yield Evidence(
            sight.kind,
            sight.trust,
            sight.source,
            sight.value,
            sight.previous,
            scene.view.wall_of(sight.read_at),
            fields=fields,
        )


def _message(instance: Instance, scene: Scene, serials: Mapping[int, str]) -> str:
    first = instance.shown[0] if instance.shown else None
    extra: Mapping[str, Scalar] = first.extra if first else {}
    metric = first.metric if first else ""
    unit = METRICS[metric].unit if metric else ""
    snapshot = scene.view.snapshot
    index = instance.place.device
    value = extra.get("rate", first.value if first else None)
    raw: dict[str, Scalar | None] = {
        "device": index,
        "core": instance.place.core,
        "port": instance.place.label or None,
        "serial": serials.get(index) if index is not None else None,
        "metric": metric or None,
        "source": first.source if first else None,
        "previous": first.previous if first else None,
        "line": extra.get("line"),
        "count": extra.get("count"),
        "driver": snapshot.driver.version if snapshot else None,
        "chip": scene.chip(instance.place),
        "instance_type": snapshot.instance_type if snapshot else None,
    }
    shown = {name: DASH if found is None else str(found) for name, found in raw.items()}
    for name, number in (
        ("value", value),
        ("than", extra.get("than")),
        ("baseline", extra.get("baseline")),
    ):
        shown[name] = _figure(number, unit)
    seconds = extra.get("seconds")
    shown["seconds"] = DASH if isinstance(seconds, str | None) else seconds_text(abs(seconds))
    return instance.rule.message.format_map(shown)


def _figure(value: Scalar | None, unit: str) -> str:
    """A value in words; of a count the message itself says what is counted."""
    if value is None:
        return DASH
    return cell_text(value, unit if unit in ("bytes", "ratio", "percent", "seconds") else "")


def before_watched(sights: Iterable[Sight], scene: Scene, since: float) -> Finding | None:
    """One information on the counters that were not 0 when watching began."""
    found = sorted(sights, key=lambda sight: (sight.metric, *place_order(sight.place)))
    if not found:
        return None
    names = ", ".join(dict.fromkeys(sight.metric for sight in found))
    return Finding(
        BEFORE_WATCHED,
        Entity("node"),
        Severity.INFO,
        Confidence.CONFIRMED,
        Action.NONE,
        f"{len(found)} counters were not 0 when watching began, since when is not known: {names}",
        evidence=tuple(_evidence(found, scene)),
        first_seen=since,
        last_seen=since,
        runbook=f"docs/runbooks/{BEFORE_WATCHED}.md",
    )


def noted(what: str, word: Word | None) -> str:
    """What a person said of a finding."""
    return f"{what} by {word.who}: {word.reason}" if word else ""


def left(finding: Finding) -> Finding:
    """The end of a finding of a chip that is no longer here."""
    return ended(finding, LEFT)


def ended(finding: Finding, why: str) -> Finding:
    """The end of a finding that did not end by itself."""
    message = f"{finding.message}; {why}"
    return finding._replace(state=State.RESOLVED, message=message)


def place_order(place: Place) -> tuple[int, int, str]:
    """The node first, then by device, core and label."""
    device = -1 if place.device is None else place.device
    return device, -1 if place.core is None else place.core, place.label
