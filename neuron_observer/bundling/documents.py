"""Documents of the contract: as a daemon tells them, or of a look of one's own."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer import contract
from neuron_observer.client.frames import instant
from neuron_observer.daemon.earlier import of_earlier_times
from neuron_observer.daemon.standing import Standing
from neuron_observer.daemon.timeline import EVENTS_SCHEMA
from neuron_observer.model import State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.bundling import Asked
    from neuron_observer.bundling.kept import Kept
    from neuron_observer.bundling.look import Looked
    from neuron_observer.bundling.narrow import Narrow
    from neuron_observer.client import Client
    from neuron_observer.model import Event, Finding, Frame, Place, Value

EVENTS = 2000
OVER = 500


class Told(NamedTuple):
    """A daemon's documents."""

    findings: dict[str, Any]
    events: dict[str, Any]
    snapshot: dict[str, Any]
    source: dict[str, Any]
    elsewhere: str  # which host it reads, if that is not the one that can be looked at here


def told(client: Client, asked: Asked) -> Told:
    """Ask a daemon for all that it knows; `DaemonError`."""
    findings = client.get("findings", {"all": "true"})
    since = contract.instant(asked.narrow.since)
    events = client.get("events", {"limit": str(EVENTS), "since": since})
    snapshot = client.get("snapshot", {"sources": "true"})
    frame = findings.get("frame") or {}
    source = {
        "by": "daemon",
        "frame_age": frame.get("age"),
        "stale": frame.get("stale"),
    }
    root = str(snapshot["host_root"])
    elsewhere = "another machine" if asked.remote else ""
    if not elsewhere and root not in (asked.host_root, os.path.realpath(asked.host_root)):
        elsewhere = root
    return Told(findings, events, snapshot, source, elsewhere)


def snapshot(looked: Looked | None) -> dict[str, Any]:
    """Of a look."""
    if looked is None:
        raise AssertionError("neither a daemon nor a look")
    return contract.snapshot_document(looked.frame, sources=True)


def findings(looked: Looked | None, kept: Kept, asked: Asked) -> dict[str, Any]:
    """Of a look, with those that are over as far as they are kept."""
    if looked is None:
        raise AssertionError("neither a daemon nor a look")
    frame = looked.frame
    over: list[Finding] = []
    if kept.past is not None:
        ended = kept.past.ended(asked.narrow.since, most=OVER)
        over = [one for _, one in ended if one.state is State.RESOLVED]
    shown = [*frame.findings, *over]
    document = contract.findings_document(frame.health.verdict, shown, frame.health.coverage)
    return {
        **document,
        "at": contract.instant(frame.snapshot.at),
        "reason": frame.health.reason,
    }


class _OneFrame:
    """The feed of a single frame."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def latest(self) -> Frame:
        return self._frame

    def history(self, metric: str, place: Place, seconds: float) -> Sequence[Value]:  # noqa: ARG002 - the port's
        return ()

    def events(self, seconds: float) -> Sequence[Event]:  # noqa: ARG002 - the port's
        return self._frame.snapshot.events

    def explain(self, finding_id: str) -> str:  # noqa: ARG002 - the port's
        return ""


def events(looked: Looked | None, kept: Kept, asked: Asked) -> dict[str, Any]:
    """What is kept, and what a look saw, in the form of the API."""
    entries: list[dict[str, Any]] = []
    if kept.past is not None and looked is not None:
        standing = Standing(_OneFrame(looked.frame), asked.clock, past=kept.past)
        entries = [json.loads(one.body) for one in of_earlier_times(standing, ())]
    if looked is not None:
        entries += [
            {"type": "event", **contract.event(one)} for one in looked.frame.snapshot.events
        ]
    since = asked.narrow.since
    fitting = [one for one in entries if since is None or (instant(one["at"]) or 0.0) >= since]
    return {
        "schema": EVENTS_SCHEMA,
        "more": len(fitting) > EVENTS,
        "events": fitting[-EVENTS:],
    }


def events_of(document: Mapping[str, Any], devices: frozenset[int] | None) -> dict[str, Any]:
    """Those of some devices and of the node; all where no device is chosen."""
    if devices is None:
        return dict(document)
    kept = [one for one in document["events"] if _device(one) in {*devices, None}]
    return {**document, "events": kept}


def _device(entry: Mapping[str, Any]) -> int | None:
    finding = entry.get("finding")
    found = finding["entity"]["device"] if finding else entry.get("device")
    return found if isinstance(found, int) else None


def jobs_of(snapshot: Mapping[str, Any], narrow: Narrow) -> dict[str, Any]:
    """The jobs, or the one that was asked for."""
    name = narrow.job
    found = [
        one
        for one in snapshot["jobs"]
        if name is None or name in (one["id"], one["name"], one["slurm_job"], one["run_id"])
    ]
    scan = snapshot["job_scan"]
    return {"schema": contract.JOBS_SCHEMA, "at": snapshot["at"], "jobs": found, "scan": scan}


def topology(looked: Looked | None, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Devices with their links; of a look PCI functions and adapters too."""
    devices = [
        {name: one[name] for name in ("index", "name", "serial", "key", "pci", "neighbours")}
        | {"cores": [core["index"] for core in one["cores"]]}
        for one in snapshot["devices"]
    ]
    more: dict[str, Any] = {}
    if looked is not None:
        found = looked.topology
        more = {
            "functions": [function._asdict() for function in found.functions],
            "expected_devices": found.expected,
            "hidden": len(found.hidden),
            "problems": list(found.problems),
            "adapters": looked.adapters,
        }
    return {**snapshot["node"], "readings": None, "devices": devices, **more}
