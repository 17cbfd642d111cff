"""The documents of the API, each from one frame: what a path answers to what was asked."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from neuron_observer import contract
from neuron_observer.checks.devices import devices_document, head
from neuron_observer.daemon.over import MOST
from neuron_observer.weight import counts

if TYPE_CHECKING:
    from neuron_observer.daemon.asked import Asked
    from neuron_observer.daemon.standing import Aged, Standing
    from neuron_observer.model import Finding

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
    return devices_document(aged.frame, standing.topology(), asked["device"])


def health(_: Standing, aged: Aged, __: Asked) -> dict[str, Any]:
    """The verdict on the node, its devices and parts, and what it rests on."""
    frame = aged.frame
    counted = [one for one in frame.findings if counts(one)]
    return {
        "schema": HEALTH_SCHEMA,
        **head(frame.snapshot),
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
    return {**document, **head(frame.snapshot), "reason": frame.health.reason}


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


def explain(standing: Standing, _: Aged, asked: Asked) -> dict[str, Any]:
    """The meaning of a finding; `NotKnown` where nobody knows the id."""
    text = standing.feed.explain(asked["finding"])
    if not text:
        raise NotKnown("no such finding", "`neuron-observer rules list` shows all")
    return {"schema": EXPLAIN_SCHEMA, "finding": asked["finding"], "text": text}
