from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.model import (
    Action,
    Confidence,
    Coverage,
    Entity,
    Finding,
    Gap,
    Severity,
    State,
    Verdict,
)
from neuron_observer.rules.health import fold
from neuron_observer.weight import rank

if TYPE_CHECKING:
    from random import Random

ENTITIES = [
    Entity("node"),
    Entity("device", device=0),
    Entity("core", device=1, core=2),
    Entity("port", port="rdmap0s31/1"),
    Entity("job", job="a"),
]
FINDINGS = st.builds(
    Finding,
    id=st.sampled_from(["a", "b", "c"]),
    entity=st.sampled_from(ENTITIES),
    severity=st.sampled_from(Severity),
    confidence=st.sampled_from(Confidence),
    action=st.sampled_from(Action),
    message=st.just("m"),
    state=st.sampled_from(State),
    blames_hardware=st.booleans(),
    shadow=st.booleans(),
    program=st.booleans(),
    if_confirmed=st.none(),
    confirm_by=st.just(()),
    evidence=st.just(()),
    first_seen=st.none(),
    last_seen=st.none(),
    runbook=st.just(""),
)
LISTS = st.lists(FINDINGS, max_size=6)
WHOLE = Coverage(5, 5)
LOST = Coverage(4, 5, missing=(Gap("serial", "failed", Entity("device", device=0)),))


def finding(severity: Severity, confidence: Confidence, **other: Any) -> Finding:
    """A finding of device 0 that blames the hardware."""
    base = Finding("a", ENTITIES[1], severity, confidence, Action.REBOOT, "m", blames_hardware=True)
    return base._replace(**other)


@pytest.mark.parametrize(
    ("severity", "confidence", "verdict"),
    [
        (Severity.CRITICAL, Confidence.CONFIRMED, Verdict.UNHEALTHY),
        (Severity.CRITICAL, Confidence.PROBABLE, Verdict.DEGRADED),
        (Severity.CRITICAL, Confidence.CONTRADICTED, Verdict.HEALTHY),
        (Severity.WARNING, Confidence.CONFIRMED, Verdict.DEGRADED),
        (Severity.INFO, Confidence.CONFIRMED, Verdict.HEALTHY),
    ],
)
def test_one_finding_gives_its_verdict(
    severity: Severity, confidence: Confidence, verdict: Verdict
) -> None:
    """Of the node and of its device; the other device stays healthy."""
    health = fold([finding(severity, confidence)], WHOLE, [0, 1], {0: 2, 1: 2})
    assert health.verdict is verdict
    assert [one.verdict for one in health.devices] == [verdict, Verdict.HEALTHY]


@pytest.mark.parametrize(
    "other",
    [
        {"shadow": True},
        {"program": True},
        {"state": State.PENDING},
        {"state": State.RESOLVED},
        {"action": Action.FIX_PROGRAM, "blames_hardware": False},
        {"entity": ENTITIES[4]},
    ],
)
def test_what_does_not_count_never_drains(other: dict[str, object]) -> None:
    """Shadow, programs, victims, what is not yet or no longer there."""
    found = finding(Severity.CRITICAL, Confidence.CONFIRMED, **other)
    assert fold([found], WHOLE).verdict is Verdict.HEALTHY


def test_a_missing_signal_makes_unknown_and_says_which() -> None:
    """The node and the device of which it is missing."""
    health = fold([], LOST, [0, 1], {0: 1, 1: 2})
    assert (health.verdict, health.reason) == (Verdict.UNKNOWN, "serial cannot be decided: failed")
    assert [one.verdict for one in health.devices] == [Verdict.UNKNOWN, Verdict.HEALTHY]


def test_nothing_decided_is_not_healthy() -> None:
    """Healthy needs coverage."""
    assert fold([], Coverage()).verdict is Verdict.UNKNOWN


def test_parts_that_are_not_healthy_are_told() -> None:
    """Cores, links and ports with a finding that counts."""
    core = finding(Severity.WARNING, Confidence.CONFIRMED, entity=ENTITIES[2])
    info = finding(Severity.INFO, Confidence.CONFIRMED, entity=ENTITIES[3])
    parts = fold([core, info], WHOLE).parts
    assert [(part.entity, part.verdict) for part in parts] == [(ENTITIES[2], Verdict.DEGRADED)]


@settings(max_examples=80)
@given(LISTS, FINDINGS, st.sampled_from([WHOLE, LOST, Coverage()]))
def test_a_finding_more_never_improves(
    findings: list[Finding], more: Finding, coverage: Coverage
) -> None:
    """Monotone, for the node and for each device."""
    before = fold(findings, coverage, [0, 1], {0: 1, 1: 1})
    after = fold([*findings, more], coverage, [0, 1], {0: 1, 1: 1})
    assert rank(after.verdict) >= rank(before.verdict)
    for one, other in zip(before.devices, after.devices, strict=True):
        assert rank(other.verdict) >= rank(one.verdict)


@settings(max_examples=60)
@given(LISTS, st.randoms(use_true_random=False))
def test_order_does_not_matter(findings: list[Finding], random: Random) -> None:
    """The same verdict and the same reason."""
    shuffled = list(findings)
    random.shuffle(shuffled)
    one, other = fold(findings, WHOLE, [0, 1]), fold(shuffled, WHOLE, [0, 1])
    assert (one.verdict, one.reason, one.devices) == (other.verdict, other.reason, other.devices)


@settings(max_examples=80)
@given(LISTS, st.sampled_from([WHOLE, LOST]))
def test_unhealthy_only_by_critical_and_confirmed(
    findings: list[Finding], coverage: Coverage
) -> None:
    """And a reason is always given."""
    health = fold(findings, coverage)
    assert health.reason
    if health.verdict is Verdict.UNHEALTHY:
        assert any(
            one.severity is Severity.CRITICAL and one.confidence is Confidence.CONFIRMED
            for one in findings
        )
