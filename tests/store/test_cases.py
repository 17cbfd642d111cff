"""Mistakes that other tools made over restarts, with the right behaviour; named by case.

Reader, loop, rules and store are the real ones, on simulated hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.model import NODE, Confidence, Event, State, Verdict
from neuron_observer.store.retention import Retention
from tests.store.nodes import Node
from tests.store.watched import Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from neuron_observer.model import Finding, Frame


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[[str, float], Watched]]:
    """Watches a scenario from a second of it on."""
    made: list[Watched] = []

    def make(scenario: str, begin: float) -> Watched:
        made.append(Watched(tmp_path / "state", scenario, begin))
        return made[-1]

    yield make
    for one in made:
        one.kill()


def one(frame: Frame, finding: str) -> Finding:
    """The finding of an id that stands; the first of several."""
    return next(f for f in frame.findings if f.id == finding)


def stands(frame: Frame, finding: str) -> bool:
    """Whether it does."""
    return any(f.id == finding and f.state is not State.RESOLVED for f in frame.findings)


@pytest.mark.parametrize("killed", [False, True])
def test_e08_what_comes_back_clears_with_both_times(
    watch: Callable[[str, float], Watched], *, killed: bool
) -> None:
    """A port is down and up again, also while nobody watched: no restart is needed to clear it."""
    node = watch("port-down", 110.0)
    down = one(node.go(50.0), "efa-port-down")
    assert down.state is State.FIRING
    if killed:
        node.kill()
        node.clock.advance(320.0)  # it comes up at second 440 of the scenario
        node.start()
    else:
        node.clock.advance(300.0)
        node.go(20.0)
    before = node.clock.wall()
    node.go(120.0)
    assert not stands(node.frames[-1], "efa-port-down")
    assert node.store.past is not None
    turns = [t for t in node.store.past.turns() if t.finding.id == "efa-port-down"]
    begun, ended = turns
    assert (begun.change, ended.change) == ("begun", "ended")
    assert begun.at == down.first_seen
    assert before - 60.0 <= ended.at <= before + 120.0


def test_e08_what_needs_a_replacement_does_not_clear(
    watch: Callable[[str, float], Watched],
) -> None:
    """An SRAM error stands after an hour, two restarts and a reload of the driver's counters."""
    node = watch("sram-error", 110.0)
    first = one(node.go(25.0), "sram-uncorrectable")
    assert first.confidence is Confidence.CONFIRMED
    for _ in range(2):
        node.again(1800.0)
        frame = node.go(25.0)
        now = one(frame, "sram-uncorrectable")
        assert (now.state, now.first_seen) == (State.FIRING, first.first_seen)
        assert now.confidence is Confidence.CONFIRMED
        assert frame.health.verdict is Verdict.UNHEALTHY


@pytest.mark.parametrize("scenario", ["sram-error", "hbm-unrepairable"])
def test_e09_never_healthy_between_a_start_and_the_first_check(
    watch: Callable[[str, float], Watched], scenario: str
) -> None:
    """Every frame after the restart has the fault, from the first one on; once, not anew."""
    node = watch(scenario, 110.0)
    before = node.go(25.0)
    assert before.health.verdict is Verdict.UNHEALTHY
    node.again(300.0)
    node.go(20.0)
    assert {frame.health.verdict for frame in node.frames} == {Verdict.UNHEALTHY}
    for f in before.findings:
        if f.severity.value == "critical" and f.confidence is Confidence.CONFIRMED:
            assert all(one(frame, f.id).first_seen == f.first_seen for frame in node.frames)


@pytest.mark.parametrize("scenario", ["idle", "training"])
def test_e20_a_well_node_is_well_with_a_memory_too(
    watch: Callable[[str, float], Watched], scenario: str
) -> None:
    """Idle or busy, at its first start and after a restart: nothing that is kept fails it."""
    node = watch(scenario, 110.0)
    assert node.go(15.0).health.verdict is Verdict.HEALTHY
    node.again()
    assert node.go(15.0).health.verdict is Verdict.HEALTHY
    node.again(3600.0)
    frame = node.go(15.0)
    assert frame.health.verdict is Verdict.HEALTHY
    assert [f.id for f in frame.findings if f.severity.value != "info"] == []


def test_e43_a_reload_while_nobody_watched_makes_no_news(
    watch: Callable[[str, float], Watched],
) -> None:
    """Counters begin at 0 again: what they show since then is no fall, no jump, no fault."""
    node = watch("driver-reload", 100.0)
    assert node.go(10.0).health.verdict is Verdict.HEALTHY
    node.again(120.0)  # the reload is over
    frame = node.go(30.0)
    assert frame.health.verdict is Verdict.HEALTHY
    assert [f.id for f in frame.findings if f.severity.value != "info"] == []
    metrics = {name for batch in frame.snapshot.batches for name in batch.layout.columns}
    assert "core.execution.completed" in metrics or "core.execution.success" in metrics


def test_e06_a_device_that_answers_again_is_over_once(
    watch: Callable[[str, float], Watched],
) -> None:
    """Not answering over a restart; when it answers, the finding ends, and no second one comes."""
    node = watch("firmware-dead", 120.0)
    node.go(60.0)
    assert stands(node.frames[-1], "device-not-answering")
    node.again()
    assert stands(node.go(5.0), "device-not-answering")
    node.clock.advance(300.0)  # it answers from second 440 on
    node.go(150.0)
    assert not stands(node.frames[-1], "device-not-answering")
    assert node.store.past is not None
    turns = [t.change for t in node.store.past.turns() if t.finding.id == "device-not-answering"]
    assert turns == ["begun", "ended"]


def test_e26_thousands_of_short_jobs_leave_a_small_file(tmp_path: Path) -> None:
    """Each with its begin and its end: the file stays under its bound, nothing waits in memory."""
    node = Node(tmp_path / "state", [])
    node.retention = Retention(max_bytes=9_000_000)  # of which the log may take 8
    node.kill()
    node.start()
    for number in range(2_000):
        kind = "job_started" if number % 2 else "job_ended"
        told = Event(kind, NODE, node.clock.wall(), f"job {number}" + "x" * 1000)
        node.look(18.0, None, told)
        if number % 25 == 0:
            node.flush()
    node.flush()
    status = node.keeper._writer.status()
    assert (status.waiting, status.dropped) == (0, 0)
    assert (tmp_path / "state/state.db").stat().st_size < 1_300_000
    assert status.bytes < 9_000_000
    node.kill()
