"""Which jobs are run: fault jobs, healthy days, benign events, and those kept for the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers import benign
from benchmarks.stragglers.faults import HELD_OUT_KINDS, KINDS, STEP_S, Fault, schedule
from benchmarks.stragglers.job import Spec
from benchmarks.stragglers.noise import FIXED, STRESS, VARIABLE, Noise
from benchmarks.stragglers.topology import TOPOLOGIES, Topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.stragglers.benign import BenignKind
    from benchmarks.stragglers.faults import Kind

DAY_STEPS = 86_400 / STEP_S
SHAPES = {"fixed": FIXED, "variable": VARIABLE}
FAULT_JOB_STEPS = 1200
BENIGN_STEPS = 900
BENIGN_AT = 300
HELD_OUT_SEED = 7_777_000
# What every job goes through sooner or later; the rest changes its shape and has its own suite.
COMMON: tuple[BenignKind, ...] = ("checkpoint", "eval", "recompile", "batch change")


@dataclass(frozen=True)
class Size:
    """How much is run of each kind."""

    fault_jobs: dict[int, int]
    healthy_days: dict[int, float]
    benign_repeats: dict[int, int]
    hang_repeats: int
    held_out_jobs: dict[int, int]


QUICK = Size(
    fault_jobs={8: 12, 64: 12, 512: 8, 4096: 2},
    healthy_days={8: 1.0, 64: 1.0, 512: 0.25},
    benign_repeats={64: 1},
    hang_repeats=2,
    held_out_jobs={},
)
FULL = Size(
    fault_jobs={8: 80, 64: 80, 512: 60, 4096: 32},
    healthy_days={8: 48.0, 64: 48.0, 512: 12.0, 4096: 2.0},
    benign_repeats={8: 10, 64: 10, 512: 5},
    hang_repeats=20,
    held_out_jobs={64: 40, 512: 20},
)


def fault_jobs(ranks: int, shape: str, count: int, seed: int) -> Iterator[Spec]:
    """Jobs with faults one after another and one benign event each."""
    for index in range(count):
        yield _fault_job(
            f"{shape} {ranks} #{index}", ranks, SHAPES[shape], (seed, ranks, index), KINDS
        )


def calm_jobs(ranks: int, shape: str, count: int, seed: int) -> Iterator[Spec]:
    """The same without the faults, from other seeds: rivals' thresholds are set on these."""
    for spec in fault_jobs(ranks, shape, count, seed + 1):
        yield replace(spec, name=f"calm {spec.name}", faults=())


def held_out(ranks: int, count: int) -> Iterator[Spec]:
    """Two kinds of fault that nobody tuned for, then the known kinds from 5 to 10 % only."""
    for index in range(count):
        kinds = HELD_OUT_KINDS if index % 2 == 0 else KINDS
        name = f"held out {ranks} #{index}"
        spec = _fault_job(name, ranks, FIXED, (HELD_OUT_SEED, ranks, index), kinds)
        if kinds is KINDS:
            spec = replace(spec, faults=tuple(_weak(f, spec.seed) for f in spec.faults))
        yield spec


def healthy(ranks: int, days: float, seed: int, steps: int = 4320) -> Iterator[tuple[str, Spec]]:
    """Healthy jobs of 6 hours, the stress noises in turn, until there are `days`."""
    jobs = max(round(days * DAY_STEPS / steps), 1)
    for index in range(jobs):
        kind = list(STRESS)[index % len(STRESS)]
        rng_seed = _seed(seed, ranks, 1000 + index)
        yield kind, Spec(kind, rng_seed, TOPOLOGIES[ranks], steps, STRESS[kind])


def benign_jobs(ranks: int, kind: BenignKind, repeats: int, seed: int) -> Iterator[list[Spec]]:
    """Jobs that go through one benign event; restart and resize are two jobs after each other."""
    for index in range(repeats):
        topology = TOPOLOGIES[ranks]
        shape = FIXED if index % 2 == 0 else VARIABLE
        first = _seed(seed, ranks, 2000 + index)
        rng = np.random.default_rng(first)
        spec = Spec(kind, first, topology, BENIGN_STEPS, shape)
        if kind in ("restart", "elastic resize"):
            smaller = topology if kind == "restart" else _without_a_replica(topology)
            yield [
                replace(spec, steps=BENIGN_AT),
                replace(spec, seed=first + 1, topology=smaller, restart=1),
            ]
            continue
        yield [replace(spec, benign=benign.draw(kind, BENIGN_AT, topology, rng))]


def _without_a_replica(topology: Topology) -> Topology:
    """The job after it lost as many replicas as leave whole nodes."""
    lost = next(
        n
        for n in range(1, topology.data)
        if (topology.data - n) * topology.tensor * topology.pipeline % topology.ranks_per_device
        == 0
    )
    smaller = replace(topology, data=topology.data - lost)
    per_node = np.gcd(smaller.ranks, topology.ranks_per_node)
    return replace(smaller, ranks_per_node=int(per_node))


def _fault_job(
    name: str, ranks: int, noise: Noise, seed: tuple[int, int, int], kinds: tuple[Kind, ...]
) -> Spec:
    number = _seed(*seed)
    rng = np.random.default_rng(number)
    topology = TOPOLOGIES[ranks]
    faults = schedule(kinds, FAULT_JOB_STEPS, topology, rng)
    what = COMMON[int(rng.integers(len(COMMON)))]
    events = benign.draw(what, int(rng.integers(150, FAULT_JOB_STEPS - 100)), topology, rng)
    return Spec(name, number, topology, FAULT_JOB_STEPS, noise, faults, events)


def _weak(fault: Fault, seed: int) -> Fault:
    if fault.cls == "network":
        return fault
    rng = np.random.default_rng((seed, fault.first))
    return replace(fault, severity=float(rng.uniform(0.05, 0.10)))


def _seed(seed: int, ranks: int, index: int) -> int:
    return int(np.random.SeedSequence((seed, ranks, index)).generate_state(1)[0])
