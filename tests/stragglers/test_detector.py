"""The detector on made-up jobs: who is named, when, and above all who is not."""

from __future__ import annotations

from dataclasses import replace
from itertools import starmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.columns import StepColumns, Times, TimeSource, Topology
from neuron_observer.stragglers.detector import Detector
from neuron_observer.stragglers.suspects import Agreement, Assessment, Kind, Regime, Scope
from tests.stragglers.jobs import WALL, Job, slow, topology

ONSET = 80


def named(assessments: list[Assessment], least: Tier = Tier.NOTICE) -> set[tuple[int, ...]]:
    """All sets of ranks that were ever named, at this tier or above."""
    return {
        suspect.ranks
        for assessment in assessments
        for suspect in assessment.suspects
        if suspect.tier >= least
    }


def first_at(assessments: list[Assessment], tier: Tier) -> int:
    """The step after which somebody stood at this tier."""
    return next(a.step for a in assessments if any(s.tier >= tier for s in a.suspects))


def test_a_slow_rank_is_named_at_the_fourth_slow_step_and_warned_of_at_the_tenth() -> None:
    """A 5 % slowdown of one rank, and nobody else."""
    said = Job(change=slow([11], 1.06, ONSET)).run()
    assert named(said) == {(11,)}
    assert first_at(said, Tier.NOTICE) == ONSET + 3
    assert first_at(said, Tier.WARNING) == ONSET + 9
    suspect = said[-1].suspects[0]
    assert (suspect.scope, suspect.kind, suspect.first_step) == (Scope.CORE, Kind.COMPUTE, ONSET)
    assert suspect.ratio == pytest.approx(1.06, abs=0.01)
    assert suspect.agreement is Agreement.AGREES


def test_a_rank_that_waits_as_long_as_its_peers_is_not_called_the_culprit() -> None:
    """High busy time that shortens no wait is a wrong measurement or off the path: info only."""
    said = []
    world = topology()
    detector = Detector(world)
    for columns in Job(world, change=slow([11], 1.2, ONSET)).columns():
        flat = Times(np.full(world.size, 0.3))
        said.append(detector.update(replace(columns, wait=flat)))
    assert said[-1].suspects[0].agreement is Agreement.DIFFERS
    assert said[-1].suspects[0].tier is Tier.NOTICE
    assert any("rank 11" in why for why in said[-1].refusals)


@pytest.mark.parametrize("ratio", [1.0, 1.2, 2.0])
def test_the_whole_job_slower_names_nobody(ratio: float) -> None:
    """A larger batch: stage A speaks, stage B does not."""
    said = Job(change=slow(list(range(32)), ratio, ONSET)).run()
    assert named(said) == set()
    assert (said[-1].slowdown is not None) == (ratio > 1.1)
    if said[-1].slowdown is not None:
        assert said[-1].slowdown.ratio == pytest.approx(ratio, rel=0.1)
        assert "alike" in said[-1].refusals[0]


def test_without_busy_times_nobody_is_named() -> None:
    """Clocks around asynchronous calls say that the job is slower, never who."""
    said = Job(change=slow([11], 1.5, ONSET), source=TimeSource.NONE).run()
    assert named(said) == set()
    assert said[-1].regime is Regime.BLIND
    assert said[-1].slowdown is not None
    assert "hook" in said[-1].refusals[0]


def test_a_device_and_a_node_are_named_as_such() -> None:
    """Four ranks of a device; eight ranks of a node of 8."""
    device = Job(change=slow([4, 5, 6, 7], 1.1, ONSET)).run()
    assert named(device, Tier.WARNING) == {(4, 5, 6, 7)}
    assert device[-1].suspects[0].scope is Scope.DEVICE
    assert device[-1].suspects[0].kind is Kind.CHIP
    node = Job(change=slow(list(range(8, 16)), 1.1, ONSET)).run()
    assert named(node, Tier.WARNING) == {tuple(range(8, 16))}
    assert node[-1].suspects[0].scope is Scope.NODE


def test_a_slow_stage_is_the_work_and_stays_an_information() -> None:
    """All ranks of a stage: imbalance, whatever the size; after long it is the new usual."""
    said = Job(steps=260, change=slow(list(range(16, 32)), 1.3, ONSET)).run()
    assert {s.kind for a in said for s in a.suspects} == {Kind.IMBALANCE}
    assert named(said, Tier.WARNING) == set()
    assert said[-1].suspects == ()


