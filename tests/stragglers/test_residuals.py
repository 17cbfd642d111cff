"""What is left when the work's own ups and downs are removed."""

from __future__ import annotations

import numpy as np
import pytest

from neuron_observer.stragglers.columns import Topology
from neuron_observer.stragglers.parameters import ONLINE
from neuron_observer.stragglers.residuals import Baseline, Scale, TokenTerm, TwoWay, one_way
from neuron_observer.stragglers.robust import sigma
from tests.stragglers.jobs import topology


def test_one_way_needs_enough_ranks() -> None:
    """The median of two ranks is half of each: they are left as they are."""
    logs = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    assert one_way(logs, 5).tolist() == pytest.approx([-0.2, -0.1, 0.0, 0.1, 0.2])
    assert one_way(logs[:2], 5).tolist() == [0.0, 0.1]


def test_a_baseline_is_the_median_of_each_rank_s_own_first_values() -> None:
    """A rank that is missing at times takes longer to have one."""
    baseline = Baseline(2, 5)
    ready = [
        baseline.learn(np.array([1.0 + step, np.nan if step % 2 else 7.0])).tolist()
        for step in range(10)
    ]
    assert ready[4] == [True, False]
    assert ready[8] == [False, True]
    assert baseline.value.tolist() == [3.0, 7.0]


def test_a_baseline_follows_slowly_and_only_where_it_is_free() -> None:
    """One small step in the direction of the residual."""
    baseline = Baseline(2, 1)
    baseline.learn(np.array([1.0, 1.0]))
    baseline.follow(np.array([0.5, 0.5]), 0.001, np.array([True, False]))
    assert baseline.value.tolist() == pytest.approx([1.001, 1.0])


def test_the_scale_has_a_floor_and_forgets_outliers() -> None:
    """One wild update does not move a running median."""
    scale = Scale(9, 0.005)
    for value in (0.001, 0.02, 0.02, 5.0, 0.02, float("nan")):
        scale.add(value)
    assert scale.value == 0.02
    assert Scale(9, 0.005).add(0.0001) == 0.005


def fitted(world: Topology, slopes: np.ndarray, seed: int = 1) -> tuple[TwoWay, float]:
    """A two-way term after 60 updates of uneven data, and the noise that it leaves."""
    rng = np.random.default_rng(seed)
    two_way = TwoWay(world, ONLINE)
    calm = np.ones(world.size, dtype=np.bool_)
    assert world.replica is not None
    assert world.role is not None
    left = []
    for _ in range(60):
        data = rng.normal(0, 0.12, len(world.replica.names))
        logs = slopes[world.role.codes] * data[world.replica.codes]
        left.append(two_way.residual(logs + rng.normal(0, 0.004, world.size), calm))
    return two_way, sigma(np.concatenate(left[20:]))


@pytest.mark.parametrize("slopes", [[1.0, 1.0], [1.0, 0.7]])
def test_data_that_a_replica_shares_is_removed_with_a_slope_a_role(slopes: list[float]) -> None:
    """12 % of noise become less than 1 %, also where stages feel the data unequally."""
    world = topology(64, stages=2, tensor=4)
    _, noise = fitted(world, np.array(slopes))
    assert noise < 0.01


def test_a_slow_rank_device_or_stage_part_does_not_explain_itself_away() -> None:
    """A whole tensor group (half of its replica) keeps its full excess; the others fall below."""
    world = topology(64, stages=2, tensor=4)
    two_way, _ = fitted(world, np.ones(2))
    logs = np.zeros(64)
    logs[:4] += 0.1
    left = two_way.residual(logs, np.ones(64, dtype=np.bool_))
    assert left[:4].tolist() == pytest.approx([0.1] * 4, abs=0.02)
    assert left[4:].max() < 0.02


def test_replicas_of_one_rank_explain_nothing() -> None:
    """Pure data parallelism: every rank is its own replica."""
    world = Topology.of(range(8), role=[0] * 8, replica=list(range(8)))
    assert not TwoWay(world, ONLINE).possible


def test_a_missing_partner_makes_a_rank_unknown_not_slow() -> None:
    """Without the other ranks of its replica nothing predicts it."""
    world = Topology.of(range(8), role=[0] * 4 + [1] * 4, replica=[0, 1, 2, 3] * 2)
    two_way = TwoWay(world, ONLINE)
    logs = np.zeros(8)
    logs[5] = np.nan
    left = two_way.residual(logs, np.ones(8, dtype=np.bool_))
    assert np.isnan(left).tolist() == [False, True, False, False, False, True, False, False]


def test_tokens_are_removed_with_their_slope() -> None:
    """Twice the tokens take 2 ** 0.8 as long here; the slope is found."""
    rng = np.random.default_rng(1)
    term = TokenTerm()
    left = np.zeros(16)
    for _ in range(30):
        tokens = 8192 * rng.lognormal(0, 0.2, 16)
        left = term.remove(0.8 * np.log(tokens), tokens)
    assert np.ptp(left) < 0.01


def test_equal_tokens_change_nothing() -> None:
    """Fixed shapes: the term is silent."""
    logs = np.array([0.1, 0.2, 0.3])
    assert TokenTerm().remove(logs, np.full(3, 512.0)) is logs
