"""What one frame says that the frame before it did not: verdicts, findings, events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from neuron_observer import contract
from neuron_observer.model import State, Verdict

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from neuron_observer.model import Finding, Frame, Health

KINDS = ("event", "finding", "verdict")

Kind: TypeAlias = Literal["event", "finding", "verdict"]


class Difference(NamedTuple):
    """One thing that is new."""

    kind: Kind
    at: float  # wall clock, of the event or of the frame
    device: int | None  # that it is about; None: the node
    document: dict[str, Any]


class Differences:
    """Remembers the last frame's verdicts and findings; one thread asks."""

    def __init__(self) -> None:
        self._node: Verdict | None = None
        self._devices: dict[int, Verdict] = {}
        self._findings: dict[Hashable, Finding] = {}
        self._begins = True  # no frame yet

    def of(self, frame: Frame) -> list[Difference]:
        """What is new in a frame: what happened, what that makes of findings, and of verdicts."""
        at = frame.snapshot.at
        return [
            *(
                Difference("event", event.at, event.place.device, contract.event(event))
                for event in frame.snapshot.events
            ),
            *(
                Difference("finding", at, one.entity.device, _told(change, one, at))
                for change, one in self._of_findings(frame)
            ),
            *self._of_verdicts(frame.health, at),
        ]

    def _of_findings(self, frame: Frame) -> Iterator[tuple[str, Finding]]:
        """`begun`, `changed` or `ended`, and the finding."""
        standing = [one for one in frame.findings if one.state is not State.RESOLVED]
        over = {whose(one): one for one in frame.findings if one.state is State.RESOLVED}
        before, now = self._findings, {whose(one): one for one in standing}
        for key, one in now.items():
            if key not in before:
                known = self._begins and (one.first_seen or 0.0) < frame.snapshot.at
                if not known:  # what an earlier run told is not told as new
                    yield "begun", one
            elif _essence(one) != _essence(before[key]):
                yield "changed", one
        for key, one in before.items():
            if key not in now:
                yield "ended", over.get(key) or one._replace(state=State.RESOLVED)
        self._findings, self._begins = now, False

    def _of_verdicts(self, health: Health, at: float) -> Iterator[Difference]:
        devices = {one.index: one.verdict for one in health.devices}
        old_node, old = self._node, self._devices
        self._node, self._devices = health.verdict, devices
        if (old_node, old) == (health.verdict, devices):
            return
        document = {
            "at": contract.instant(at),
            "verdict": health.verdict.value,
            "previous": _word(old_node),
            "reason": health.reason,
            "devices": [
                {"index": n, "verdict": _word(devices.get(n)), "previous": _word(old.get(n))}
                for n in sorted(devices.keys() | old.keys())
                if devices.get(n) != old.get(n)
            ],
        }
        yield Difference("verdict", at, None, document)


def whose(finding: Finding) -> Hashable:
    """What makes it the same finding; its serial number may become known on the way."""
    return finding.id, finding.entity._replace(serial=None)


def _essence(one: Finding) -> tuple[object, ...]:
    """What makes a finding another one to its reader; not the figures that move all the time."""
    return one.state, one.severity, one.confidence, one.action, one.if_confirmed, one.shadow


def _told(change: str, one: Finding, at: float) -> dict[str, Any]:
    return {"at": contract.instant(at), "change": change, "finding": contract.finding(one)}


def _word(verdict: Verdict | None) -> str | None:
    return verdict.value if verdict else None
