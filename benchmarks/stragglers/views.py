"""What can be seen of a job.

    hook      one sample a step: busy, wait, input and shortest collective of every rank,
              with what the node knows at that time (host, ECC, power, fabric)
    passive   no hook: executions counted from outside, and what the node knows
    scrapes   medians of the last 12 steps of the hook, every 15 s

Counters follow the faults that have evidence; healthy devices have an ECC event now and then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers.faults import STEP_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

    from benchmarks.stragglers.faults import Fault
    from benchmarks.stragglers.job import Job, Matrix

    Row = NDArray[np.float32]

SHORTEST_COLLECTIVE_S = 0.020
COLLECTIVES_PER_STEP = 200
SCRAPE_S = 15.0
SCRAPE_STEPS = 12
COUNTER_S = 5.0
COUNTERS_A_SAMPLE = 3
EXECUTIONS_PER_STEP = 16
BLOCK = 128
STARTED_AT = 1_790_000_000.0


@dataclass(frozen=True)
class Sample:
    """One look at a job. Rows have one entry a rank, in seconds; None is not to be had.

    `number` counts the looks, `step` the steps that the job has done.
    """

    number: int
    step: int
    at: float
    period: float
    ecc: Row
    unhealthy: Row
    power: Row
    fabric: Row
    host_wait: Row
    host_gap: Row | None = None
    busy: Row | None = None
    wait: Row | None = None
    inputs: Row | None = None
    transfer: Row | None = None
    tokens: Row | None = None
    compiled: bool = False
    restart: int = 0


@dataclass(frozen=True)
class _Node:
    """What the nodes know, for a block of steps: matrices steps by ranks."""

    ecc: Matrix
    unhealthy: Matrix
    power: Matrix
    fabric: Matrix
    host_wait: Matrix
    host_gap: Matrix

    def at(self, row: int) -> dict[str, Row]:
        return {name: getattr(self, name)[row] for name in self.__dataclass_fields__}


def hook(job: Job, *, tokens: bool = False, at: float = STARTED_AT) -> Iterator[Sample]:
    """One sample a step. Ranks whose hook is missing are NaN."""
    rng = np.random.default_rng((job.spec.seed, 1))
    times = _clock(job, at)
    for first in range(0, job.spec.steps, BLOCK):
        block = slice(first, min(first + BLOCK, job.spec.steps))
        nodes, transfer = _nodes(job, block, rng), _shortest(job, block, rng)
        gone = _hook_missing(job, block)
        for row, step in enumerate(range(block.start, block.stop)):
            lost = gone[row]
            yield Sample(
                number=step,
                step=step,
                at=float(times[step]),
                period=float(job.period[step]),
                busy=np.where(lost, np.nan, job.busy[step]),
                wait=np.where(lost, np.nan, job.collective[step]),
                inputs=np.where(lost, np.nan, job.inputs[step]),
                transfer=np.where(lost, np.nan, transfer[row]),
                tokens=job.tokens[step] if tokens else None,
                compiled=_compiled(job, step),
                restart=job.spec.restart,
                **nodes.at(row),
            )


def scrapes(job: Job, *, at: float = STARTED_AT) -> Iterator[Sample]:
    """Every 15 s medians of the last 12 steps, and counts since the scrape before."""
    history: list[Sample] = []
    since: list[Sample] = []
    elapsed, due = 0.0, SCRAPE_S
    missed = {e.first for e in job.spec.benign if e.kind == "missed scrape"}
    for sample in hook(job, at=at):
        history = [*history[-SCRAPE_STEPS + 1 :], sample]
        since.append(sample)
        elapsed += sample.period  # whoever scrapes has a clock of its own
        if elapsed < due:
            continue
        due += SCRAPE_S * (1 + (elapsed - due) // SCRAPE_S)
        if len(history) < SCRAPE_STEPS:
            continue
        if sample.step not in missed:
            yield _medians(history, since)
            since = []


def passive(job: Job, *, stale: bool = False, at: float = STARTED_AT) -> Iterator[Sample]:
    """Counters read every 5 s, three reads a sample; nothing of it tells busy from waiting.

    With stale counters (drivers before 2.30.2) executions do not move: the period is unknown.
    """
    rng = np.random.default_rng((job.spec.seed, 2))
    ends = np.cumsum(job.period)
    seconds = COUNTER_S * COUNTERS_A_SAMPLE
    resets = [ends[e.first] for e in job.spec.benign if e.kind == "counter reset"]
    stuck = [e for e in job.spec.benign if e.kind == "stale counters"]
    for index in range(1, int(ends[-1] / seconds)):
        begin, end = (index - 1) * seconds, index * seconds
        step = int(np.searchsorted(ends, end))
        done = _executions(ends, end) - _executions(ends, begin)
        if stale or any(begin < reset <= end for reset in resets):
            done = 0
        if any(e.first <= step <= e.last for e in stuck):
            done = 0
        nodes = _nodes(job, slice(step, step + 1), rng).at(0)
        nodes.pop("host_gap")
        yield Sample(
            number=index,
            step=step,
            at=at + end,
            period=seconds * EXECUTIONS_PER_STEP / done if done else float("nan"),
            compiled=_compiled(job, step),
            restart=job.spec.restart,
            **nodes,
        )


def _executions(ends: NDArray[np.float64], at: float) -> int:
    """Executions completed `at` seconds after the start."""
    step = int(np.searchsorted(ends, at))
    begin = ends[step - 1] if step else 0.0
    part = (at - begin) / (ends[min(step, len(ends) - 1)] - begin)
    return int((step + part) * EXECUTIONS_PER_STEP)


def _clock(job: Job, at: float) -> NDArray[np.float64]:
    """Wall clock at the end of each step; it jumps where the job says so."""
    times = at + np.cumsum(job.period)
    for event in job.spec.benign:
        if event.kind == "clock step":
            times[event.first :] += event.size
    return times


def _compiled(job: Job, step: int) -> bool:
    return any(e.kind == "recompile" and e.first == step for e in job.spec.benign)


def _hook_missing(job: Job, block: slice) -> NDArray[np.bool_]:
    gone = np.zeros((block.stop - block.start, job.spec.topology.ranks), bool)
    at = np.arange(block.start, block.stop)
    for event in job.spec.benign:
        if event.kind == "hook missing":
            gone[np.ix_((at >= event.first) & (at <= event.last), np.array(event.ranks))] = True
    return gone


def _shortest(job: Job, block: slice, rng: Generator) -> Matrix:
    """The shortest collective of each rank: its transfer, and its part of the waiting.

    All ranks of a tensor group move data together, so they share the slowest link among them, and
    the last of them to come does not wait. Without tensor groups the stage is the group.
    """
    topology = job.spec.topology
    shape = (block.stop - block.start, topology.ranks)
    moved = np.full(shape, SHORTEST_COLLECTIVE_S, np.float32)
    for fault, rows, strength in _active(job, block):
        if fault.cls == "network":
            moved[np.ix_(rows, fault.members)] *= 1 + strength[:, None]
    groups = moved.reshape(shape[0], -1, topology.tensor)
    moved = np.repeat(groups.max(axis=2), topology.tensor, axis=1)
    moved *= 1 + np.float32(0.05) * np.abs(rng.standard_normal(shape, dtype=np.float32))
    members = topology.tensor if topology.tensor > 1 else topology.data
    waits = job.collective[block].reshape(shape[0], -1, members)
    waits = waits - waits.min(axis=2, keepdims=True)
    moved += waits.reshape(shape) / np.float32(COLLECTIVES_PER_STEP)
    return moved


def _nodes(job: Job, block: slice, rng: Generator) -> _Node:
    """The counters of nodes and devices, healthy with the faults laid over."""
    topology = job.spec.topology
    shape = (block.stop - block.start, topology.ranks)
    normal = rng.standard_normal((shape[0], topology.ranks // topology.ranks_per_device))
    power = (0.70 + 0.03 * normal.astype(np.float32))[:, topology.device]
    noise: Matrix = rng.standard_exponential(shape, dtype=np.float32)
    seen = _Node(
        ecc=np.zeros(shape, np.float32),
        unhealthy=np.zeros(shape, np.float32),
        power=np.clip(power, 0, 1),
        fabric=np.zeros(shape, np.float32),
        host_wait=np.float32(0.002 * STEP_S) * noise,
        host_gap=np.float32(0.01 * STEP_S) * (np.float32(0.8) + np.float32(0.2) * noise),
    )
    for _ in range(rng.poisson(shape[0] * topology.ranks / 50_000)):
        device = topology.on_device(int(rng.integers(topology.device[-1] + 1)))
        seen.ecc[rng.integers(shape[0]), list(device)] += 1
    for fault, rows, strength in _active(job, block):
        _evidence(fault, rows, strength, seen, job, rng)
    return seen


def _evidence(
    fault: Fault, rows: NDArray[np.int64], strength: Row, seen: _Node, job: Job, rng: Generator
) -> None:
    """Lay what a fault does to the counters over the healthy ones."""
    topology = job.spec.topology
    where = np.ix_(rows, fault.members)
    if fault.cls == "host":
        typical = float(np.median(job.busy))
        seen.host_gap[where] += np.float32(typical) * strength[:, None]
        seen.host_wait[where] += np.float32(0.8 * typical) * strength[:, None]
    if not fault.evidence:
        return
    devices = sorted({int(topology.device[rank]) for rank in fault.ranks})
    nodes = sorted({int(topology.node[rank]) for rank in fault.ranks})
    if fault.cls == "chip":
        where = np.ix_(rows, np.isin(topology.device, devices).nonzero()[0])
        seen.ecc[where] += rng.poisson(3, len(rows))[:, None]
    elif fault.cls == "throttled":
        where = np.ix_(rows, np.isin(topology.device, devices).nonzero()[0])
        seen.power[where] = rng.uniform(0.96, 0.99, len(rows))[:, None]
    elif fault.cls == "network":
        where = np.ix_(rows, np.isin(topology.node, nodes).nonzero()[0])
        seen.fabric[where] += rng.poisson(2, len(rows))[:, None]


def _active(job: Job, block: slice) -> Iterator[tuple[Fault, NDArray[np.int64], Row]]:
    """Faults of a block with their rows in it and their excess there."""
    for fault in job.spec.faults:
        first, last = max(fault.first, block.start), min(fault.last, block.stop - 1)
        if first <= last:
            strength = fault.strength(job.spec.steps)[first : last + 1]
            yield fault, np.arange(first, last + 1) - block.start, strength


def _medians(history: list[Sample], since: list[Sample]) -> Sample:
    last = history[-1]

    def median(name: str) -> Row:
        rows: Row = np.array([getattr(s, name) for s in history])
        lost = np.isnan(rows).any(axis=0)
        return np.where(lost, np.nan, np.median(rows, axis=0)).astype(np.float32)

    def total(name: str) -> Row:
        counted: Row = np.sum([getattr(s, name) for s in since], axis=0, dtype=np.float32)
        return counted

    return Sample(
        number=last.number,
        step=last.step,
        at=last.at,
        period=float(np.median([s.period for s in history])),
        busy=median("busy"),
        wait=median("wait"),
        inputs=median("inputs"),
        transfer=median("transfer"),
        host_gap=median("host_gap"),
        host_wait=median("host_wait"),
        power=last.power,
        unhealthy=last.unhealthy,
        ecc=total("ecc"),
        fabric=total("fabric"),
        compiled=any(s.compiled for s in since),
        restart=last.restart,
    )
