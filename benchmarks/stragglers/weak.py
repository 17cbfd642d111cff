"""The weak cells: everything measured that is below what one would wish, listed without asking."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers.scoring import figures
from benchmarks.stragglers.tables import share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.stragglers.bench import Outcomes
    from benchmarks.stragglers.evaluate import Cell
    from benchmarks.stragglers.scoring import Result
    from benchmarks.stragglers.stops import Verdict

WISH = 0.95


def lines(out: Outcomes) -> list[str]:
    """One line a weak cell."""
    scraped = [cell for cell in out.views if cell.view == "scrapes"]
    return [
        *_kinds("fixed shapes, hook", out.hooked("fixed")),
        *_kinds("variable shapes, hook", out.hooked("variable")),
        *_kinds("scrapes", scraped),
        *(line for cell in out.held_out for line in _kinds(f"{cell.shape} {cell.ranks}", [cell])),
        *_jobs([*out.cells, *out.views]),
        *_hangs(out.hangs),
        *_quiet(out),
        *_rivals(out.cells),
    ]


def _kinds(where: str, cells: Sequence[Cell]) -> Iterator[str]:
    """Kinds of fault that are missed, misplaced or misnamed more than once in twenty."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in (r for cell in cells for r in cell.results):
        groups[f"{result.fault.kind} of a {result.fault.scope}"].append(result)
    for kind, some in sorted(groups.items()):
        found = [r for r in some if r.found]
        for what, hits, of in (
            ("found", len(found), len(some)),
            ("exact ranks", sum(r.exact for r in found), len(found)),
            ("class", sum(r.right_class for r in found), len(found)),
        ):
            if of and hits < WISH * of:
                yield f"{where}, {kind}: {what} {share(hits, of)}"
    false = sum(len(one.false) for cell in cells for one in cell.warnings)
    if false:
        jobs = sum(len(cell.warnings) for cell in cells)
        yield f"{where}: {false} false warnings in {jobs} jobs"


def _jobs(cells: Sequence[Cell]) -> Iterator[str]:
    for cell in cells:
        where = f"{cell.shape} {cell.ranks}, {cell.view}"
        if cell.slower_found < WISH * cell.slower_asked:
            yield f"{where}: job slower, found {share(cell.slower_found, cell.slower_asked)}"
        if cell.slower_false:
            yield f"{where}: job slower, said {cell.slower_false} times without cause"
        if cell.always_found < WISH * cell.always_asked:
            said = share(cell.always_found, cell.always_asked)
            yield f"{where}: slow from the start, found {said}"


def _hangs(verdicts: Sequence[Verdict]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.case.hangs and "stale" not in verdict.view:
            groups[verdict.case.name, verdict.view].append(verdict)
    for (name, view), some in groups.items():
        called = [v for v in some if v.seconds is not None]
        for what, hits in (
            ("right rank", sum(v.right_rank for v in called)),
            ("right cause", sum(v.right_class for v in called)),
        ):
            if hits < WISH * len(called):
                yield f"hang, {name}, {view}: {what} {share(hits, len(called))}"


def _quiet(out: Outcomes) -> Iterator[str]:
    for (kind, view), one in out.benign.items():
        if one.warnings:
            yield f"benign, {kind}, {view}: {one.warnings} warnings in {one.cases} cases"
        if one.slowdowns:
            yield f"benign, {kind}, {view}: job slower {one.slowdowns} times in {one.cases} cases"
    for (ranks, noise), one in out.healthy.items():
        if one.notices or one.slowdowns:
            yield (
                f"healthy, {ranks} ranks, {noise}: {one.notices} notices and {one.slowdowns} times "
                f"job slower in {one.days:.1f} days"
            )


def _rivals(cells: Sequence[Cell]) -> Iterator[str]:
    """Rules that are as good, and rules that are sooner on what they find."""
    for cell in cells:
        if cell.contest is None:
            continue
        ours = figures(cell.ranked_warnings).f1
        said = [r.delay for o in cell.ranked_notices for r in o.results if r.delay is not None]
        soon = float(np.median(said)) if said else float("inf")
        for row in cell.contest.equal:
            where = f"{cell.shape} {cell.ranks}, at equal false alarms: {row.name}"
            if row.f1 >= ours:
                yield f"{where} has F1 {row.f1:.3f}, this detector {ours:.3f}"
            steps = float(np.median(row.delays)) if row.delays else soon
            if steps < soon:
                what = f"{steps:.0f} steps against {soon:.0f}; F1 {row.f1:.2f} against {ours:.2f}"
                yield f"{where} is sooner on what it finds ({what})"
