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
_SHARED = ("sequence imbalance", "stage imbalance")


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
        at = range(first, first + 400, 100)
        return tuple(Benign(kind, step, step, float(rng.uniform(15, 45))) for step in at)
    if kind in _SHARED:
        group = topology.replica if kind == "sequence imbalance" else topology.stage
        ranks = (group == rng.integers(group[-1] + 1)).nonzero()[0]
        return (Benign(kind, first, first + 300, 0.12, tuple(ranks.tolist())),)
    if kind == "hook missing":
        return (Benign(kind, first, first + 200, ranks=(int(rng.integers(topology.ranks)),)),)
    last = first + {"batch change": 10**6, "stale counters": 24}.get(kind, 0)
    return (Benign(kind, first, last, _size(kind, rng)),)


def _size(kind: BenignKind, rng: np.random.Generator) -> float:
    """Seconds of a pause or of a jump of the clock, or the excess of a larger batch."""
    if kind in ("eval", "recompile"):
        return float(rng.uniform(60, 300))
    if kind == "clock step":
        return float(rng.choice([-3600.0, 30.0, 3600.0]))
    return 0.2 if kind == "batch change" else 0.0
