"""The documents that others build on: findings/1, snapshot/1, jobs/1 (docs/architecture.md §8).

A field may be added, never renamed or removed within a major schema number.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from neuron_observer.model import NODE, Missing, Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.model import (
        Batch,
        Cell,
        Coverage,
        Device,
        Entity,
        Event,
        Evidence,
        Finding,
        Frame,
        Gap,
        Health,
        Job,
        JobScan,
        Rank,
        Snapshot,
        Verdict,
    )

FINDINGS_SCHEMA = "neuron-observer/findings/1"
SNAPSHOT_SCHEMA = "neuron-observer/snapshot/1"
JOBS_SCHEMA = "neuron-observer/jobs/1"

EXIT_CODES = {"healthy": 0, "degraded": 1, "unhealthy": 2, "unknown": 3}


def instant(wall: float | None) -> str | None:
    """RFC 3339 in UTC with milliseconds, or None."""
    if wall is None:
        return None
    moment = datetime.fromtimestamp(wall, tz=timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def entity(of: Entity) -> dict[str, Any]:
    """ENTITY."""
    return {
        "kind": of.kind,
        "node": of.node,
        "device": of.device,
        "core": of.core,
        "serial": of.serial,
        "port": of.port,
        "job": of.job,
        "rank": of.rank,
    }


def evidence(of: Evidence) -> dict[str, Any]:
    """EVIDENCE; fields of its own kind (`first_step`, `ratio` …) stand beside the common ones."""
    return {
        "kind": of.kind,
        "trust": of.trust,
        "source": of.source,
        "value": of.value,
        "previous": of.previous,
        "at": instant(of.at),
        "line": of.line,
        **of.fields,
    }


def finding(of: Finding) -> dict[str, Any]:
    """FINDING."""
    return {
        "id": of.id,
        "entity": entity(of.entity),
        "severity": of.severity.value,
        "confidence": of.confidence.value,
        "state": of.state.value,
        "action": of.action.value,
        "if_confirmed": of.if_confirmed.value if of.if_confirmed else None,
        "confirm_by": list(of.confirm_by),
        "blames_hardware": of.blames_hardware,
        "message": of.message,
        "evidence": [evidence(item) for item in of.evidence],
        "first_seen": instant(of.first_seen),
        "last_seen": instant(of.last_seen),
        "runbook": of.runbook,
        "shadow": of.shadow,
        "program": of.program,
        "impact": of.impact or None,
        "note": of.note or None,
    }


def _gap(of: Gap, *, with_entity: bool) -> dict[str, Any]:
    document: dict[str, Any] = {"id": of.id, "why": of.why}
    if with_entity:
        document["entity"] = entity(of.entity) if of.entity else None
    return document


def coverage(of: Coverage) -> dict[str, Any]:
    """The coverage of a verdict."""
    return {
        "decided": of.decided,
        "required": of.required,
        "missing": [_gap(gap, with_entity=True) for gap in of.missing],
        "not_covered": [_gap(gap, with_entity=False) for gap in of.not_covered],
    }


def health(of: Health) -> dict[str, Any]:
    """HEALTH."""
    return {
        "verdict": of.verdict.value,
        "reason": of.reason,
        "coverage": coverage(of.coverage),
        "devices": [
            {"index": device.index, "verdict": device.verdict.value, "reason": device.reason}
            for device in of.devices
        ],
        "parts": [
            {"entity": entity(part.entity), "verdict": part.verdict.value, "reason": part.reason}
            for part in of.parts
        ],
    }


def findings_document(
    verdict: Verdict, findings: Iterable[Finding], covered: Coverage
) -> dict[str, Any]:
    """The whole document that `check`, `findings`, `triage` and `stragglers` print as JSON."""
    return {
        "schema": FINDINGS_SCHEMA,
        "verdict": verdict.value,
        "exit_code": EXIT_CODES[verdict.value],
        "coverage": coverage(covered),
        "findings": [finding(item) for item in findings],
    }


def _reading(cell: Cell, age: float, source: str) -> dict[str, Any]:
    document: dict[str, Any]
    if isinstance(cell, Missing):
        document = {"missing": cell.why.value, "detail": cell.detail}
    else:
        document = {"value": cell, "age": age}
    if source:
        document["source"] = source
    return document


def _readings(snapshot: Snapshot, *, sources: bool) -> dict[Place, dict[str, Any]]:
    """Place → metric → READING. Of several batches with one cell the last counts."""
    found: dict[Place, dict[str, Any]] = {}
    for batch in snapshot.batches:
        age = round(max(snapshot.monotonic - batch.read_at, 0.0), 6)
        for metric, place, row in _rows(batch):
            source = batch.layout.sources[row] if sources else ""
            found.setdefault(place, {})[metric] = _reading(batch.cells[row], age, source)
    return found


def _rows(batch: Batch) -> Iterable[tuple[str, Place, int]]:
    for metric, column in batch.layout.columns.items():
        for offset, place in enumerate(column.places):
            yield metric, place, column.start + offset


def _device(of: Device, readings: dict[Place, dict[str, Any]]) -> dict[str, Any]:
    return {
        "index": of.index,
        "name": of.name,
        "serial": of.serial,
        "key": of.key,
        "pci": of.pci,
        "neighbours": None if of.neighbours is None else list(of.neighbours),
        "readings": readings.get(Place(of.index), {}),
        "cores": [
            {"index": core.index, "readings": readings.get(Place(of.index, core.index), {})}
            for core in of.cores
        ],
    }


def event(of: Event) -> dict[str, Any]:
    """What happened; of a line of the kernel log `fields` tell its meaning and who printed it."""
    return {
        "kind": of.kind,
        "at": instant(of.at),
        "message": of.message,
        "device": of.place.device,
        "core": of.place.core,
        "label": of.place.label,
        "fields": dict(of.fields),
    }


def _by_label(place: Place) -> tuple[str, int, int]:
    device, core = place.device, place.core
    return (place.label, -1 if device is None else device, -1 if core is None else core)


def snapshot_document(frame: Frame, *, sources: bool = False) -> dict[str, Any]:
    """The whole document that `snapshot --format json` prints.

    `others` holds what belongs to no device: PCI functions, EFA ports, sensors, by label.
    """
    snapshot = frame.snapshot
    readings = _readings(snapshot, sources=sources)
    return {
        "schema": SNAPSHOT_SCHEMA,
        "at": instant(snapshot.at),
        "host_root": snapshot.host_root,
        "node": {
            "instance_type": snapshot.instance_type,
            "driver": {"version": snapshot.driver.version, "state": snapshot.driver.state},
            "readings": readings.get(NODE, {}),
        },
        "devices": [_device(device, readings) for device in snapshot.devices],
        "others": [
            {
                "label": place.label,
                "device": place.device,
                "core": place.core,
                "readings": readings[place],
            }
            for place in sorted((p for p in readings if p.label), key=_by_label)
        ],
        **beside_readings(frame),
    }


def beside_readings(frame: Frame) -> dict[str, Any]:
    """What a frame tells besides readings: jobs, events, runs, health and findings."""
    snapshot = frame.snapshot
    return {
        "jobs": [job(one) for one in snapshot.jobs],
        "job_scan": _scan(snapshot.job_scan),
        "events": [event(one) for one in snapshot.events],
        "runs": [
            {"collector": run.collector, "ok": run.ok, "seconds": run.seconds, "error": run.error}
            for run in snapshot.runs
        ],
        "health": health(frame.health),
        "findings": [finding(item) for item in frame.findings],
    }


def _rank(of: Rank) -> dict[str, Any]:
    """A process of a job: all that is known of it; null is unknown."""
    process = of.process._asdict()
    process["pod"] = of.process.pod._asdict() if of.process.pod else None
    return {
        "rank": of.rank,
        "local_rank": of.local_rank,
        "cores": of.cores._asdict(),
        "process": process,
        "pace": of.pace._asdict() if of.pace else None,
    }


def job(of: Job) -> dict[str, Any]:
    """JOB: its fields as in the model, times in RFC 3339, ranks with their cores."""
    return {
        **of._asdict(),
        "ranks": [_rank(rank) for rank in of.ranks],
        "started": instant(of.started),
        "pace": {**of.pace._asdict(), "since": instant(of.pace.since)} if of.pace else None,
    }


def _scan(of: JobScan | None) -> dict[str, Any] | None:
    """What the job map rests on; null where nobody could look."""
    if of is None:
        return None
    return {**of._asdict(), "mapped": {str(device): list(ids) for device, ids in of.mapped}}


def jobs_document(snapshot: Snapshot) -> dict[str, Any]:
    """The whole document that `jobs --format json` prints.

    `scan` null: nobody could look for jobs, so an empty list says nothing.
    """
    return {
        "schema": JOBS_SCHEMA,
        "at": instant(snapshot.at),
        "host_root": snapshot.host_root,
        "jobs": [job(one) for one in snapshot.jobs],
        "scan": _scan(snapshot.job_scan),
    }
