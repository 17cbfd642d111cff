"""What happens in healthy jobs and must not be taken for a fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import numpy as np

    from benchmarks.stragglers.topology import Topology

BenignKind = Literal[
    "checkpoint",
    "eval",
    "recompile",
    "batch change",
    "sequence imbalance",
    "stage imbalance",
    "restart",
    "elastic resize",
    "counter reset",
    "stale counters",
    "missed scrape",
    "clock step",
    "hook missing",
]
KINDS: tuple[BenignKind, ...] = get_args(BenignKind)


@dataclass(frozen=True)
class Benign:
    """One event; steps are inclusive. `ranks` only where it is not the whole job.

    `size` is an excess of busy time (batch, sequence, stage), or seconds of pause.
    """

    kind: BenignKind
    first: int
    last: int
    size: float = 0.0
    ranks: tuple[int, ...] = ()


def draw(
    kind: BenignKind, first: int, topology: Topology, rng: np.random.Generator
) -> tuple[Benign, ...]:
    """The events that make one case of this kind, from step `first` on."""
    if kind == "checkpoint":
        return tuple(Benign(kind, at, at, float(rng.uniform(15, 45))) for at in range(first, first + 400, 100))
    if kind in ("eval", "recompile"):
        return (Benign(kind, first, first, float(rng.uniform(60, 300))),)
    if kind == "batch change":
        return (Benign(kind, first, 10**6, 0.2),)
    if kind == "sequence imbalance":
        return _shared(kind, first, topology.replica, int(rng.integers(topology.data)))
    if kind == "stage imbalance":
        return _shared(kind, first, topology.stage, int(rng.integers(topology.pipeline)))
    if kind == "hook missing":
        return (Benign(kind, first, first + 200, ranks=(int(rng.integers(topology.ranks)),)),)
    if kind == "clock step":
        return (Benign(kind, first, first, float(rng.choice([-3600.0, 30.0, 3600.0]))),)
    if kind == "stale counters":
        return (Benign(kind, first, first + 24),)
    return (Benign(kind, first, first),)


def _shared(
    kind: BenignKind, first: int, group: np.ndarray, which: int
) -> tuple[Benign, ...]:
    ranks = tuple(int(rank) for rank in (group == which).nonzero()[0])
    return (Benign(kind, first, first + 300, 0.12, ranks),)
