"""Findings, alert text, heat map and the words for what cannot be said."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.contract import finding as document
from neuron_observer.model import Confidence, Severity, State, Verdict
from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.columns import SideColumns, TimeSource, Topology
from neuron_observer.stragglers.detector import Detector
from neuron_observer.stragglers.findings import alert, findings
from neuron_observer.stragglers.heatmap import MOST_COLUMNS, MOST_ROWS, svg
from neuron_observer.stragglers.report import report
from neuron_observer.stragglers.retrospective import account
from neuron_observer.stragglers.suspects import Scope
from neuron_observer.stragglers.table import Table
from neuron_observer.stragglers.worlds import Part
from tests.stragglers.jobs import Job, slow, topology

ONSET = 80


def test_a_suspect_as_a_finding() -> None:
    """Entity, severity, evidence with steps and ratio, and a message for a person."""
    job = Job(change=slow([11], 1.2, ONSET))
    said = job.run()[-1]
    (found,) = [f for f in findings(said, job.world, job="llm") if f.id == "straggler"]
    assert (found.entity.kind, found.entity.rank, found.entity.node) == ("rank", 11, "n1")
    assert (found.entity.device, found.entity.core, found.entity.job) == (0, 3, "llm")
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.PROBABLE)
    assert found.state is State.FIRING
    assert not found.blames_hardware
    assert "rank 11 (node n1, device 0, core 3 (logical)): busy 1.20x" in found.message
    fields = document(found)["evidence"][0]
    assert (fields["first_step"], fields["last_step"]) == (ONSET, 119)
    assert fields["ratio"] == pytest.approx(1.2, abs=0.01)
    assert (fields["kind"], fields["class"], fields["ranks"]) == ("statistic", "compute", "11")
    assert fields["lost_rank_seconds"] > 0


def test_a_hardware_counter_confirms() -> None:
    """ECC events on the device: confirmed, and the device is blamed."""

    def side(step: int) -> SideColumns:
        ecc = np.zeros(32)
        ecc[8:12] = 3.0 if step >= ONSET else 0.0
        return SideColumns(ecc=ecc)

    job = Job(change=slow([8, 9, 10, 11], 1.2, ONSET), side=side)
    (found,) = [f for f in findings(job.run()[-1], job.world) if f.id == "straggler"]
    assert (found.entity.kind, found.entity.device) == ("device", 0)
    assert found.confidence is Confidence.CONFIRMED
    assert found.blames_hardware
    assert {item.trust for item in found.evidence} == {"hardware", "hearsay"}


def test_an_ended_episode_is_resolved() -> None:
    """It comes once, with its begin and end."""
    job = Job(steps=130, change=slow([11], 1.2, ONSET, 100))
    ended = [a for a in job.run() if a.closed]
    assert len(ended) == 1
    (found,) = [f for f in findings(ended[0], job.world) if f.id == "straggler"]
    assert found.state is State.RESOLVED
    assert f"steps {ONSET}-100" in found.message


def test_a_slow_job_without_a_name_says_why() -> None:
    """No hook: the job is slower, and nobody can be named."""
    job = Job(change=slow([11], 1.5, ONSET), source=TimeSource.NONE)
    (found,) = findings(job.run()[-1], job.world)
    assert (found.id, found.entity.kind) == ("job-slow", "job")
    assert "nobody can be named: no rank reports its own busy time" in found.message
    assert found.evidence[0].fields["first_step"] == ONSET


def test_the_alert_text_has_its_seven_lines() -> None:
    """What, effect, class, what it is not, what to do and what it rests on."""
    job = Job(change=slow([11], 1.5, ONSET), side=lambda _: SideColumns(host_gap=np.full(32, 0.05)))
    said = job.run()[-1]
    text = alert(said.suspects[0], job.world, said.slowdown, "hook busy time")
    heads = [line.split(":")[0] for line in text.splitlines()[1:]]
    assert heads == ["What", "Effect", "Class", "Not", "Do", "Basis"]
    assert "waits less than its peers" in text
    assert "rank-seconds lost" in text
    assert "host (unchanged)" in text
    assert text.splitlines()[5].endswith("; if confirmed: replace instance")


def test_a_report_of_a_table_that_was_cut() -> None:
    """Two parts, one too short: judged what can be, the gap is in the coverage."""
    world = Topology.of(range(4), role=[0] * 4)
    rng = np.random.default_rng(1)
    long = Part(world, np.arange(40), rng.lognormal(0, 0.004, (40, 4)))
    short = Part(world, np.arange(40, 45), np.ones((5, 4)))
    told = report(Table("job.csv", [long, short], 180), [account(long), account(short)])
    assert told.verdict is Verdict.HEALTHY
    assert (told.coverage.decided, told.coverage.required) == (1, 2)
    assert "5 steps are too few" in told.coverage.missing[0].why
    assert "cannot be judged: 5 steps are too few" in told.text


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 700), st.integers(1, 300), st.integers(0, 99))
def test_any_table_makes_a_picture_of_bounded_size(steps: int, ranks: int, seed: int) -> None:
    """Well-formed, no more cells than the bound, title escaped."""
    rng = np.random.default_rng(seed)
    residual = rng.normal(0, 0.2, (steps, ranks))
    residual[rng.random((steps, ranks)) < 0.1] = np.nan
    text = svg(residual, np.arange(steps), np.arange(ranks), "a <b> & c")
    root = ET.fromstring(text)  # noqa: S314 - our own text
    cells = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if e.get("height") != "10"]
    assert len(cells) <= MOST_ROWS * MOST_COLUMNS + 2
    assert "a &lt;b&gt; &amp; c" in text


def test_detector_names_scopes_for_many_ranks_shortly() -> None:
    """A node of many ranks is named by node, with a few of its ranks."""
    world = topology(64, per_node=16)
    job = Job(world, change=slow(list(range(16, 32)), 1.2, ONSET))
    detector = Detector(world)
    said = [detector.update(columns) for columns in job.columns()][-1]
    (suspect,) = said.suspects
    assert (suspect.scope, suspect.tier) == (Scope.NODE, Tier.WARNING)
    (found,) = [f for f in findings(said, world) if f.id == "straggler"]
    assert "node n1 (ranks 16, 17" in found.message
    assert "and 8 more" in found.message
