"""Which jobs are run, what is wrong with each, and what is the right thing to say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Report = Mapping[str, Any]

OF_JOBS = ("straggler", "job-slow", "imbalance")  # and hang-…
FIRST = "first to end"  # what `run` says itself of a rank that died


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
    Case("slow", ("--fault", "slow"), ("straggler",), ("compute",)),
    Case("starved", ("--fault", "input"), ("straggler",), ("input",)),
    Case("dying", ("--fault", "die"), (FIRST,), ("signal 9",), code=1),
    Case("restarting", ("--fault", "die"), (FIRST,), ("signal 9",), restarts=1),
    Case("async handles", ("--fault", "slow", "--way", "async"), once=True),
    Case("compiled step", ("--fault", "slow", "--way", "compiled"), once=True),
    Case("healthy", (), silent=True, once=True),
    Case("checkpoints", ("--checkpoint", "4"), silent=True, once=True),
    Case("evaluations", ("--evaluation", "4"), silent=True, once=True),
)


class Said(NamedTuple):
    """One thing that was said."""

    id: str
    rank: int | None
    kind: str
    at: str | None  # when first

    def __str__(self) -> str:
        """In a few words."""
        who = "nobody" if self.rank is None else f"rank {self.rank}"
        return f"{self.id}{f' ({self.kind})' if self.kind else ''}: {who}"


def said(report: Report) -> list[Said]:
    """What was said of the job's progress, notices left out."""
    found = [
        Said(one["id"], one["entity"]["rank"], _kind(one), one["from"])
        for job in report["jobs"]
        for one in job["findings"]
        if one["severity"] != "info" and (one["id"] in OF_JOBS or one["id"].startswith("hang-"))
    ]
    return found + [
        Said(FIRST, one["rank"], f"signal {one['signal']}", one["at"])
        for one in report["first_to_end"]
    ]


def _kind(finding: Mapping[str, Any]) -> str:
    for evidence in finding["evidence"]:
        told = evidence.get("class")
        if told:
            return str(told)
    return ""


def judge(case: Case, rank: int, report: Report) -> Answer:
    """Whether the right thing was said, of the right rank and of nobody else."""
    found = said(report)
    text = "; ".join(map(str, found)) or "nothing"
    code = report["exit_code"]
    if code != case.code if case.code is not None else code == 0:
        return Answer(right=False, said=f"exit code {code}; {text}")
    named = [one for one in found if one.rank is not None]
    if case.silent:
        return Answer(not found, text)
    if not case.ids:
        return Answer(not named, text)
    right = [one for one in named if one.rank == rank and _fits(one, case)]
    return Answer(bool(right) and len(right) == len(named), text)


def _fits(one: Said, case: Case) -> bool:
    return one.id in case.ids and (not case.kinds or one.kind in case.kinds)


def order(runs: int, *, short: bool) -> Sequence[tuple[Case, int]]:
    """Each case so many times, those that take longest first."""
    return [
        (case, number) for case in CASES for number in range(1 if short and case.once else runs)
    ]