def test_uneven_data_of_a_replica_is_removed() -> None:
    """Noise of 12 % that the ranks of a replica share hides nothing and accuses nobody."""
    healthy = Job(data=0.12, steps=300).run()
    assert named(healthy) == set()
    assert healthy[-1].regime is Regime.TWO_WAY
    said = Job(data=0.12, change=slow([9], 1.08, ONSET)).run()
    assert named(said) == {(9,)}


def test_noise_that_nothing_explains_allows_no_warning() -> None:
    """Without replicas the same noise makes small slowdowns invisible, and the limit says so."""
    world = replace(topology(), replica=None)
    said = Job(world, data=0.0, sigma=0.12, steps=200, change=slow([9], 2.5, 100)).run()
    assert said[-1].regime is Regime.NOISY
    assert named(said, Tier.WARNING) == set()
    assert named(said) == {(9,)}
    assert said[-1].limit > 0.2


def test_a_missing_hook_is_no_fault_and_is_told() -> None:
    """One rank stops reporting while the job slows: it may be that one."""

    def change(step: int, busy: np.ndarray) -> None:
        if step >= ONSET:
            busy[5] = np.nan

    job = Job(change=change)
    detector = Detector(job.world)
    said = [
        detector.update(replace(columns, period=columns.period * (1.4 if step >= ONSET else 1)))
        for step, columns in enumerate(job.columns())
    ]
    assert named(said) == set()
    assert said[-1].slowdown is not None
    assert "1 ranks do not report" in said[-1].refusals[0]


def test_pauses_are_silent() -> None:
    """A checkpoint of 40 s every 25 steps is no slow step of anybody."""
    said = Job(steps=300, pause=lambda step: 40.0 if step % 25 == 24 else 0.0).run()
    assert named(said) == set()
    assert all(a.slowdown is None for a in said)


def test_a_rank_slow_enough_to_look_like_a_pause_is_found() -> None:
    """Steps of more than three times the usual, because one rank computes that long."""
    said = Job(change=slow([3], 4.0, ONSET)).run()
    assert first_at(said, Tier.NOTICE) == ONSET + 3


def test_a_restart_forgets_everything() -> None:
    """Another restart count: new baselines, and step numbers may begin anew."""
    world = topology()
    detector = Detector(world)
    for columns in Job(world, change=slow([1], 1.3, 70)).columns():
        detector.update(columns)
    assert detector.assessment is not None
    assert detector.assessment.suspects
    first = next(Job(world).columns())
    assert detector.update(replace(first, restart=1)).suspects == ()
    assert detector.update(replace(first, step=1, restart=1)).regime is Regime.LEARNING


def test_times_taken_in_another_way_are_learned_anew() -> None:
    """A rank whose clock changes from events to blocking calls is not slow by that."""
    world = topology()
    detector = Detector(world)
    said = []
    for columns in Job(world).columns():
        busy, codes = columns.busy, np.full(world.size, TimeSource.EVENT, np.uint8)
        assert busy is not None
        seconds = busy.seconds.copy()
        if columns.step >= ONSET:
            codes[2], seconds[2] = TimeSource.BLOCKING, seconds[2] * 1.3
        said.append(detector.update(replace(columns, busy=Times(seconds, codes))))
    assert named(said) == set()


def test_a_rank_always_slow_is_told_from_its_role_on_other_nodes() -> None:
    """Slow before we watched: no onset, but a level."""
    said = Job(change=slow([6], 1.15, 0)).run()
    (suspect,) = said[-1].suspects
    assert (suspect.ranks, suspect.kind, suspect.tier) == ((6,), Kind.ALWAYS, Tier.WARNING)
    assert suspect.ratio == pytest.approx(1.15, abs=0.04)


def test_few_ranks_are_compared_with_their_own_past_only() -> None:
    """Of two ranks one can be named; both at once cannot be told from the work."""
    pair = Topology.of([0, 1])
    assert named(Job(pair, change=slow([1], 1.2, ONSET)).run(), Tier.WARNING) == {(1,)}
    both = Job(pair, change=slow([0, 1], 1.2, ONSET)).run()
    assert named(both) == set()
    assert any("so few ranks" in why for why in both[-1].refusals)


def test_a_lasting_costly_warning_becomes_critical() -> None:
    """Four minutes and a tenth of the job's time."""
    said = Job(steps=160, change=slow([20], 1.5, ONSET)).run()
    assert said[-1].suspects[0].tier is Tier.CRITICAL
    start = first_at(said, Tier.WARNING)
    seconds = said[first_at(said, Tier.CRITICAL)].at - said[start].at
    assert seconds >= 240


