"""From a snapshot document back to the frame that it was made from.

What was read when is told by ages, so no wall clock matters: the frame stands on this machine's
monotonic clock.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from neuron_observer.client.batches import Batches
from neuron_observer.client.workload import job, scan
from neuron_observer.errors import DaemonError
from neuron_observer.model import (
    Action,
    Confidence,
    Core,
    Coverage,
    Device,
    DeviceHealth,
    Driver,
    Entity,
    Event,
    Evidence,
    Finding,
    Frame,
    Gap,
    Health,
    PartHealth,
    Place,
    Run,
    Severity,
    Snapshot,
    State,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.model import Batch

    Document = Mapping[str, Any]

_EVIDENCE = ("kind", "trust", "source", "value", "previous", "at", "line")


def frame(document: Document, monotonic: float, batches: Batches | None = None) -> Frame:
    """The frame, made at a time of this machine's clock; `DaemonError` if it is none.

    `batches` remembers how readings belong together from one document to the next.
    """
    with understood():
        devices = tuple(_device(one) for one in document["devices"])
        found = (batches or Batches()).of(document, monotonic)
        return assembled(document, document["node"], monotonic, devices, found)


@contextmanager
def understood() -> Iterator[None]:
    """`DaemonError` where a document is not as it should be."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        why = f"{type(error).__name__}: {error}"
        raise DaemonError(f"the answer of the daemon cannot be understood: {why}") from error


def assembled(
    document: Document,
    node: Document,
    monotonic: float,
    devices: tuple[Device, ...],
    batches: tuple[Batch, ...],
) -> Frame:
    """A frame of devices and batches at hand; `node` tells instance type and driver."""
    snapshot = Snapshot(
        at=instant(document["at"]) or 0.0,
        monotonic=monotonic,
        host_root=document["host_root"],
        instance_type=node["instance_type"],
        driver=Driver(node["driver"]["version"], node["driver"]["state"]),
        devices=devices,
        batches=batches,
        events=tuple(event(one) for one in document["events"]),
        runs=tuple(
            Run(one["collector"], one["ok"], one["seconds"], one["error"])
            for one in document["runs"]
        ),
        jobs=tuple(job(one, instant) for one in document["jobs"]),
        job_scan=scan(document["job_scan"]),
    )
    findings = tuple(finding(one) for one in document["findings"])
    return Frame(snapshot, findings, health(document["health"]))


def instant(text: str | None) -> float | None:
    """Seconds since the epoch of an RFC 3339 time in UTC with milliseconds."""
    if text is None:
        return None
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if moment.tzinfo is None:
        raise ValueError("a time without its zone")
    return moment.timestamp()


def _device(of: Document) -> Device:
    return Device(
        index=of["index"],
        name=of["name"],
        arch=_word(of, "device.arch"),
        serial=of["serial"],
        key=of["key"],
        pci=of["pci"],
        neighbours=None if of["neighbours"] is None else tuple(of["neighbours"]),
        cores=tuple(
            Core(of["index"], core["index"], _word(core, "core.arch")) for core in of["cores"]
        ),
    )


def _word(of: Document, metric: str) -> str | None:
    value = of["readings"].get(metric, {}).get("value")
    return value if isinstance(value, str) else None


def event(of: Document) -> Event:
    """EVENT."""
    place = Place(of["device"], of["core"], of["label"])
    return Event(of["kind"], place, instant(of["at"]) or 0.0, of["message"], dict(of["fields"]))


def entity(of: Document) -> Entity:
    """ENTITY."""
    return Entity(**{name: of[name] for name in Entity._fields})


def _evidence(of: Document) -> Evidence:
    fields = {name: value for name, value in of.items() if name not in _EVIDENCE}
    common = {name: of[name] for name in _EVIDENCE}
    return Evidence(**(common | {"at": instant(of["at"]), "fields": fields}))


def finding(of: Document) -> Finding:
    """FINDING."""
    return Finding(
        id=of["id"],
        entity=entity(of["entity"]),
        severity=Severity(of["severity"]),
        confidence=Confidence(of["confidence"]),
        action=Action(of["action"]),
        message=of["message"],
        state=State(of["state"]),
        if_confirmed=Action(of["if_confirmed"]) if of["if_confirmed"] else None,
        confirm_by=tuple(of["confirm_by"]),
        blames_hardware=of["blames_hardware"],
        evidence=tuple(_evidence(one) for one in of["evidence"]),
        first_seen=instant(of["first_seen"]),
        last_seen=instant(of["last_seen"]),
        runbook=of["runbook"],
        shadow=of["shadow"],
        program=of["program"],
        impact=of["impact"] or "",
        note=of.get("note") or "",
    )


def health(of: Document) -> Health:
    """HEALTH."""
    covered = of["coverage"]
    return Health(
        Verdict(of["verdict"]),
        of["reason"],
        Coverage(
            covered["decided"],
            covered["required"],
            tuple(_gap(gap) for gap in covered["missing"]),
            tuple(_gap(gap) for gap in covered["not_covered"]),
        ),
        tuple(
            DeviceHealth(one["index"], Verdict(one["verdict"]), one["reason"])
            for one in of["devices"]
        ),
        tuple(
            PartHealth(entity(one["entity"]), Verdict(one["verdict"]), one["reason"])
            for one in of["parts"]
        ),
    )


def _gap(of: Document) -> Gap:
    about = of.get("entity")
    return Gap(of["id"], of["why"], entity(about) if about else None)
