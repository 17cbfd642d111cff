"""The verdict on a whole node or on some of its devices, with what it rests on. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.checks.scope import WHOLE_NODE, Scope
from neuron_observer.contract import EXIT_CODES
from neuron_observer.model import NODE, Coverage, DeviceHealth, Missing, State, Verdict
from neuron_observer.readings import reading
from neuron_observer.rules.health import Opinion, opinion
from neuron_observer.weight import rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.checks.inventory import Item
    from neuron_observer.model import Entity, Finding, Frame, Gap, Snapshot

_OVER = (State.RESOLVED,)


class Checked(NamedTuple):
    """Everything that `check` says."""

    verdict: Verdict
    reason: str
    coverage: Coverage
    findings: tuple[Finding, ...]  # that count, the worst first
    shadow: tuple[Finding, ...]  # that never count
    devices: tuple[DeviceHealth, ...]
    scope: Scope = WHOLE_NODE
    lacking: int = 0  # devices of the scope that should be here and are not
    inventory: tuple[Item, ...] = ()
    seconds: float = 0.0  # that it took


def check(frame: Frame, scope: Scope = WHOLE_NODE, inventory: tuple[Item, ...] = ()) -> Checked:
    """What a frame says of the devices in scope; what concerns the node concerns them all."""
    health = frame.health
    findings = [one for one in frame.findings if _about(one.entity, scope)]
    found = tuple(one for one in findings if not one.shadow and one.state not in _OVER)
    devices = tuple(one for one in health.devices if _in(one.index, scope))
    coverage = health.coverage._replace(
        missing=tuple(gap for gap in health.coverage.missing if _gap_about(gap, scope))
    )
    told = Opinion(health.verdict, health.reason)
    if scope.devices is not None:
        told = _folded(found, coverage, devices, scope.devices)
        lacking = len(health.coverage.missing) - len(coverage.missing)
        coverage = coverage._replace(required=coverage.required - lacking)
    return Checked(
        *told,
        coverage,
        found,
        tuple(one for one in findings if one.shadow),
        devices,
        scope,
        _lacking(frame.snapshot, scope, len(devices)),
        inventory,
    )


def _lacking(snapshot: Snapshot, scope: Scope, here: int) -> int:
    """How many are not here; those that only this container does not see are no loss."""
    if scope.devices is not None:
        return len(scope.devices) - here
    expected = reading(snapshot.batches, "node.devices_expected", NODE)
    hidden = reading(snapshot.batches, "node.devices_hidden", NODE)
    if isinstance(expected, Missing) or not isinstance(expected.value, int):
        return 0
    unseen = 0 if isinstance(hidden, Missing) else int(hidden.value)
    return max(expected.value - unseen - here, 0)


def _folded(
    findings: Iterable[Finding],
    coverage: Coverage,
    devices: Iterable[DeviceHealth],
    chosen: Iterable[int],
) -> Opinion:
    """The worst of what concerns the node and of each chosen device; a device gone is unknown."""
    known = {device.index: Opinion(device.verdict, device.reason) for device in devices}
    absent = Opinion(Verdict.UNKNOWN, "a device that was asked for is not there")
    parts = [opinion(findings, coverage.missing, coverage.decided)]
    parts += [known.get(index, absent) for index in chosen]
    return max(parts, key=lambda part: rank(part.verdict))


def _about(entity: Entity, scope: Scope) -> bool:
    return entity.device is None or _in(entity.device, scope)


def _gap_about(gap: Gap, scope: Scope) -> bool:
    return gap.entity is None or _about(gap.entity, scope)


def _in(device: int, scope: Scope) -> bool:
    return scope.devices is None or device in scope.devices


def exit_code(verdict: Verdict, fail_on: str) -> int:
    """0 to 3 as monitoring plugins have them; `fail_on` critical lets a degraded node pass."""
    if verdict is Verdict.DEGRADED and fail_on == "critical":
        return 0
    return EXIT_CODES[verdict.value]
