"""The one order of findings: by the verdict, then severity, confidence, id and place."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.checks import plugins
from neuron_observer.checks.judging import worsened
from neuron_observer.checks.verdict import Checked
from neuron_observer.jobs.report import judge
from neuron_observer.model import (
    Action,
    Confidence,
    Coverage,
    DeviceHealth,
    Entity,
    Finding,
    Health,
    Severity,
    State,
    Verdict,
)
from neuron_observer.rules.health import fold
from neuron_observer.weight import of_finding, rank, worst_first

if TYPE_CHECKING:
    from collections.abc import Sequence

NODE, ZERO, TWO = Entity("node"), Entity("device", device=0), Entity("device", device=2)


def finding(
    id_: str,
    severity: Severity = Severity.CRITICAL,
    confidence: Confidence = Confidence.PROBABLE,
    entity: Entity = ZERO,
    state: State = State.FIRING,
) -> Finding:
    """A finding that blames the hardware."""
    return Finding(
        id_, entity, severity, confidence, Action.REBOOT, "m", state, blames_hardware=True
    )


SURE = Confidence.CONFIRMED
IN_ORDER = (
    finding("z-sure", confidence=SURE),
    finding("b-likely"),
    finding("c-likely", entity=NODE),
    finding("c-likely"),
    finding("c-likely", entity=TWO),
    finding("a-warning", Severity.WARNING, SURE),
    finding("a-doubtful-warning", Severity.WARNING),
    finding("a-pending", confidence=SURE, state=State.PENDING),
    finding("a-note", Severity.INFO, SURE),
)


@pytest.mark.parametrize("turned", range(len(IN_ORDER)))
def test_the_order(turned: int) -> None:
    """Verdict, severity, confidence, id, place; however they come."""
    mixed = (*IN_ORDER[turned:], *IN_ORDER[:turned])
    assert tuple(sorted(mixed, key=worst_first)) == IN_ORDER


@pytest.mark.parametrize(("worse", "other"), list(itertools.combinations(IN_ORDER[:7], 2)))
def test_every_headline_names_the_same_finding(worse: Finding, other: Finding) -> None:
    """The reason of the verdict, of the device's, of a job's report, and what schedulers get."""
    both = (other, worse)
    health = fold(both, Coverage(2, 2), [0, 2])
    assert health.reason.startswith(f"{worse.id} ({worse.severity.value}, ")
    checked = Checked(*health[:2], health.coverage, both, (), health.devices)
    for line in (plugins.summary(checked), plugins.npd(checked)):
        assert line.startswith(f"{worse.id} on ")
    assert plugins.nagios(checked).partition(" - ")[2].startswith(f"{worse.id} on ")
    assert plugins.slurm(checked).partition("] ")[2].startswith(f"{worse.id} on ")
    for device in health.devices:
        own = [one for one in (worse, other) if one.entity.device == device.index]
        assert not own or device.reason.startswith(own[0].id)


def test_a_critical_fault_stands_above_a_warning_that_the_rules_do_not_know() -> None:
    """The reason is the worst of all findings, told by a rule or beside them."""
    warning, fault = finding("cores-missing", Severity.WARNING), finding("sram")
    rules = fold((fault,), Coverage(2, 2), [0])
    both = worsened(rules, (fault, warning))
    assert (both.reason, both.devices) == (rules.reason, rules.devices)
    only = fold((warning,), Coverage(2, 2), [0])
    both = worsened(only, (warning, fault))
    assert both.reason.startswith("sram (critical, probable)")
    assert both.devices[0].reason.startswith("sram (critical, probable)")


def test_a_job_is_told_the_worst_that_blames_the_hardware() -> None:
    """Not the first that was seen."""
    found = (finding("a", Severity.WARNING)._replace(message="slow"), finding("b"))
    assert judge(found, unjudged="") == ("hardware-suspect", "m")


_FINDINGS = st.lists(
    st.builds(
        finding,
        st.sampled_from(["a", "b"]),
        st.sampled_from(list(Severity)),
        st.sampled_from(list(Confidence)),
        st.sampled_from([NODE, ZERO, TWO]),
        st.sampled_from(list(State)),
    ),
    min_size=1,
    max_size=5,
)


@given(_FINDINGS, st.randoms(use_true_random=False))
def test_the_first_gives_the_verdict(found: Sequence[Finding], random: object) -> None:
    """No other gives a worse one; health says of which finding its verdict is."""
    mixed = list(found)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    first = min(found, key=worst_first)
    worst = max((of_finding(one) for one in found), key=rank)
    assert of_finding(first) is worst
    health = fold(mixed, Coverage(2, 2), [])
    assert health.verdict is worst
    if worst is not Verdict.HEALTHY:
        told = f"{first.id} ({first.severity.value}, {first.confidence.value}): "
        assert health.reason.startswith(told)
        before = Health(Verdict.HEALTHY, "well", devices=(DeviceHealth(0, worst, "before"),))
        assert worsened(before, mixed).reason == health.reason
