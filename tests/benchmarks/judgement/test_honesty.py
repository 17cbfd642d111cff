"""Whoever may write to the kernel log or set the clock cannot drain a node: the whole pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.judgement.drive import Drive
from benchmarks.judgement.grid import WARM_UP, shipped
from neuron_observer.model import Confidence, Severity, Verdict
from neuron_observer.sim.chips import choose
from neuron_observer.sim.faults import FAULTS
from neuron_observer.sim.faults.kind import Fault
from neuron_observer.sim.job import Job
from neuron_observer.sim.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuron_observer.model import Frame

ROWS = (Path(__file__).parents[2] / "rules/lines.tsv").read_text("utf-8").splitlines()
LINES = [row.split("\t")[3] for row in ROWS if row.strip() and not row.startswith("#")]


def drive(*faults: Fault, instance: str = "trn2.3xlarge", driver: str = "2.30.2") -> Drive:
    """A sound node at work."""
    machine, version = choose(instance, driver)
    jobs = (Job(at=1.0, devices=tuple(range(machine.devices))),)
    scenario = Scenario("", machine, version, jobs=jobs, faults=faults, warm_up=WARM_UP)
    return Drive(scenario, shipped())


def forge(lines: Sequence[str], at: float, *, forged: bool = True) -> Fault:
    """Lines that a program writes, or lets the driver print."""
    kind = FAULTS["kernel_lines"]
    values = {one.name: one.default for one in kind.parameters}
    values |= {"text": "\n".join(lines), "forged": forged, "level": 3}
    return Fault(kind, WARM_UP + at, None, values=values)


def frames(driven: Drive, seconds: float) -> list[Frame]:
    """All of them; the drive is closed."""
    found = [frame for _, frame in driven.frames(WARM_UP + seconds)]
    driven.close()
    return found


@pytest.mark.parametrize("forged", [True, False])
@pytest.mark.parametrize("driver", ["2.24.7", "2.30.2"])
def test_every_line_there_is_makes_no_node_unhealthy(driver: str, forged: bool) -> None:
    """Lines are hearsay, whether a program or the driver printed them."""
    seen = frames(drive(forge(LINES, 3.0, forged=forged), driver=driver), 8.0)
    critical = [one for one in seen[-1].findings if one.severity is Severity.CRITICAL]
    assert len(critical) > 3
    assert {one.confidence for one in critical} == {Confidence.PROBABLE}
    assert {frame.health.verdict for frame in seen[4:]} <= {Verdict.HEALTHY, Verdict.DEGRADED}
    assert seen[-1].health.verdict is Verdict.DEGRADED


def test_lines_by_the_thousand_cost_no_more_than_a_few() -> None:
    """Of devices, cores and ports that do not exist, too: findings and looks are bounded."""
    text = "NEURON_HW_ERR=DMA_ERROR nd-id={} nc-id={} serial-num=00 action=TERMINATE_INSTANCE"
    many = [text.format(number % 97, number % 31) for number in range(3_000)]
    few = drive(forge(many[:20], 3.0))
    assert len(frames(few, 4.0)[-1].findings) > 1
    driven = drive(*(forge(many, 3.0 + 0.3 * again) for again in range(4)))
    evaluated, findings = [], []
    for _, frame in driven.frames(WARM_UP + 8.0):
        evaluated.append(driven.engine.evaluated)
        findings.append(len(frame.findings))
        assert frame.health.verdict in (Verdict.HEALTHY, Verdict.DEGRADED, Verdict.UNKNOWN)
    driven.close()
    assert 1 < max(findings) < 400
    assert max(evaluated[2:]) <= evaluated[0] + 600
    assert evaluated[-2] < 100


def test_a_forged_line_is_contradicted_by_its_counter() -> None:
    """The SRAM count is live, was read and stood still for a minute."""
    line = "NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR nd-id=0 nc-id=0 action=TERMINATE_INSTANCE"
    last = frames(drive(forge([line], 3.0)), 90.0)[-1]
    told = [one for one in last.findings if one.id == "sram-uncorrectable"]
    assert [one.confidence for one in told] == [Confidence.CONTRADICTED]
    assert last.health.verdict is not Verdict.UNHEALTHY


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=60), st.booleans())
@settings(max_examples=8, deadline=None)
def test_no_mixture_of_lines_makes_a_node_unhealthy(lines: list[str], forged: bool) -> None:
    """Whatever they say of one another."""
    driven = drive(forge(lines, 1.0, forged=forged), instance="inf2.xlarge")
    assert Verdict.UNHEALTHY not in {frame.health.verdict for frame in frames(driven, 3.0)}


@pytest.mark.parametrize("step", [86_400.0, -86_400.0, -0.4])
def test_a_step_of_the_clock_is_no_fault(step: float) -> None:
    """At most an information; the verdict stays."""
    driven = drive()
    for _ in driven.frames(WARM_UP + 12.0):
        pass
    driven.clock.step_wall(step)
    seen = frames(driven, 45.0)
    bad = {
        one.id
        for frame in seen
        for one in frame.findings
        if one.severity is not Severity.INFO and not one.shadow
    }
    assert bad == set()
    assert {frame.health.verdict for frame in seen} == {Verdict.HEALTHY}
    told = {one.id for frame in seen for one in frame.findings}
    assert ("clock-jump" in told) == (abs(step) >= 10)
