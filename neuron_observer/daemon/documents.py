"""The documents of the API, each from one frame: what a path answers to what was asked."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from neuron_observer import contract
from neuron_observer.checks.inventory import take
from neuron_observer.daemon.over import MOST
from neuron_observer.rules.health import counts

if TYPE_CHECKING:
    from neuron_observer.daemon.asked import Asked
    from neuron_observer.daemon.standing import Aged, Standing
    from neuron_observer.model import Finding, Snapshot

DEVICES_SCHEMA = "neuron-observer/devices/1"
HEALTH_SCHEMA = "neuron-observer/health/1"
EXPLAIN_SCHEMA = "neuron-observer/explain/1"


class NotKnown(Exception):  # noqa: N818 - an answer, not an error of ours
    """What was asked for is not here: in a few words, and what to do."""

    def __init__(self, title: str, detail: str) -> None:
        super().__init__(title)
        self.title = title
        self.detail = detail


def snapshot(_: Standing, aged: Aged, asked: Asked) -> dict[str, Any]:
    """Everything, in the form of `snapshot --format json`."""
    return contract.snapshot_document(aged.frame, sources=bool(asked["sources"]))


def jobs(_: Standing, aged: Aged, __: Asked) -> dict[str, Any]:
    """Who uses the devices, in the form of `jobs --format json`."""
    return contract.jobs_document(aged.frame.snapshot)


def devices(standing: Standing, aged: Aged, asked: Asked) -> dict[str, Any]:
    """The devices with their own readings and verdicts, and what should be here."""
    frame, wanted = aged.frame, asked["device"]
    whole = contract.snapshot_document(frame)
    verdicts = {one.index: one for one in frame.health.devices}
    found = []
    for device in whole["devices"]:
        if wanted is not None and device["index"] not in wanted:
            continue
        device["cores"] = [core["index"] for core in device["cores"]]
        judged = verdicts.get(device["index"])
        device["verdict"] = judged.verdict.value if judged else "unknown"
        device["reason"] = judged.reason if judged else "no rule was evaluated"
        found.append(device)
    return {
        "schema": DEVICES_SCHEMA,
        **_head(frame.snapshot),
        "inventory": inventory(standing, frame.snapshot),
        "devices": found,
    }


def inventory(standing: Standing, of: Snapshot) -> list[dict[str, Any]]:
    """What the host has against what it should have."""
    topology = standing.topology()
    return [item._asdict() for item in take(topology, of)] if topology else []


def health(_: Standing, aged: Aged, __: Asked) -> dict[str, Any]:
    """The verdict on the node, its devices and parts, and what it rests on."""
    frame = aged.frame
    counted = [one for one in frame.findings if counts(one)]
    return {
        "schema": HEALTH_SCHEMA,
        **_head(frame.snapshot),
        **contract.health(frame.health),
        "findings": {
            severity: sum(one.severity.value == severity for one in counted)
            for severity in ("critical", "warning", "info")
        },
    }


def findings(standing: Standing, aged: Aged, asked: Asked) -> dict[str, Any]:
    """The findings that fit, in the form of `findings --format json`; the verdict is the node's."""
    frame = aged.frame
    shown = [*frame.findings]
    if asked["all"]:
        here = {_which(one) for one in shown}
        shown += [one for one in over(standing) if _which(one) not in here]
    found = [one for one in shown if _fits(one, asked)]
    document = contract.findings_document(frame.health.verdict, found, frame.health.coverage)
    return {**document, **_head(frame.snapshot), "reason": frame.health.reason}


def over(standing: Standing) -> list[Finding]:
    """Findings that are over, the latest first: those that are kept, and those of this run."""
    kept = standing.past.ended(most=MOST) if standing.past else []
    every = {_which(one): (at, one) for at, one in (*kept, *standing.over.held())}
    latest = sorted(every.values(), key=itemgetter(0), reverse=True)
    return [one for _, one in latest[:MOST]]


def _which(one: Finding) -> tuple[object, ...]:
    """What tells a finding from the same one at another time."""
    return one.id, one.entity._replace(serial=None), one.first_seen


def _fits(one: Finding, asked: Asked) -> bool:
    device = asked["device"]
    return (
        (asked["severity"] is None or one.severity.value in asked["severity"])
        and (asked["state"] is None or one.state.value in asked["state"])
        and (asked["confidence"] is None or one.confidence.value in asked["confidence"])
        and (asked["id"] is None or one.id == asked["id"])
        and (device is None or one.entity.device in device)
        and (asked["shadow"] is not False or not one.shadow)
    )


def _head(of: Snapshot) -> dict[str, Any]:
    return {
        "at": contract.instant(of.at),
        "host_root": of.host_root,
        "instance_type": of.instance_type,
        "driver": {"version": of.driver.version, "state": of.driver.state},
    }


def explain(standing: Standing, _: Aged, asked: Asked) -> dict[str, Any]:
    """The meaning of a finding; `NotKnown` where nobody knows the id."""
    text = standing.feed.explain(asked["finding"])
    if not text:
        raise NotKnown("no such finding", "`neuron-observer rules list` shows all")
    return {"schema": EXPLAIN_SCHEMA, "finding": asked["finding"], "text": text}
