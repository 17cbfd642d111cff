"""Who is where."""

import numpy as np
import pytest

from benchmarks.stragglers.topology import TOPOLOGIES, Topology


def test_tensor_parallel_is_fastest_then_data_then_pipeline() -> None:
    """Neighbouring ranks form tensor groups; a stage is a contiguous block."""
    topology = Topology(tensor=2, data=3, pipeline=2, ranks_per_device=2, ranks_per_node=4)
    assert topology.ranks == 12
    assert topology.stage.tolist() == [0] * 6 + [1] * 6
    assert topology.replica.tolist() == [0, 0, 1, 1, 2, 2] * 2
    assert topology.tensor_group.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


@pytest.mark.parametrize("ranks", [8, 64, 512, 4096])
def test_the_four_jobs_fill_whole_devices_and_nodes(ranks: int) -> None:
    """Each standard job has as many ranks as its name says, in whole devices and nodes."""
    topology = TOPOLOGIES[ranks]
    assert topology.ranks == ranks
    assert set(np.bincount(topology.device)) == {topology.ranks_per_device}
    assert set(np.bincount(topology.node)) == {topology.ranks_per_node}


def test_ranks_of_a_device_and_a_node_agree_with_the_columns() -> None:
    """`on_device` and `on_node` list the ranks that the columns give."""
    topology = TOPOLOGIES[64]
    assert topology.on_device(3) == tuple(np.flatnonzero(topology.device == 3))
    assert topology.on_node(1) == tuple(np.flatnonzero(topology.node == 1))
