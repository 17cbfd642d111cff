"""The verdict on a node and on some of its devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.checks import plugins, words
from neuron_observer.checks.scope import WHOLE_NODE, Scope
from neuron_observer.checks.verdict import check, exit_code
from neuron_observer.derive import make_batch
from neuron_observer.model import (
    NODE,
    Action,
    Confidence,
    Coverage,
    DeviceHealth,
    Driver,
    Entity,
    Finding,
    Frame,
    Gap,
    Health,
    Missing,
    Severity,
    Snapshot,
    State,
    Verdict,
    Why,
)
from neuron_observer.rules.health import fold
from neuron_observer.weight import rank

if TYPE_CHECKING:
    from neuron_observer.model import Cell

SNAPSHOT = Snapshot(0.0, 0.0, "/", "trn2.48xlarge", Driver("2.30.2.0", "live"), (), ())


def finding(device: int | None, severity: Severity = Severity.CRITICAL, **other: object) -> Finding:
    """A finding on a device, or on the node."""
    entity = Entity("node" if device is None else "device", device=device)
    made = Finding("fault", entity, severity, Confidence.CONFIRMED, Action.REBOOT, "what it says")
    return made._replace(**other)  # type: ignore[arg-type]


def frame(*findings: Finding, missing: tuple[Gap, ...] = ()) -> Frame:
    """A node of four devices, of each of which two signals are required."""
    coverage = Coverage(8 - len(missing), 8, missing)
    lost = {gap.entity.device for gap in missing if gap.entity}
    decided: dict[int | None, int] = {index: 2 - (index in lost) for index in range(4)}
    return Frame(SNAPSHOT, findings, fold(findings, coverage, range(4), decided))


def test_another_device_does_not_count() -> None:
    """A fault of device 3 is no reason to keep work from devices 0 and 1."""
    found = check(frame(finding(3)), Scope(frozenset({0, 1})))
    assert (found.verdict, found.findings) == (Verdict.HEALTHY, ())
    assert [device.index for device in found.devices] == [0, 1]
    assert check(frame(finding(3)), Scope(frozenset({3}))).verdict is Verdict.UNHEALTHY


def test_the_node_counts_for_each_device() -> None:
    """What concerns the node concerns every device."""
    found = check(frame(finding(None)), Scope(frozenset({0})))
    assert found.verdict is Verdict.UNHEALTHY


def test_a_device_that_is_not_there_is_unknown() -> None:
    """Device 7 was asked for and nobody knows it."""
    found = check(frame(), Scope(frozenset({7})))
    assert found.verdict is Verdict.UNKNOWN
    assert "not there" in found.reason


def test_missing_signals_of_others_do_not_count() -> None:
    """Coverage too is that of the devices in scope."""
    gap = Gap("sram", "denied", Entity("device", device=2))
    found = check(frame(missing=(gap,)), Scope(frozenset({0})))
    assert (found.verdict, found.coverage.missing) == (Verdict.HEALTHY, ())
    assert (found.coverage.decided, found.coverage.required) == (7, 7)
    assert check(frame(missing=(gap,)), Scope(frozenset({2}))).verdict is Verdict.UNKNOWN


def test_shadow_stands_apart_and_what_is_over_is_gone() -> None:
    """Neither counts, and neither stands among the findings."""
    found = check(frame(finding(0, shadow=True), finding(1, state=State.RESOLVED)))
    assert (found.verdict, found.findings) == (Verdict.HEALTHY, ())
    assert [one.entity.device for one in found.shadow] == [0]


@pytest.mark.parametrize(
    ("verdict", "warning", "critical"),
    [
        (Verdict.HEALTHY, 0, 0),
        (Verdict.DEGRADED, 1, 0),
        (Verdict.UNHEALTHY, 2, 2),
        (Verdict.UNKNOWN, 3, 3),
    ],
)
def test_exit_codes(verdict: Verdict, warning: int, critical: int) -> None:
    """Those of Nagios; with `--fail-on critical` a degraded node passes."""
    assert exit_code(verdict, "warning") == warning
    assert exit_code(verdict, "critical") == critical


_FINDINGS = st.lists(
    st.builds(
        finding,
        st.one_of(st.none(), st.integers(0, 3)),
        st.sampled_from(list(Severity)),
        confidence=st.sampled_from(list(Confidence)),
        shadow=st.booleans(),
    ),
    max_size=5,
)


@given(_FINDINGS, st.sets(st.integers(0, 3), min_size=1))
def test_some_devices_are_never_worse_than_all(findings: list[Finding], some: set[int]) -> None:
    """A scope takes faults away and adds none; the scope of all devices is the node."""
    all_ = frame(*findings)
    part = check(all_, Scope(frozenset(some)))
    assert rank(part.verdict) <= rank(all_.health.verdict)
    whole = check(all_, Scope(frozenset(range(4))))
    assert whole.verdict is all_.health.verdict


@given(_FINDINGS, st.integers(0, 3))
def test_a_device_in_scope_is_never_hidden(findings: list[Finding], device: int) -> None:
    """The verdict on one device is at least as bad as its health."""
    all_ = frame(*findings)
    health: DeviceHealth = all_.health.devices[device]
    assert rank(check(all_, Scope(frozenset({device}))).verdict) >= rank(health.verdict)
    assert isinstance(all_.health, Health)


def expecting(expected: int | Missing, hidden: int = 0) -> Frame:
    """The node of four devices, by whose type so many should be here."""
    cells: dict[str, Cell] = {
        "node.devices_expected": expected,
        "node.devices_hidden": hidden,
    }
    batch = make_batch("x", {metric: [(NODE, cell)] for metric, cell in cells.items()}, 0.0)
    whole = frame()
    return whole._replace(snapshot=SNAPSHOT._replace(batches=(batch,)))


@pytest.mark.parametrize(
    ("expected", "hidden", "scope", "lacking"),
    [
        (4, 0, WHOLE_NODE, 0),
        (6, 0, WHOLE_NODE, 2),
        (16, 12, WHOLE_NODE, 0),  # a container that sees four
        (Missing(Why.UNSUPPORTED, "unknown type"), 0, WHOLE_NODE, 0),
        (6, 0, Scope(frozenset({0, 5})), 1),
    ],
)
def test_what_is_not_there_is_counted(
    expected: int | Missing, hidden: int, scope: Scope, lacking: int
) -> None:
    """A device that should be here and is not is no healthy one, in any figure."""
    found = check(expecting(expected, hidden), scope)
    assert found.lacking == lacking
    here = 4 if scope is WHOLE_NODE else 1
    of = f"devices:  {here} of {here + lacking} healthy"
    assert words.status(found)[1] == (f"{of}: {lacking} not there" if lacking else of)
    assert f"devices_healthy={here};;;0;{here + lacking} " in plugins.nagios(found)
