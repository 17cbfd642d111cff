"""Who holds up a job that stands still, and what kind of hang it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from neuron_observer.model import Action, Confidence, Entity, Evidence, Finding, Scalar, Severity
from neuron_observer.stragglers.names import HANGS, HangKind
from neuron_observer.stragglers.progress import Progress, Stall

__all__ = ["HangKind", "Progress", "Stall", "blame", "finding"]

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints, Mask, Topology


def blame(progress: Progress, *, since: float, usual: float) -> Stall:
    """Who, by the strongest evidence there is; nobody where there is none."""
    columns = _arrays(progress)
    for rule in (_crashed, _desync, _absent, _timed_out, _inside, _passive):
        said = rule(columns)
        if said is not None:
            kind, rows, why, hardware = said
            return Stall(kind, tuple(int(row) for row in rows), since, usual, why, hardware)
    return Stall(HangKind.UNKNOWN, (), since, usual, "no rank differs from the others")


class _Arrays(NamedTuple):
    """The columns of `Progress` as arrays, whatever they were."""

    alive: Mask | None
    entered: Floats | None
    completed: Floats | None
    operation: Ints | None
    role: Ints | None
    device_busy: Mask | None
    blocked: Mask | None
    in_input: Mask | None
    timed_out: Mask | None
    link_error: Mask | None


_TYPES = {"entered": np.float64, "completed": np.float64, "operation": np.int64, "role": np.int64}


def _arrays(progress: Progress) -> _Arrays:
    arrays: dict[str, Any] = {
        name: None if values is None else np.asarray(values, dtype=_TYPES.get(name, np.bool_))
        for name in _Arrays._fields
        for values in (getattr(progress, name),)
    }
    return _Arrays(**arrays)


class _Said(NamedTuple):
    kind: HangKind
    rows: Ints
    why: str
    hardware: bool = False


NOBODY: Ints = np.zeros(0, dtype=np.int64)


def _some(mask: Mask | None) -> Ints:
    """Rows of a mask that singles out a minority; otherwise it says nothing of anybody."""
    if mask is None or 2 * mask.sum() >= len(mask):
        return NOBODY
    return np.flatnonzero(mask)


def _crashed(progress: _Arrays) -> _Said | None:
    if progress.alive is None or progress.alive.all() or not progress.alive.any():
        return None
    gone = np.flatnonzero(~progress.alive)
    return _Said(HangKind.CRASHED_PEER, gone, "its process is gone, and the others wait for it")


def _timed_out(progress: _Arrays) -> _Said | None:
    rows = _some(progress.timed_out)
    if not rows.size:
        return None
    if _sequences(progress) is not None:  # then all wait in one collective: victims time out too
        return None
    return _Said(HangKind.COMPUTE, rows, "an execution on its core timed out, on no other")


class _Sequences(NamedTuple):
    entered: Floats  # of the ranks that are heard
    completed: Floats
    rows: Ints  # which ranks these are
    role: Ints
    silent: int  # how many are not heard


def _sequences(progress: _Arrays) -> _Sequences | None:
    """Entered and completed collectives of the ranks that tell them; None of fewer than two."""
    if progress.entered is None:
        return None
    rows = np.flatnonzero(np.isfinite(progress.entered))
    if len(rows) < 2:
        return None
    entered = progress.entered[rows]
    completed = entered - 1
    if progress.completed is not None:
        told = progress.completed[rows]
        completed = np.where(np.isfinite(told), told, completed)
    role = np.zeros(len(rows), np.int64) if progress.role is None else progress.role[rows]
    return _Sequences(entered, completed, rows, role, len(progress.entered) - len(rows))


def _desync(progress: _Arrays) -> _Said | None:
    told = _sequences(progress)
    if told is None or progress.operation is None or (told.entered == told.completed).any():
        return None
    operation = progress.operation[told.rows]
    codes, count = np.unique(operation, return_counts=True)
    if len(codes) < 2:
        return None
    odd = told.rows[operation != codes[int(count.argmax())]]
    rows = odd if 2 * len(odd) < len(told.rows) else NOBODY
    return _Said(HangKind.DESYNC, rows, "ranks entered different collectives: the program")


def _absent(progress: _Arrays) -> _Said | None:
    """Ranks that never came to the collective in which the others wait."""
    told = _sequences(progress)
    if told is None:
        return None
    outside = told.entered == told.completed
    if outside.any() and not outside.all():
        absent = outside & (told.entered == told.entered[outside].min())
    else:
        absent = _behind(told)
    if not absent.any():
        return None
    rows = told.rows[absent]
    if 2 * len(rows) >= len(told.rows):
        why = f"{len(rows)} of {len(told.rows)} ranks did not come to the collective of the others"
        return _Said(HangKind.UNKNOWN, NOBODY, why)
    kind, where = _doing(progress, rows)
    why = f"never came to the collective in which the others wait{where}"
    return _Said(kind, rows, why, _proven(progress, kind, rows))


def _behind(told: _Sequences) -> Mask:
    """Ranks with the lowest number of their role, where the role's numbers differ."""
    behind = np.zeros(len(told.entered), dtype=np.bool_)
    for role in np.unique(told.role):
        own = told.role == role
        numbers = told.entered[own]
        if numbers.min() < numbers.max():
            behind[own] = numbers == numbers.min()
    return behind


