"""What is said of a running job: its slow ranks, its slowness, its standstill, as findings.

What a job's own hook tells is hearsay, so such a finding is never more than probable unless a
counter of the hardware says the same; and it is about a job, so it is no part of a node's health.
`fields` of the first evidence hold the lines of the alert's text: see `alerts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import Action, Confidence, Entity, Evidence, Finding, Severity
from neuron_observer.stragglers.names import HANGS, HangKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.model import EvidenceKind, Scalar
    from neuron_observer.stragglers.progress import Stall
    from neuron_observer.stragglers.ranks import Row
    from neuron_observer.stragglers.slowdown import Slowdown

_PROFILE = "a profile of any rank now and one of before: which part became longer"
_STACKS = "the stacks of all ranks (py-spy dump --pid PID, on each node)"
_RECORDER = "the flight recorder's dump of each rank (TORCH_FR_BUFFER_SIZE)"
_ELSEWHERE = "the same on the job's other nodes: only this node's ranks are seen from here"
HANG_REMEDIES: dict[HangKind, tuple[Action, Action | None, tuple[str, ...]]] = {
    HangKind.CRASHED_PEER: (
        Action.RESTART_JOB,
        None,
        ("the log of the rank that is gone, dmesg for the OOM killer",),
    ),
    HangKind.HOST: (Action.FIX_PROGRAM, None, (_STACKS,)),
    HangKind.INPUT: (Action.FIX_PROGRAM, None, (_STACKS, "data loader workers and storage")),
    HangKind.COMPUTE: (
        Action.RESTART_JOB,
        Action.REPLACE_INSTANCE,
        ("executions that timed out on its device", _STACKS),
    ),
    HangKind.COLLECTIVE: (
        Action.LOOK_AT_OTHER_WORKERS,
        Action.REPLACE_INSTANCE,
        (_ELSEWHERE, _RECORDER),
    ),
    HangKind.DESYNC: (Action.FIX_PROGRAM, None, (_RECORDER, _STACKS)),
    HangKind.UNKNOWN: (Action.LOOK_AT_OTHER_WORKERS, None, (_ELSEWHERE, _STACKS)),
}
HANG_WORDS = {
    HangKind.CRASHED_PEER: "a rank is gone and the others wait for it",
    HangKind.HOST: "a rank does not come: its program or its host",
    HangKind.INPUT: "a rank waits for its data",
    HangKind.COMPUTE: "a rank's device does not complete",
    HangKind.COLLECTIVE: "all wait inside the same collective",
    HangKind.DESYNC: "ranks entered different collectives: the program",
    HangKind.UNKNOWN: "nobody can be named",
}


class About(NamedTuple):
    """The job that something is said of."""

    job: str
    wall: float
    rows: Sequence[Row]
    world_size: int | None
    elsewhere: int
    basis: str  # what it rests on: "hook, blocking times" …
    fold: int = 1  # short steps that are judged together


def who(rows: Iterable[Row], most: int = 8) -> str:
    """Ranks in words; one without a rank by its pid."""
    listed = list(rows)
    names = [str(row.number) if row.number >= 0 else f"of pid {row.pid}" for row in listed[:most]]
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return f"rank{'s' if len(listed) > 1 else ''} {', '.join(names)}{more}"


def place(row: Row) -> str:
    """Where a rank runs: ` (neuron6, logical core 25)`; empty where that is not known."""
    words = [f"neuron{row.device}"] if row.device is not None else []
    words += [f"logical core {row.core}"] if row.core is not None else []
    return f" ({', '.join(words)})" if words else ""


def entity(about: About, rows: Sequence[Row]) -> Entity:
    """One rank, else the job; with the device that all of them share."""
    devices = {row.device for row in rows}
    device = devices.pop() if len(devices) == 1 else None
    if len(rows) == 1:
        number = rows[0].number
        rank = number if number >= 0 else None
        return Entity("rank", device=device, job=about.job, rank=rank)
    return Entity("job", device=device, job=about.job)


def of_stall(stall: Stall, about: About, *, quiet: float, passive: bool = False) -> Finding:
    """A job that stands still; from outside alone it is a warning, for who looks knows little."""
    rows = [about.rows[at] for at in stall.rows]
    action, confirmed, confirm_by = HANG_REMEDIES[stall.kind]
    named = f"{who(rows)}{place(rows[0]) if len(rows) == 1 else ''}" if rows else ""
    culprit = f"{named}: {stall.why}" if rows else f"nobody can be named: {stall.why}"
    ranks = about.world_size or len(about.rows)
    fields: dict[str, Scalar] = {
        "class": stall.kind.value,
        "what": f"no progress on any rank of this node for {quiet:.0f} s"
        f" (a step takes {stall.usual:.3g} s)",
        "effect": f"about {quiet * ranks:.3g} rank-seconds lost so far over {ranks} ranks",
        "cause": HANG_WORDS[stall.kind],
        "basis": about.basis,
        "ranks": ",".join(str(row.number) for row in rows),
    }
    source = "executions" if passive else "heartbeat files"
    kind: EvidenceKind = "counter" if passive else "heartbeat"
    usual = round(stall.usual, 4)
    evidence = [Evidence(kind, "hearsay", source, round(quiet, 1), usual, fields=fields)]
    if stall.hardware:
        evidence.append(Evidence("counter", "hardware", stall.why))
    return Finding(
        id=HANGS[stall.kind],
        entity=entity(about, rows),
        severity=Severity.WARNING if passive else Severity.CRITICAL,
        confidence=Confidence.CONFIRMED if stall.hardware else Confidence.PROBABLE,
        action=action,
        message=f"no progress for {quiet:.0f} s (a step takes {stall.usual:.3g} s): {culprit}",
        if_confirmed=confirmed,
        confirm_by=confirm_by,
        blames_hardware=stall.hardware and stall.kind in (HangKind.COMPUTE, HangKind.COLLECTIVE),
        evidence=tuple(evidence),
        first_seen=about.wall - quiet,
        last_seen=about.wall,
        runbook=f"docs/runbooks/{HANGS[stall.kind]}.md",
        program=True,
    )


def of_slowdown(
    slower: Slowdown,
    about: About,
    *,
    named: bool,
    kind: str,
    reasons: Sequence[str],
    hints: Sequence[str],
    remedy: tuple[Action, Action | None, tuple[str, ...]] | None = None,
) -> Finding:
    """The job is slower than it was; `named`: another finding says because of whom.

    `remedy` is that of a cause which is known.
    """
    ranks = about.world_size or len(about.rows)
    lost = (slower.now - slower.before) * ranks
    why = "" if named else f"; nobody can be named: {'; '.join(reasons) or 'no rank stands out'}"
    hinted = f"; {'; '.join(hints)}" if hints else ""
    whose = "see the straggler" if named and not hints else "unknown"
    fields: dict[str, Scalar] = {
        "class": kind,
        "ratio": round(slower.ratio, 4),
        "what": f"a step takes {slower.before:.3g} → {slower.now:.3g} s ({slower.ratio:.2f}x)",
        "effect": f"about {lost:.3g} rank-seconds lost a step over {ranks} ranks",
        "cause": "; ".join(hints) or whose,
        "basis": about.basis,
        "lost_rank_seconds": round(lost, 3),
    }
    trusted: EvidenceKind = "heartbeat" if "hook" in about.basis else "counter"
    now, before = round(slower.now, 4), round(slower.before, 4)
    usual = Action.WATCH if named else Action.LOOK_AT_OTHER_WORKERS
    check = (_ELSEWHERE,) if about.elsewhere else (_PROFILE,)
    action, confirmed, confirm_by = remedy or (usual, None, check)
    return Finding(
        id="job-slow",
        entity=Entity("job", job=about.job),
        severity=Severity.WARNING,
        confidence=Confidence.PROBABLE,
        action=action,
        if_confirmed=confirmed,
        message=(
            f"the job is {slower.ratio:.2f}x as slow as it was"
            f" ({slower.before:.3g} → {slower.now:.3g} s a step){hinted}{why}"
        ),
        confirm_by=confirm_by,
        evidence=(Evidence(trusted, "hearsay", "step period", now, before, fields=fields),),
        first_seen=slower.since,
        last_seen=about.wall,
        runbook="docs/runbooks/job-slow.md",
        program=True,
    )
