"""The other rules: each turns a job into scores, steps by ranks.

What reaches a rule's threshold is flagged.
All are given what the hook sees without any loss, of every rank, and the published threshold.
For a comparison at equal false alarms the threshold is raised until the rule is as silent on
healthy jobs as the detector; a rule that is silent enough as published keeps its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.stragglers.rivals import change, levels, nvrx, windows

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.stragglers.job import Job, Matrix


class Rival(NamedTuple):
    """A rule by name, its published threshold, its source, and the least one that means much."""

    name: str
    score: Callable[[Job], Matrix]
    threshold: float
    note: str
    least: float = 0.0


def rivals() -> tuple[Rival, ...]:
    """All rules, in the order of the table."""
    return (
        Rival("fixed threshold", levels.ratio, 1.1, "> 1.1 x job median, each step"),
        Rival("z score", levels.z_score, 3.0, "> 3 over the job's ranks"),
        Rival("MAD", levels.mad_score, 3.5, "> 3.5 over the job's ranks"),
        Rival("nvrx relative", nvrx.relative, 1 - 0.75, nvrx.note()),
        Rival("nvrx individual", nvrx.individual, 1 - 0.75, nvrx.note()),
        Rival("Minder-like", windows.minder, 2.5, "distance sum, 4 min, no VAE"),
        Rival("last arrival", windows.last_arrival, 0.5, "waits least in > 50 % of 24 steps"),
        Rival(
            "BOCD+V, peers",
            change.bocd_then_peers,
            1.2,
            "job ≥ 10 % slower, 1.2 x role",
            least=1.05,
        ),
        Rival("sliding mean", windows.sliding_mean, 1.1, "12 steps against the 100 before"),
        Rival("CUSUM", levels.cusum, 5.0, "own baseline, k = 0.5, no topology"),
        Rival("DLRover 2x", windows.twice_the_median, 2.0, "rule of: > 2 x median, twice"),
        Rival("random guess", levels.guess, 0.9995, "one name in 2,000 rank-windows"),
    )
