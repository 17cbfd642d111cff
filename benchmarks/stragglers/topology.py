"""Who is where in a job: tensor parallel fastest, then data parallel, then pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Topology:
    """A rectangular job. All arrays have one entry a rank."""

    tensor: int
    data: int
    pipeline: int
    ranks_per_device: int
    ranks_per_node: int

    @property
    def ranks(self) -> int:
        """World size."""
        return self.tensor * self.data * self.pipeline

    @property
    def nodes(self) -> int:
        """Machines that the job fills."""
        return self.ranks // self.ranks_per_node

    @cached_property
    def stage(self) -> Ints:
        """Pipeline stage: ranks of one stage do equal work on equal data."""
        return (np.arange(self.ranks) // (self.tensor * self.data)).astype(np.int32)

    @cached_property
    def replica(self) -> Ints:
        """Data-parallel index: all ranks of a replica see the same samples."""
        return (np.arange(self.ranks) // self.tensor % self.data).astype(np.int32)

    @cached_property
    def tensor_group(self) -> Ints:
        """Index of the tensor-parallel group, `stage x data + replica`."""
        return (np.arange(self.ranks) // self.tensor).astype(np.int32)

    @cached_property
    def device(self) -> Ints:
        """Device, counted over the whole job."""
        return (np.arange(self.ranks) // self.ranks_per_device).astype(np.int32)

    @cached_property
    def node(self) -> Ints:
        """Machine."""
        return (np.arange(self.ranks) // self.ranks_per_node).astype(np.int32)

    def on_device(self, device: int) -> tuple[int, ...]:
        """Ranks of one device."""
        first = device * self.ranks_per_device
        return tuple(range(first, first + self.ranks_per_device))

    def on_node(self, node: int) -> tuple[int, ...]:
        """Ranks of one machine."""
        first = node * self.ranks_per_node
        return tuple(range(first, first + self.ranks_per_node))


# trn2.48xlarge: 16 chips with 4 logical cores each (LNC 2), so 64 ranks a node. The small jobs
# are one node of 4 chips with 2 cores each (Trn1), and 4 nodes of 4 chips with 4 cores each.
TOPOLOGIES = {
    8: Topology(tensor=1, data=4, pipeline=2, ranks_per_device=2, ranks_per_node=8),
    64: Topology(tensor=4, data=8, pipeline=2, ranks_per_device=4, ranks_per_node=16),
    512: Topology(tensor=8, data=16, pipeline=4, ranks_per_device=4, ranks_per_node=64),
    4096: Topology(tensor=8, data=64, pipeline=8, ranks_per_device=4, ranks_per_node=64),
}
