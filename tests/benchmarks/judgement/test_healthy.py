"""Healthy noise makes no alarm, and the noise is no silence."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.judgement.changes import STEP, NoisyNode
from benchmarks.judgement.grid import shipped
from benchmarks.judgement.healthy import Alarms, day, first_snapshot, week
from neuron_observer.model import NODE, Place
from neuron_observer.rules.engine import Engine

HABITS = [action.__name__ for _, action in NoisyNode(first_snapshot(), 0)._habits]


def alarms_after(node: NoisyNode, steps: int) -> Counter[str]:
    """Ids of the alarms that a node's next steps make."""
    engine, alarms = Engine(shipped()), Alarms()
    for _ in range(steps):
        findings, health = engine(node.step())
        alarms.look(findings, health.verdict)
    return Counter(text.split()[0] for _, text in alarms.counts.elements())


def test_a_day_of_changes_is_silent() -> None:
    """One node, all habits at their rates."""
    alarms, looks = week(7, 0.3)
    assert alarms == Counter()
    assert looks > 700


@pytest.mark.parametrize("habit", HABITS)
def test_each_habit_alone_is_silent(habit: str) -> None:
    """And changes something that the rules see."""
    node = NoisyNode(first_snapshot(), 3)
    node._habits = []
    next(action for _, action in node._daily() if action.__name__ == habit)()
    told = (node._moves, node._events, node._masked, node._later, node._quiet, node._stopped_until)
    assert any(told) or node._wall != first_snapshot().at
    assert alarms_after(node, 30) == Counter()


@pytest.mark.parametrize(
    ("metric", "place", "value", "fault"),
    [
        ("device.hbm.ecc_uncorrected", Place(0), 1, "hbm-unrepairable"),
        ("device.health.unhealthy_components", Place(0), "sram", "firmware-sram"),
        ("host.memory.available", NODE, 1 << 30, "host-memory"),
    ],
)
def test_a_fault_among_the_noise_is_found(
    metric: str, place: Place, value: int | str, fault: str
) -> None:
    """Else silence would prove nothing."""
    node = NoisyNode(first_snapshot(), 5)
    node.put(metric, place, value)
    assert alarms_after(node, 6)[fault] == 1


def test_counters_go_on_over_a_time_in_which_nobody_looked() -> None:
    """The observer stands still, the node does not."""
    node = NoisyNode(first_snapshot(), 1)
    before = node.get("core.execution.success", Place(0, 0))
    node._quiet = 1000.0
    snapshot = node.step()
    after = node.get("core.execution.success", Place(0, 0))
    assert snapshot.monotonic - first_snapshot().monotonic == pytest.approx(STEP + 1000.0)
    assert isinstance(before, int)
    assert after == before + int(4 * (STEP + 1000.0))


def test_the_whole_pipeline_is_silent() -> None:
    """Some minutes of a simulated node with what happens to sound ones."""
    alarms, frames = day("inf2.8xlarge", "2.24.7", 0.3, 1.0)
    assert alarms == Counter()
    assert frames > 800
