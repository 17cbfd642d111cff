"""Small made-up jobs for the tests: steps of ranks that compute, wait and load."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.columns import (
    Floats,
    SideColumns,
    StepColumns,
    Times,
    TimeSource,
    Topology,
)
from neuron_observer.stragglers.detector import Detector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.suspects import Assessment

WALL = 1_790_000_000.0
LEARNED = 60  # updates after which a rank is judged: warm-up and baseline


def topology(
    ranks: int = 32, *, stages: int = 2, tensor: int = 4, per_node: int = 8, per_device: int = 4
) -> Topology:
    """Tensor parallel fastest, then data parallel, then pipeline."""
    index = np.arange(ranks)
    replicas = max(ranks // (stages * tensor), 1)
    return Topology.of(
        index.tolist(),
        role=(index // (tensor * replicas)).tolist(),
        replica=((index // tensor) % replicas).tolist(),
        node=[f"n{rank // per_node}" for rank in index.tolist()],
        device=((index % per_node) // per_device).tolist(),
        core=(index % per_device).tolist(),
    )


@dataclass
class Job:
    """A job of `steps` steps; `change(step, busy)` does something to the busy times in place."""

    world: Topology = field(default_factory=topology)
    steps: int = 120
    seed: int = 1
    sigma: float = 0.004
    chip: float = 0.01
    data: float = 0.0  # noise that a replica's ranks share
    change: Callable[[int, Floats], None] | None = None
    load: Callable[[int, Floats], None] | None = None  # does something to the input times
    transfer: Callable[[int, Floats], None] | None = None  # to the shortest collectives
    side: Callable[[int], SideColumns] | None = None
    source: TimeSource = TimeSource.EVENT
    pause: Callable[[int], float] | None = None  # seconds more in a step, on all ranks

    def columns(self) -> Iterator[StepColumns]:
        """The steps, in order."""
        rng = np.random.default_rng(self.seed)
        size = self.world.size
        usual = 4.0 * np.exp(rng.normal(0, self.chip, size))
        replica = self.world.replica
        shared = np.zeros(size, np.int64) if replica is None else replica.codes
        at = WALL
        for step in range(self.steps):
            data = self.data * (rng.gamma(4.0, 1.0, int(shared.max()) + 1) - 4.0) / 2.0
            busy = usual * np.exp(rng.normal(0, self.sigma, size) + data[shared])
            loading = np.full(size, 0.02)
            shortest = 0.02 * (1 + 0.02 * np.abs(rng.normal(0, 1, size)))
            for effect, column in (
                (self.change, busy),
                (self.load, loading),
                (self.transfer, shortest),
            ):
                if effect is not None:
                    effect(step, column)
            extra = self.pause(step) if self.pause else 0.0
            busy_known = busy[np.isfinite(busy)]
            period = float((busy_known.max() if busy_known.size else 4.0) + loading.max()) + 0.3
            at += period + extra
            yield StepColumns(
                step,
                at,
                period + extra,
                Times(busy + extra, self.source),
                Times(np.maximum(period - busy - loading, 0.0), self.source),
                Times(loading, self.source),
                Times(shortest, self.source) if self.transfer else None,
                side=self.side(step) if self.side else SideColumns(),
            )

    def run(self, parameters: Parameters | None = None) -> list[Assessment]:
        """What the detector says after each step."""
        detector = Detector(self.world, parameters) if parameters else Detector(self.world)
        return [detector.update(columns) for columns in self.columns()]


def slow(
    ranks: list[int], ratio: float, first: int, last: int = 10**9
) -> Callable[[int, Floats], None]:
    """Makes ranks slower by a factor in a range of steps."""

    def change(step: int, busy: Floats) -> None:
        if first <= step <= last:
            busy[ranks] *= ratio

    return change