def test_a_clock_that_jumps_makes_nothing_critical() -> None:
    """An hour's jump of the wall clock is not four minutes of warning."""
    detector = Detector(topology())
    said = []
    for columns in Job(steps=100, change=slow([20], 1.5, ONSET)).columns():
        jump = 3600.0 if columns.step >= 92 else 0.0
        said.append(detector.update(replace(columns, at=columns.at + jump)))
    assert named(said, Tier.WARNING) == {(20,)}
    assert named(said, Tier.CRITICAL) == set()


def test_input_slow_ranks_and_storage() -> None:
    """One rank's data loader, then all of them at once."""
    one = Job(load=lambda step, load: _add(load, [7], 0.5, step)).run()
    assert {(s.kind, s.ranks) for s in one[-1].suspects} == {(Kind.INPUT, (7,))}
    everybody = list(range(32))
    shared = Job(load=lambda step, load: _add(load, everybody, 0.5, step)).run()
    (suspect,) = shared[-1].suspects
    assert (suspect.kind, suspect.scope, suspect.ranks) == (Kind.INPUT, Scope.JOB, ())


def _add(column: np.ndarray, rows: list[int], seconds: float, step: int) -> None:
    if step >= ONSET:
        column[rows] += seconds


def test_a_healthy_job_with_ugly_noise_gets_no_warning() -> None:
    """Heavy tails and hiccups of one to six steps; a thousand steps of 32 ranks."""
    rng = np.random.default_rng(7)
    left = np.zeros(32, np.int64)

    def ugly(_step: int, busy: np.ndarray) -> None:
        busy *= 1 + 0.02 * rng.standard_t(3, 32).clip(-6, 6)
        np.maximum(left - 1, 0, out=left)
        left[rng.random(32) < 1 / 2000] = rng.integers(1, 7)
        busy[left > 0] *= 1.3

    said = Job(steps=1000, change=ugly).run()
    assert named(said, Tier.WARNING) == set()


def test_columns_of_another_length_are_refused() -> None:
    """One value a rank, or an error that says how many there were."""
    detector = Detector(topology())
    with pytest.raises(ValueError, match="3 busy, 32 ranks"):
        detector.update(StepColumns(0, WALL, busy=Times(np.ones(3))))


def test_steps_that_go_back_are_refused() -> None:
    """A second run of the same steps is a restart, and must be told as one."""
    detector = Detector(topology())
    columns = next(Job().columns())
    detector.update(replace(columns, step=5))
    with pytest.raises(ValueError, match="step 5 after step 5"):
        detector.update(replace(columns, step=5))


def outline(assessments: list[Assessment]) -> list[tuple[int, Tier, tuple[int, ...], Kind, Scope]]:
    """What was said, without figures."""
    return [
        (a.step, s.tier, tuple(sorted(s.ranks)), s.kind, s.scope)
        for a in assessments
        for s in a.suspects
    ]


jobs = st.builds(
    Job,
    seed=st.integers(0, 10_000),
    steps=st.just(110),
    chip=st.sampled_from([0.0, 0.02]),
    data=st.sampled_from([0.0, 0.1]),
    change=st.builds(
        slow,
        st.lists(st.integers(0, 31), min_size=1, max_size=6, unique=True),
        st.floats(1.05, 3.0),
        st.integers(70, 95),
    ),
)


@settings(max_examples=12, deadline=None)
@given(jobs, st.randoms(use_true_random=False))
def test_permuting_the_ranks_permutes_the_findings(job: Job, random: object) -> None:
    """Nothing depends on the order in which ranks are listed."""
    order = list(range(32))
    random.shuffle(order)  # type: ignore[attr-defined]
    rows = np.array(order)
    world = job.world
    mixed = Topology.of(
        world.ranks[rows].tolist(),
        role=[world.role.name(row) for row in order] if world.role else None,
        replica=[world.replica.name(row) for row in order] if world.replica else None,
        node=[world.node.name(row) for row in order] if world.node else None,
        device=world.device_index[rows].tolist() if world.device_index is not None else None,
    )
    detector = Detector(mixed)
    again = [detector.update(_reordered(columns, rows)) for columns in job.columns()]
    assert sorted(outline(again)) == sorted(outline(job.run()))


