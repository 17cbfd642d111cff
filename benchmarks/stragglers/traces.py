"""Public traces of real jobs, handed over as they are, and with one rank made 8 % slower.

ByteDance-Seed/StragglerAnalysis (Apache-2.0): SE has uneven sequence lengths, ST a heavy last
stage; in neither is a machine at fault. Alibaba's cluster-trace-gpu-v2020 (CC BY 4.0), job 1:
worker 6 is slow on and off between iterations 1811 and 1941, and never again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.stragglers.retrospective import account
from neuron_observer.stragglers.suspects import Kind
from neuron_observer.stragglers.table import read

if TYPE_CHECKING:
    from neuron_observer.stragglers.suspects import Suspect
    from neuron_observer.stragglers.worlds import Part

FOLDER = Path("tests/cases/F")
BYTEDANCE = {"busy_s": "compute_s", "role": "stage", "replica": "dp_rank"}
ALIBABA = {"rank": "worker", "step": "time", "busy_s": "batch_time_norm"}
INJECTED = 1.08
FROM_STEP = 20
WORKER_6 = (1811, 1941)


@dataclass(frozen=True)
class Replay:
    """One trace: what should be said, what was said, and whether that is right."""

    name: str
    wanted: str
    said: str
    right: bool


def replay(folder: Path = FOLDER) -> list[Replay]:
    """All traces; one line that says so where they are not there."""
    files = {name: folder / f"F20-bytedance-{name}-per-rank-step.csv" for name in ("SE", "ST")}
    alibaba = folder / "F21-alibaba-job1-minibatch.csv"
    if not all(path.exists() for path in (*files.values(), alibaba)):
        return [Replay("public traces", f"in {folder}", "not there", right=False)]
    replays = []
    for name, path in files.items():
        part = _part(path, BYTEDANCE)
        replays += [_as_it_is(name, part), _injected(name, part)]
    return [*replays, _transient(_part(alibaba, ALIBABA))]


def _part(path: Path, mapping: dict[str, str]) -> Part:
    with path.open(encoding="utf-8", newline="") as stream:
        return read(stream, path.name, mapping=mapping, unit="s").parts[0]


def _blamed(part: Part) -> list[Suspect]:
    """Whoever is named and not put down to the work."""
    return [s for s in account(part).suspects if s.kind is not Kind.IMBALANCE]


def _as_it_is(name: str, part: Part) -> Replay:
    said = _blamed(part)
    words = ", ".join(f"{s.kind.value} ranks {s.ranks}" for s in said) or "nobody"
    return Replay(f"ByteDance {name} as it is", "names no hardware", words, not said)


def _injected(name: str, part: Part) -> Replay:
    right = others = 0
    for row in range(part.topology.size):
        busy = part.busy.copy()
        busy[FROM_STEP:, row] *= INJECTED
        named = {rank for s in _blamed(replace(part, busy=busy)) for rank in s.ranks}
        culprit = int(part.topology.ranks[row])
        right += culprit in named
        others += bool(named - {culprit})
    size = part.topology.size
    said = f"found {right} of {size}; somebody else named in {others}"
    wanted = "the rank, and nobody else"
    return Replay(
        f"ByteDance {name}, any rank x {INJECTED} from its step {FROM_STEP}",
        wanted,
        said,
        right == size and others == 0,
    )


def _transient(part: Part) -> Replay:
    said = _blamed(part)
    words = "; ".join(
        f"worker {s.ranks[0]} steps {s.first_step}-{s.last_step}"
        + (" resolved" if s.closed else " open")
        for s in said
    )
    first, last = WORKER_6
    right = bool(said) and all(
        s.ranks == (6,) and s.closed and first - 10 <= s.first_step and s.last_step <= last + 10
        for s in said
    )
    wanted = f"worker 6, resolved, within {first}-{last}; nobody else"
    return Replay("Alibaba job 1", wanted, words or "nobody", right)
