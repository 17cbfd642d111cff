"""What counts as right of a live job: the benchmark must be able to fail."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.live_jobs.cases import CASES, FIRST, judge, order

BY_NAME = {case.name: case for case in CASES}


def report(
    *said: tuple[str, int | None, str], code: int = 0, first: tuple[int, int] | None = None
) -> dict[str, Any]:
    """A report in which so much was said: findings (id, rank, class), and who ended first."""
    findings = [
        {
            "id": id_,
            "severity": "warning",
            "from": "2026-11-30T10:00:00.000Z",
            "entity": {"rank": rank},
            "evidence": [{"class": kind}],
        }
        for id_, rank, kind in said
    ]
    ended = [{"rank": first[0], "signal": first[1], "at": None}] if first else []
    return {"exit_code": code, "jobs": [{"findings": findings}], "first_to_end": ended}


SLOW = ("straggler", 2, "compute")
WHOLE = ("job-slow", None, "unknown")


@pytest.mark.parametrize(
    ("name", "told", "right"),
    [
        ("slow", report(SLOW, WHOLE), True),
        ("slow", report(), False),
        ("slow", report(WHOLE), False),
        ("slow", report(("straggler", 1, "compute")), False),
        ("slow", report(SLOW, ("straggler", 1, "compute")), False),
        ("slow", report(("straggler", 2, "host")), False),
        ("slow", report(SLOW, code=1), False),
        ("hung", report(("hang-host", 2, ""), code=143), True),
        ("hung", report(("hang-collective", 2, ""), code=143), False),
        ("hung", report(("hang-host", 2, ""), code=0), False),
        ("dying", report(code=1, first=(2, 9)), True),
        ("dying", report(code=1, first=(1, 9)), False),
        ("dying", report(code=1), False),
        ("async handles", report(WHOLE), True),
        ("async handles", report(SLOW), False),
        ("healthy", report(), True),
        ("healthy", report(WHOLE), False),
        ("checkpoints", report(("hang-host", 0, "")), False),
    ],
)
def test_the_right_rank_for_the_right_reason_and_nobody_else(
    name: str, told: dict[str, Any], *, right: bool
) -> None:
    """Of a job whose rank 2 is sick."""
    assert judge(BY_NAME[name], 2, told).right is right


def test_what_was_said_is_told_of_a_wrong_run() -> None:
    """So that one can see why."""
    assert judge(BY_NAME["healthy"], 2, report(WHOLE)).said == "job-slow (unknown): nobody"
    assert judge(BY_NAME["dying"], 2, report(first=(1, 9))).said == (
        f"exit code 0; {FIRST} (signal 9): rank 1"
    )


def test_how_often_each_is_run() -> None:
    """The short form runs once what is to be silent."""
    assert len(order(20, short=False)) == 20 * len(CASES)
    short = [case.name for case, _ in order(3, short=True)]
    assert short.count("slow") == 3
    assert short.count("healthy") == 1