def _doing(progress: _Arrays, rows: Ints) -> tuple[HangKind, str]:
    """What the absent ranks do instead."""
    if progress.in_input is not None and progress.in_input[rows].any():
        return HangKind.INPUT, "; it waits for its data loader"
    if progress.device_busy is not None and progress.device_busy[rows].all():
        return HangKind.COMPUTE, "; its core is busy without completing"
    return HangKind.HOST, ""


def _proven(progress: _Arrays, kind: HangKind, rows: Ints) -> bool:
    """Whether a hardware counter says the same as the sequence numbers."""
    timed_out = progress.timed_out
    return kind is HangKind.COMPUTE and timed_out is not None and bool(timed_out[rows].all())


def _inside(progress: _Arrays) -> _Said | None:
    """All ranks that are heard wait in the same collective."""
    told = _sequences(progress)
    if told is None:
        return None
    rows = _some(progress.link_error)
    if rows.size:
        why = "all ranks are in the same collective; these report link or EFA errors"
        return _Said(HangKind.COLLECTIVE, rows, why, hardware=True)
    if told.silent:
        silent = np.flatnonzero(~np.isfinite(np.asarray(progress.entered)))
        seen = _passive(progress)
        if seen is not None and np.isin(seen.rows, silent).all():
            return seen
        why = f"all others wait in the same collective; {told.silent} ranks are not heard"
        return _Said(HangKind.UNKNOWN, NOBODY, why)
    why = "all ranks are in the same collective, and no link or port reports an error"
    return _Said(HangKind.COLLECTIVE, NOBODY, why)


def _passive(progress: _Arrays) -> _Said | None:
    """Without the ranks' own account: the one that differs, if there is one."""
    rows = _some(progress.link_error)
    if rows.size:
        return _Said(HangKind.COLLECTIVE, rows, "link or EFA errors since it stopped", True)
    rows = _some(progress.device_busy)
    if rows.size:
        return _Said(HangKind.COMPUTE, rows, "its core never stopped while the others wait")
    rows = _some(progress.blocked)
    if rows.size:
        return _Said(HangKind.HOST, rows, "its process is blocked in the kernel (state D)")
    return None


ACTIONS = {
    HangKind.CRASHED_PEER: (Action.RESTART_JOB, None),
    HangKind.HOST: (Action.FIX_PROGRAM, None),
    HangKind.INPUT: (Action.FIX_PROGRAM, None),
    HangKind.COMPUTE: (Action.RESTART_JOB, Action.REPLACE_INSTANCE),
    HangKind.COLLECTIVE: (Action.LOOK_AT_OTHER_WORKERS, Action.REPLACE_INSTANCE),
    HangKind.DESYNC: (Action.FIX_PROGRAM, None),
    HangKind.UNKNOWN: (Action.LOOK_AT_OTHER_WORKERS, None),
}


def finding(
    stall: Stall, topology: Topology, *, wall: float, quiet: float, job: str | None = None
) -> Finding:
    """A stall as a finding; `quiet` is how long nothing has moved, `wall` now."""
    action, confirmed = ACTIONS[stall.kind]
    ranks = topology.ranks[list(stall.rows)].tolist()
    row = stall.rows[0] if len(stall.rows) == 1 else None
    who = f"rank {', '.join(map(str, ranks))}" if ranks else "nobody can be named"
    fields: dict[str, Scalar] = {"class": stall.kind.value, "ranks": ",".join(map(str, ranks))}
    return Finding(
        id=HANGS[stall.kind],
        entity=Entity("job", job=job) if row is None else _rank(topology, row, job),
        severity=Severity.CRITICAL,
        confidence=Confidence.CONFIRMED if stall.hardware else Confidence.PROBABLE,
        action=action,
        message=(
            f"no progress on any rank for {quiet:.0f} s (a step takes {stall.usual:.3g} s): "
            f"{who}: {stall.why}"
        ),
        if_confirmed=confirmed,
        confirm_by=("the stacks of all ranks", "the flight recorder's dump"),
        blames_hardware=stall.hardware and stall.kind is HangKind.COMPUTE,
        evidence=(
            Evidence(
                "statistic", "hearsay", "progress", round(quiet, 1), stall.usual, fields=fields
            ),
        ),
        first_seen=wall - quiet,
        last_seen=wall,
        runbook="docs/stragglers.md#hangs",
    )


def _rank(topology: Topology, row: int, job: str | None) -> Entity:
    device, core = topology.device_index, topology.core
    return Entity(
        "rank",
        node=None if topology.node is None else topology.node.name(row),
        device=None if device is None or device[row] < 0 else int(device[row]),
        core=None if core is None else int(core[row]),
        job=job,
        rank=int(topology.ranks[row]),
    )
