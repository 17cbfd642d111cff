"""Which jobs are run, what is wrong with each, and what is the right thing to say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Report = Mapping[str, Any]

OF_JOBS = ("straggler", "job-slow", "imbalance", "rank-died")  # and hang-…


class Case(NamedTuple):
    """One kind of job; `ids` empty: nobody is to be named."""

    name: str
    options: tuple[str, ...]  # of train.py
    ids: tuple[str, ...] = ()  # findings that are right for the sick rank
    kinds: tuple[str, ...] = ()  # classes that are right; empty: the id tells it
    silent: bool = False  # nothing at all is to be said, not even that the job is slower
    ends: bool = True  # by itself
    restarts: int = 0
    once: bool = False  # a run in the short form
    code: int | None = 0  # exit code; None: any but 0


class Answer(NamedTuple):
    """What was said of one run."""

    right: bool
    said: str
    delay: float | None = None  # seconds from the fault until it was told


CASES = (
    Case(
        "hung",
        ("--fault", "hang"),
        ("hang-host", "hang-compute", "hang-input"),
        ends=False,
        code=None,
    ),
    Case("slow", ("--fault", "slow"), ("straggler",), ("compute", "compute-slow")),
    Case("starved", ("--fault", "input"), ("straggler",), ("input",)),
    Case("dying", ("--fault", "die"), ("rank-died", "hang-crashed-peer"), code=1),
    Case("restarting", ("--fault", "die"), ("rank-died", "hang-crashed-peer"), restarts=1),
    Case("async handles", ("--fault", "slow", "--way", "async"), once=True),
    Case("compiled step", ("--fault", "slow", "--way", "compiled"), once=True),
    Case("healthy", (), silent=True, once=True),
    Case("checkpoints", ("--checkpoint", "4"), silent=True, once=True),
    Case("evaluations", ("--evaluation", "4"), silent=True, once=True),
)


def findings(report: Report) -> list[Mapping[str, Any]]:
    """What was said of the job's progress, notices left out."""
    found = [one for job in report["jobs"] for one in job["findings"]]
    return [
        one
        for one in found
        if one["severity"] != "info" and (one["id"] in OF_JOBS or one["id"].startswith("hang-"))
    ]


def kind(finding: Mapping[str, Any]) -> str:
    """The class that a finding tells."""
    for evidence in finding["evidence"]:
        told = (evidence.get("fields") or {}).get("kind")
        if told:
            return str(told)
    return ""


def judge(case: Case, rank: int, report: Report) -> Answer:
    """Whether the right thing was said, of the right rank and of nobody else."""
    found = findings(report)
    said = "; ".join(_said(one) for one in found) or "nothing"
    code = report["exit_code"]
    if code != case.code if case.code is not None else code == 0:
        return Answer(right=False, said=f"exit code {code}; {said}")
    named = [one for one in found if one["entity"]["rank"] is not None]
    if case.silent:
        return Answer(not found, said)
    if not case.ids:
        return Answer(not named, said)
    right = [one for one in named if one["entity"]["rank"] == rank and _fits(one, case)]
    return Answer(bool(right) and len(right) == len(named), said)


def _fits(finding: Mapping[str, Any], case: Case) -> bool:
    return finding["id"] in case.ids and (not case.kinds or kind(finding) in case.kinds)


def _said(finding: Mapping[str, Any]) -> str:
    rank = finding["entity"]["rank"]
    who = "nobody" if rank is None else f"rank {rank}"
    told = kind(finding)
    return f"{finding['id']}{f' ({told})' if told else ''}: {who}"


def order(runs: int, *, short: bool) -> Sequence[tuple[Case, int]]:
    """Each case so many times, those that take longest first."""
    return [
        (case, number) for case in CASES for number in range(1 if short and case.once else runs)
    ]
