"""Which jobs are run: fault jobs, healthy days, benign events, and those kept for the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers import benign
from benchmarks.stragglers.faults import HELD_OUT_KINDS, KINDS, Fault, schedule
from benchmarks.stragglers.job import Spec
from benchmarks.stragglers.noise import FIXED, HELD_OUT, STRESS, VARIABLE, Noise
from benchmarks.stragglers.topology import TOPOLOGIES, Topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.stragglers.benign import BenignKind
    from benchmarks.stragglers.faults import Kind

QUARTER_DAY_S = 6 * 3600.0
SHAPES = {"fixed": FIXED, "variable": VARIABLE}
FAULT_JOB_STEPS = 1200
BENIGN_STEPS = 900
BENIGN_AT = 300
HELD_OUT_SEED = 7_777_000
# What every job goes through sooner or later; the rest changes its shape and has its own suite.
COMMON: tuple[BenignKind, ...] = ("checkpoint", "eval", "recompile", "batch change")


@dataclass(frozen=True)
class Size:
    """How many jobs of each shape and size, and days of each size and step time."""

    fault_jobs: dict[tuple[str, int], int]
    calm_jobs: int
    other_views: dict[tuple[str, int], int]
    healthy_days: dict[tuple[int, float], float]
    benign_repeats: dict[int, int]
    hang_repeats: int
    held_out_jobs: dict[tuple[str, int], int]


QUICK = Size(
    fault_jobs={("fixed", 8): 6, ("fixed", 64): 8, ("fixed", 512): 5, ("variable", 64): 5},
    calm_jobs=3,
    other_views={("scrapes", 64): 6, ("passive", 64): 8},
    healthy_days={(8, 20.0): 0.5, (64, 20.0): 2.0},
    benign_repeats={64: 1},
    hang_repeats=2,
    held_out_jobs={},
)
FULL = Size(
    fault_jobs={
        ("fixed", 4096): 42,
        ("fixed", 512): 30,
        ("fixed", 64): 40,
        ("fixed", 8): 40,
        ("variable", 4096): 8,
        ("variable", 512): 16,
        ("variable", 64): 24,
        ("variable", 8): 20,
    },
    calm_jobs=10,
    other_views={
        ("scrapes", 64): 30,
        ("scrapes", 512): 14,
        ("passive", 64): 40,
        ("passive", 512): 16,
    },
    healthy_days={
        (64, 20.0): 40.0,
        (8, 20.0): 40.0,
        (64, 5.0): 6.0,
        (8, 5.0): 6.0,
        (512, 20.0): 8.0,
        (4096, 20.0): 2.0,
        (512, 5.0): 1.0,
    },
    benign_repeats={8: 2, 64: 2, 512: 1},
    hang_repeats=12,
    held_out_jobs={("fixed", 64): 20, ("variable", 64): 20, ("fixed", 512): 10},
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


def held_out(ranks: int, shape: str, count: int) -> Iterator[Spec]:
    """Two kinds of fault that nobody tuned for, then the known kinds from 5 to 10 % only.

    The noise, too, is one that no other suite has.
    """
    for index in range(count):
        kinds = HELD_OUT_KINDS if index % 2 == 0 else KINDS
        name = f"held out {shape} {ranks} #{index}"
        spec = _fault_job(name, ranks, HELD_OUT[shape], (HELD_OUT_SEED, ranks, index), kinds)
        if kinds is KINDS:
            spec = replace(spec, faults=tuple(_weak(f, spec.seed) for f in spec.faults))
        yield spec


def healthy(ranks: int, step_s: float, days: float, seed: int) -> Iterator[Spec]:
    """Healthy jobs of a quarter of a day, the stress noises in turn, until there are `days`."""
    steps = int(QUARTER_DAY_S / step_s)
    for index in range(max(round(days * 86_400 / QUARTER_DAY_S), 1)):
        kind = list(STRESS)[index % len(STRESS)]
        number = _seed(seed, ranks, 1000 + index + int(step_s) * 1000)
        topology = TOPOLOGIES[ranks]
        yield Spec(kind, number, topology, steps, STRESS[kind], step_s=step_s)


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
