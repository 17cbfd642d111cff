"""The smallest thing that explains the slow ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.stragglers.columns import Topology
from neuron_observer.stragglers.parameters import ONLINE
from neuron_observer.stragglers.scopes import Scopes
from neuron_observer.stragglers.suspects import Scope
from tests.stragglers.jobs import topology

WORLD = topology(64, stages=2, tensor=4, per_node=16)  # 4 nodes of 4 devices of 4 ranks
SCOPES = Scopes(WORLD, ONLINE)


def split(rows: list[int], scopes: Scopes = SCOPES, size: int = 64) -> list[tuple[Scope, int]]:
    """Scope and number of ranks of each cluster."""
    mask = np.zeros(size, dtype=np.bool_)
    mask[rows] = True
    return [(cluster.scope, len(cluster.rows)) for cluster in scopes.clusters(mask, mask)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([5], [(Scope.CORE, 1)]),
        ([5, 9], [(Scope.CORE, 1), (Scope.CORE, 1)]),
        ([4, 5], [(Scope.DEVICE, 2)]),
        ([4, 5, 6, 7, 40], [(Scope.DEVICE, 4), (Scope.CORE, 1)]),
        (list(range(16, 32)), [(Scope.NODE, 16)]),
        (list(range(16, 25)), [(Scope.NODE, 9)]),
        (list(range(16, 20)), [(Scope.DEVICE, 4)]),
        (list(range(32)), [(Scope.WORKLOAD, 32)]),
        ([0, 1, 2, 3, 32, 33, 34, 35], [(Scope.WORKLOAD, 8)]),
    ],
)
def test_clusters(rows: list[int], expected: list[tuple[Scope, int]]) -> None:
    """Ranks, devices, nodes, a stage (half of the job), a replica (two devices on two nodes)."""
    assert split(rows) == expected


def test_a_stage_on_one_device_is_the_device() -> None:
    """Where stage and device are the same ranks, the machine is not cleared."""
    world = Topology.of(
        range(8), role=[r // 2 for r in range(8)], device=[r // 2 for r in range(8)]
    )
    assert split([2, 3], Scopes(world, ONLINE), 8) == [(Scope.DEVICE, 2)]


def test_ranks_on_the_way_decide_whether_a_stage_is_whole() -> None:
    """Two ranks are flagged first, but the whole stage is rising: no rank is named."""
    flagged, rising = np.zeros(64, dtype=np.bool_), np.zeros(64, dtype=np.bool_)
    flagged[[3, 21]] = True
    rising[:32] = True
    (cluster,) = SCOPES.clusters(flagged, rising)
    assert (cluster.scope, cluster.rows) == (Scope.WORKLOAD, (3, 21))


@given(st.lists(st.integers(0, 63), unique=True))
def test_every_flagged_rank_is_in_exactly_one_cluster(rows: list[int]) -> None:
    """Nobody is lost, nobody is added."""
    mask = np.zeros(64, dtype=np.bool_)
    mask[rows] = True
    found = [row for cluster in SCOPES.clusters(mask, mask) for row in cluster.rows]
    assert sorted(found) == sorted(rows)
