"""A training job of one-forward-one-backward pipeline steps, with what was done to it.

    a tensor group computes as long as its slowest rank;
    a replica's pipeline takes Σ stages / m + (m - 1) / m x slowest stage, for m microbatches,
    after its slowest rank has its input;
    the gradients of each stage are summed over the replicas, so a step ends with the slowest
    replica and the slowest transfer, on all ranks at once.

Matrices are steps by ranks in seconds, `float32`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers.faults import STEP_S
from benchmarks.stragglers.noise import FIXED, Noise, busy_factors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.stragglers.benign import Benign
    from benchmarks.stragglers.faults import Fault
    from benchmarks.stragglers.topology import Topology

    Matrix = NDArray[np.float32]

MICROBATCHES_PER_STAGE = 4
LAST_STAGE_EXCESS = 0.12
TRANSFER_SHARE = 0.06
INPUT_S = 0.02
TOKENS = 8192.0
AFFECTS_FROM = 0.01


@dataclass(frozen=True)
class Spec:
    """All that makes a job; equal specs give equal jobs."""

    name: str
    seed: int
    topology: Topology
    steps: int
    noise: Noise = FIXED
    faults: tuple[Fault, ...] = ()
    benign: tuple[Benign, ...] = ()
    restart: int = 0
    step_s: float = STEP_S


@dataclass(frozen=True)
class Job:
    """What truly happened. `period` is one number a step; `effect[i]` is fault i's on it."""

    spec: Spec
    busy: Matrix
    inputs: Matrix
    collective: Matrix
    tokens: Matrix
    period: NDArray[np.float64]
    effect: tuple[float, ...] = field(default=())

    def affects(self, index: int) -> bool:
        """Whether fault `index` makes the job's steps at least 1 % longer."""
        return self.effect[index] >= AFFECTS_FROM


def simulate(spec: Spec) -> Job:
    """Run the job."""
    rng = np.random.default_rng(spec.seed)
    topology, steps = spec.topology, spec.steps
    busy, data = busy_factors(spec.noise, topology, steps, rng)
    busy *= nominal_busy(topology)
    inputs: Matrix = rng.standard_exponential((steps, topology.ranks), dtype=np.float32)
    inputs = np.float32(INPUT_S / 2) * (inputs + 1)
    transfer = np.full((steps, topology.ranks), STEP_S * TRANSFER_SHARE, np.float32)
    for fault in spec.faults:
        _inject(fault, busy, inputs, transfer)
    for event in spec.benign:
        _pass_through(event, busy, data, rng)
    step, slowest_transfer = step_times(topology, busy, inputs, transfer)
    collective = step[:, None] - busy - inputs
    # What a rank waits is at least its own part of the transfer.
    collective = np.maximum(collective, slowest_transfer[:, topology.stage])
    effect = tuple(_effect(f, topology, busy, inputs, transfer) for f in spec.faults)
    if spec.step_s != STEP_S:
        longer = np.float32(spec.step_s / STEP_S)
        busy, inputs, collective, step = (m * longer for m in (busy, inputs, collective, step))
    tokens = TOKENS * data ** np.float32(0.9)
    return Job(spec, busy, inputs, collective, tokens, step.astype(np.float64), effect)


def nominal_busy(topology: Topology) -> Matrix:
    """Busy seconds of each rank of a job whose step takes `STEP_S`."""
    weight = np.ones(topology.pipeline)
    if topology.pipeline > 1:
        weight[-1] += LAST_STAGE_EXCESS
    many = topology.pipeline * MICROBATCHES_PER_STAGE
    length = weight.sum() / many + (many - 1) / many * weight.max()
    unit = STEP_S * (1 - TRANSFER_SHARE) / length
    seconds: Matrix = (unit * weight[topology.stage]).astype(np.float32)
    return seconds


def step_times(
    topology: Topology, busy: Matrix, inputs: Matrix, transfer: Matrix
) -> tuple[Matrix, Matrix]:
    """Seconds of each step, and of each step's transfer in each stage."""
    shape = (-1, topology.pipeline, topology.data, topology.tensor)
    group = busy.reshape(shape).max(axis=3)
    many = topology.pipeline * MICROBATCHES_PER_STAGE
    pipeline = group.sum(axis=1) / many + (many - 1) / many * group.max(axis=1)
    pipeline += inputs.reshape(shape).max(axis=(1, 3))
    moved: Matrix = transfer.reshape(shape).max(axis=(2, 3))
    return pipeline.max(axis=1) + moved.max(axis=1), moved


def _inject(fault: Fault, busy: Matrix, inputs: Matrix, transfer: Matrix) -> None:
    strength = fault.strength(len(busy))[fault.first : fault.last + 1, None]
    where = np.ix_(np.arange(fault.first, fault.last + 1), fault.members)
    if fault.cls == "input":
        inputs[where] += strength * STEP_S
    elif fault.cls == "network":
        transfer[where] *= 1 + strength
    else:
        busy[where] *= 1 + strength


def _effect(
    fault: Fault, topology: Topology, busy: Matrix, inputs: Matrix, transfer: Matrix
) -> float:
    """Mean excess of the step time over what it would have been without this fault."""
    during = slice(fault.first, fault.last + 1)
    held = [matrix[during].copy() for matrix in (busy, inputs, transfer)]
    with_it = step_times(topology, *held)[0]
    strength = fault.strength(len(busy))[during, None]
    ranks = fault.members
    if fault.cls == "input":
        held[1][:, ranks] -= strength * STEP_S
    elif fault.cls == "network":
        held[2][:, ranks] /= 1 + strength
    else:
        held[0][:, ranks] /= 1 + strength
    return float((with_it / step_times(topology, *held)[0]).mean() - 1)


def _pass_through(event: Benign, busy: Matrix, data: Matrix, rng: np.random.Generator) -> None:
    """Change the busy times as a benign event does; what only the views show is not here."""
    rows = slice(event.first, min(event.last + 1, len(busy)))
    if event.kind == "checkpoint":
        share: Matrix = np.asarray(rng.uniform(0.7, 1.0, busy.shape[1]), np.float32)
        busy[rows] += np.float32(event.size) * share
    elif event.kind in ("eval", "recompile"):
        busy[rows] += np.float32(event.size)
    elif event.kind in ("batch change", "sequence imbalance", "stage imbalance"):
        ranks = np.array(event.ranks or range(busy.shape[1]))
        busy[rows, ranks] *= np.float32(1 + event.size)
        if event.kind != "stage imbalance":
            data[rows, ranks] *= np.float32(1 + event.size)