def _reordered(columns: StepColumns, rows: np.ndarray) -> StepColumns:
    def moved(times: Times | None) -> Times | None:
        return None if times is None else Times(times.seconds[rows], times.source)

    return replace(
        columns,
        busy=moved(columns.busy),
        wait=moved(columns.wait),
        input=moved(columns.input),
    )


@settings(max_examples=12, deadline=None)
@given(jobs, st.sampled_from([1e-3, 0.37, 20.0]))
def test_scaling_all_times_leaves_the_findings(job: Job, factor: float) -> None:
    """Seconds or minutes: only ratios count (but for the four minutes of critical)."""

    def scaled(times: Times | None) -> Times | None:
        return None if times is None else Times(times.seconds * factor, times.source)

    detector = Detector(job.world)
    said = [
        detector.update(
            replace(
                columns,
                period=columns.period * factor,
                busy=scaled(columns.busy),
                wait=scaled(columns.wait),
                input=scaled(columns.input),
            )
        )
        for columns in job.columns()
    ]
    usual = [(step, min(tier, 2), *rest) for step, tier, *rest in outline(job.run())]
    assert [(step, min(tier, 2), *rest) for step, tier, *rest in outline(said)] == usual


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_another_healthy_rank_accuses_nobody(seed: int) -> None:
    """A job of 32 ranks with a slow one, then with eight healthy ranks more."""
    small = Job(topology(32), seed=seed, change=slow([2], 1.1, ONSET)).run()
    large = Job(topology(40, stages=1), seed=seed, change=slow([2], 1.1, ONSET)).run()
    assert named(small) == named(large) == {(2,)}


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 40), st.floats(1e-4, 1e4), st.integers(0, 99))
def test_a_constant_job_never_alarms(ranks: int, seconds: float, seed: int) -> None:
    """No noise at all is no reason to see any."""
    levels = seconds * np.random.default_rng(seed).uniform(0.5, 2.0, ranks)
    detector = Detector(Topology.of(range(ranks)))
    for step in range(100):
        times = Times(levels)
        columns = StepColumns(step, WALL + step, seconds, times, Times(np.zeros(ranks)), times)
        assert detector.update(columns).suspects == ()


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_rubbish_never_crashes(ranks: int, seed: int, share: float) -> None:
    """NaN, zero, negative and infinite times in any column."""
    rng = np.random.default_rng(seed)
    rubbish = np.array([np.nan, 0.0, -1.0, 1e-9, 1e9, np.inf])
    detector = Detector(Topology.of(range(ranks), role=[0] * ranks))

    def column() -> Times:
        good = rng.lognormal(0, 0.1, ranks)
        bad = rng.random(ranks) < share
        source = rng.choice(np.array([0, 1, 2], np.uint8), ranks)
        return Times(np.where(bad, rng.choice(rubbish, ranks), good), source)

    for step in range(90):
        period = float(rng.choice(np.array([1.0, 1.0, 1.0, np.nan, 30.0, 0.0])))
        columns = StepColumns(
            step,
            WALL + step,
            period,
            column(),
            column(),
            column(),
            column() if rng.random() < 0.5 else None,
            tokens=column().seconds,
        )
        assessment = detector.update(columns)
        assert all(set(s.ranks) <= set(range(ranks)) for s in assessment.suspects)


def test_tokens_explain_a_longer_step() -> None:
    """A rank with more tokens than the others is not slow."""
    rng = np.random.default_rng(3)

    def changed(columns: StepColumns) -> StepColumns:
        tokens = np.full(32, 8192.0) * rng.lognormal(0, 0.1, 32)
        if columns.step >= ONSET:
            tokens[4] *= 1.4
        assert columns.busy is not None
        busy = Times(columns.busy.seconds * tokens / 8192.0)
        return replace(columns, busy=busy, tokens=tokens, wait=None)

    world = replace(topology(), replica=None)
    detector = Detector(world)
    said = [detector.update(changed(columns)) for columns in Job(world).columns()]
    assert named(said) == set()
    assert said[-1].regime is Regime.FIXED


def test_updates_give_the_same_whether_or_not_they_are_kept() -> None:
    """The detector holds no reference to what it was given: columns may be reused."""
    buffer = np.empty(32)
    world = topology()
    detector = Detector(world)

    def reused(columns: StepColumns) -> Assessment:
        assert columns.busy is not None
        buffer[:] = columns.busy.seconds
        return detector.update(replace(columns, busy=Times(buffer)))

    job = Job(world, change=slow([11], 1.2, ONSET))
    said = list(starmap(reused, ((columns,) for columns in job.columns())))
    assert outline(said) == outline(job.run())
