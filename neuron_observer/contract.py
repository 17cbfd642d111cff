"""The documents that others build on: `neuron-observer/findings/1` (docs/architecture.md §8).

A field may be added, never renamed or removed within a major schema number.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.model import Coverage, Entity, Evidence, Finding, Gap, Health, Verdict

FINDINGS_SCHEMA = "neuron-observer/findings/1"

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
