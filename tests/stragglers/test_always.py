"""Levels and uneven work: slow since before we watched, or heavy by design."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from neuron_observer.stragglers.always import always_slow
from neuron_observer.stragglers.columns import Topology
from neuron_observer.stragglers.imbalance import imbalances
from neuron_observer.stragglers.parameters import ONLINE, RETROSPECTIVE, SCRAPED
from tests.stragglers.jobs import topology

WORLD = topology(64, stages=2, tensor=4, per_node=8)  # 8 nodes of two devices


def flagged(levels: np.ndarray, world: Topology = WORLD) -> list[int]:
    """The rows that are always slow."""
    ratio, _ = always_slow(levels, world, ONLINE)
    return np.flatnonzero(np.isfinite(ratio)).tolist()


def spread(sd: float, seed: int = 1) -> np.ndarray:
    """Levels of healthy chips."""
    return np.random.default_rng(seed).normal(0, sd, 64)


def test_a_rank_ten_per_cent_above_its_role_elsewhere() -> None:
    """And nobody else; a heavier stage is its own measure."""
    levels = spread(0.01)
    levels[32:] += 0.4
    levels[40] += 0.12
    assert flagged(levels) == [40]


def test_a_whole_slow_node_is_found_although_it_is_a_quarter_of_its_role() -> None:
    """It is compared with the other nodes."""
    levels = spread(0.005)
    levels[8:16] += 0.12
    assert flagged(levels) == list(range(8, 16))


@pytest.mark.parametrize("seed", range(40))
def test_chips_that_differ_by_four_per_cent_are_not_slow(seed: int) -> None:
    """The spread between ranks is part of the test."""
    assert flagged(spread(0.04, seed)) == []


@pytest.mark.parametrize(
    ("world", "why"),
    [
        (replace(WORLD, role=None), "roles unknown"),
        (replace(WORLD, node=None, device=None), "no role has 5 ranks on three nodes or devices"),
        (Topology.of(range(64), role=list(range(64)), node=list(range(64))), "no role has 5"),
    ],
)
def test_what_cannot_be_decided_is_told(world: Topology, why: str) -> None:
    """Nobody is flagged, and the reason is given."""
    levels = spread(0.01)
    levels[3] += 0.5
    ratio, reason = always_slow(levels, world, ONLINE)
    assert not np.isfinite(ratio).any()
    assert reason.startswith(why)


def test_even_work_is_no_imbalance() -> None:
    """Fixed shapes, equal stages."""
    busy = np.random.default_rng(1).lognormal(0, 0.004, (50, 64))
    assert imbalances(WORLD, np.arange(50), busy, ONLINE) == ()


def test_one_slow_rank_is_no_uneven_data() -> None:
    """It is always the same rank that is slowest: that is a straggler's matter."""
    busy = np.random.default_rng(1).lognormal(0, 0.004, (50, 64))
    busy[:, 7] *= 1.5
    assert imbalances(WORLD, np.arange(50), busy, ONLINE) == ()


def test_parameters_are_frozen() -> None:
    """Three sets, and nobody changes a number on the way."""
    with pytest.raises(FrozenInstanceError):
        ONLINE.effect = 0.01  # type: ignore[misc]
    assert {ONLINE.persist, SCRAPED.persist, RETROSPECTIVE.persist} == {10, 3}
    assert (ONLINE.effect, ONLINE.sigma_floor, ONLINE.slowdown) == (0.05, 0.005, 1.10)
