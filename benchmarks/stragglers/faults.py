"""What is injected into a job, and the truth about it.

Kinds, severities, durations and shares follow published distributions: the what-if study of
3,079 jobs, Greyhound's probes, MegaScale and Mycroft for rates, Perseus for permanent faults.
Durations above 20 minutes are cut there: a longer fault is only easier to find.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.stragglers.topology import Topology

Scope = Literal["core", "device", "node", "link", "job"]
Class = Literal["compute", "throttled", "chip", "host", "input", "network"]

STEP_S = 5.0
LONGEST_S = 20 * 60.0
LEAST_SEVERITY = 0.05


@dataclass(frozen=True)
class Fault:
    """One injected fault; steps are inclusive, `severity` is the excess (0.15 = 15 % slower).

    For input the excess is a share of the step, for network of the transfer time. `evidence`
    says whether counters (ECC, power, run queue, EFA) tell of it. `ramp` and `period` shape the
    two kinds that are kept for the final run.
    """

    kind: str
    cls: Class
    scope: Scope
    ranks: tuple[int, ...]
    first: int
    last: int
    severity: float
    evidence: bool = True
    ramp: int = 0
    period: int = 0

    @property
    def steps(self) -> int:
        """Steps that it lasts."""
        return self.last - self.first + 1

    @property
    def members(self) -> NDArray[np.int64]:
        """Its ranks as an array."""
        return np.array(self.ranks, np.int64)

    def strength(self, steps: int) -> NDArray[np.float32]:
        """Excess in each of a job's steps."""
        at = np.arange(steps) - self.first
        value = np.where((at >= 0) & (at < self.steps), self.severity, 0.0)
        if self.ramp:
            value = value * np.clip((at + 1) / self.ramp, 0, 1)
        if self.period:
            value = value * (at // self.period % 2 == 0)
        strength: NDArray[np.float32] = value.astype(np.float32)
        return strength


@dataclass(frozen=True)
class Kind:
    """A row of the table of injections: how often, and the class that a good answer gives."""

    name: str
    share: float
    cls: Class


KINDS = (
    Kind("compute", 25, "compute"),
    Kind("always slow", 5, "compute"),
    Kind("hbm", 10, "chip"),
    Kind("host", 15, "host"),
    Kind("input", 10, "input"),
    Kind("network", 20, "network"),
    Kind("node-wide", 5, "compute"),
)
HELD_OUT_KINDS = (Kind("creeping", 1, "compute"), Kind("flapping", 1, "compute"))


def draw(kind: Kind, first: int, end: int, topology: Topology, rng: np.random.Generator) -> Fault:
    """One fault of this kind that starts at step `first` of a job with `end` steps."""
    made = _DRAW[kind.name](topology, rng)
    longest = int(LONGEST_S / STEP_S)
    length = end if made.steps >= end else min(made.steps, longest)
    start = 0 if kind.name == "always slow" else first
    return replace(made, first=start, last=min(start + length, end) - 1)


def _fault(kind: str, cls: Class, where: tuple[Scope, tuple[int, ...]], seconds: float) -> Fault:
    steps = max(round(seconds / STEP_S), 1)
    return Fault(kind, cls, where[0], where[1], 0, steps - 1, 0.0)


FOR_EVER = 1e9


def _core(topology: Topology, rng: np.random.Generator) -> tuple[Scope, tuple[int, ...]]:
    return "core", (int(rng.integers(topology.ranks)),)


def _device(topology: Topology, rng: np.random.Generator) -> tuple[Scope, tuple[int, ...]]:
    devices = topology.ranks // topology.ranks_per_device
    return "device", topology.on_device(int(rng.integers(devices)))


def _node(topology: Topology, rng: np.random.Generator) -> tuple[Scope, tuple[int, ...]]:
    if topology.nodes == 1:
        return _device(topology, rng)
    return "node", topology.on_node(int(rng.integers(topology.nodes)))


def _compute(topology: Topology, rng: np.random.Generator) -> Fault:
    severity = float(np.clip(np.exp(np.log(0.15) + rng.standard_normal()), LEAST_SEVERITY, 2.0))
    seconds = FOR_EVER if rng.random() < 0.05 else float(rng.exponential(600))
    if rng.random() < 0.5:
        throttled = bool(rng.random() < 0.4)
        cls: Class = "throttled" if throttled else "compute"
        made = _fault("compute", cls, _core(topology, rng), seconds)
        return replace(made, severity=severity, evidence=throttled)
    # A whole device that is slow is a chip fault, whether its counters tell or not.
    made = _fault("compute", "chip", _device(topology, rng), seconds)
    return replace(made, severity=severity, evidence=False)


def _always_slow(topology: Topology, rng: np.random.Generator) -> Fault:
    where = _device(topology, rng) if rng.random() < 0.5 else _core(topology, rng)
    cls: Class = "compute" if where[0] == "core" else "chip"
    return replace(_fault("always slow", cls, where, FOR_EVER), severity=0.10, evidence=False)


def _hbm(topology: Topology, rng: np.random.Generator) -> Fault:
    where = _device(topology, rng) if rng.random() < 0.7 else _core(topology, rng)
    made = _fault("hbm", "chip", where, FOR_EVER)
    return replace(made, severity=float(rng.uniform(0.05, 0.5)))


def _host(topology: Topology, rng: np.random.Generator) -> Fault:
    if rng.random() < 0.5:  # one collection or hiccup, over before anybody could act
        made = _fault("host burst", "host", _core(topology, rng), STEP_S * rng.integers(1, 7))
        return replace(made, severity=float(rng.uniform(0.1, 0.6)))
    seconds = float(np.exp(rng.uniform(np.log(60), np.log(24 * 60))))
    where = _core(topology, rng) if rng.random() < 0.5 else _node(topology, rng)
    return replace(_fault("host", "host", where, seconds), severity=float(rng.uniform(0.05, 0.4)))


def _input(topology: Topology, rng: np.random.Generator) -> Fault:
    pick = rng.random()
    where: tuple[Scope, tuple[int, ...]] = ("job", tuple(range(topology.ranks)))
    if pick < 0.8:
        where = _core(topology, rng) if pick < 0.5 else _node(topology, rng)
    made = _fault("input", "input", where, float(rng.exponential(24 * 60)))
    return replace(made, severity=float(rng.uniform(0.05, 1.0)))


def _network(topology: Topology, rng: np.random.Generator) -> Fault:
    mean = 24 * 60 if topology.ranks < 512 else 72 * 60
    pick = rng.random()
    where: tuple[Scope, tuple[int, ...]] = ("job", tuple(range(topology.ranks)))
    if topology.nodes > 1 and pick < 0.4:  # the node's EFA
        where = ("link", _node(topology, rng)[1])
    elif topology.tensor > 1 and pick < 0.8:  # a link inside a tensor group
        first = int(rng.integers(topology.ranks // topology.tensor)) * topology.tensor
        where = ("link", tuple(range(first, first + topology.tensor)))
    made = _fault("network", "network", where, float(rng.exponential(mean)))
    severity = float(np.exp(rng.uniform(np.log(0.2), np.log(4.0))))
    return replace(made, severity=severity, evidence=bool(rng.random() < 0.5))


def _node_wide(topology: Topology, rng: np.random.Generator) -> Fault:
    made = _fault("node-wide", "compute", _node(topology, rng), float(rng.exponential(72 * 60)))
    cls: Class = "compute" if made.scope == "node" else "chip"
    return replace(made, cls=cls, severity=float(rng.uniform(0.06, 0.34)), evidence=False)


def _creeping(topology: Topology, rng: np.random.Generator) -> Fault:
    made = _fault("creeping", "compute", _core(topology, rng), 1000)
    return replace(made, severity=float(rng.uniform(0.08, 0.25)), evidence=False, ramp=100)


def _flapping(topology: Topology, rng: np.random.Generator) -> Fault:
    made = _fault("flapping", "compute", _core(topology, rng), 1000)
    return replace(made, severity=float(rng.uniform(0.08, 0.3)), evidence=False, period=20)


_DRAW = {
    "compute": _compute,
    "always slow": _always_slow,
    "hbm": _hbm,
    "host": _host,
    "input": _input,
    "network": _network,
    "node-wide": _node_wide,
    "creeping": _creeping,
    "flapping": _flapping,
}


def schedule(
    kinds: tuple[Kind, ...], steps: int, topology: Topology, rng: np.random.Generator
) -> tuple[Fault, ...]:
    """Faults one after another, with quiet in between: 60 steps and an exponential of 48.

    240 s between arrivals is Greyhound's compressed schedule. A fault that lasts to the end of
    the job closes the list; one that is there from the start is drawn once, before the others.
    """
    shares = np.array([kind.share for kind in kinds], float)
    faults: list[Fault] = []
    at = 120
    while True:
        at += int(rng.exponential(240 / STEP_S)) + 60
        if at + 60 > steps:
            return tuple(faults)
        kind = kinds[int(rng.choice(len(kinds), p=shares / shares.sum()))]
        fault = draw(kind, at, steps, topology, rng)
        if fault.first == 0:
            if any(f.first == 0 for f in faults):
                continue
            faults.insert(0, fault)
            continue
        if any(set(f.ranks) & set(fault.ranks) for f in faults if f.last >= fault.first):
            continue
        faults.append(fault)
        if fault.last >= steps - 1:
            return tuple(faults)
        at = fault.last
