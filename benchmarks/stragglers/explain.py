"""Every miss by name: `--explain` prints what the tables only count."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.stragglers.bench import Outcomes
    from benchmarks.stragglers.evaluate import Cell
    from benchmarks.stragglers.scoring import Result


def lines(out: Outcomes) -> Iterator[str]:
    """One line for each false alarm, missed, misplaced or misnamed fault, and wrong hang."""
    for cell in (*out.cells, *out.views, *out.held_out):
        yield from _cell(cell)
    for verdict in out.hangs:
        case = verdict.case
        right = verdict.right_rank and verdict.right_class and verdict.in_time
        if verdict.view == "hook" and case.hangs and not right:
            said = f"{verdict.cls or 'nothing'} ranks {sorted(verdict.ranks)}"
            yield f"hang: {case.name} of {case.culprits} in {case.topology.ranks} ranks: {said}"
        elif verdict.seconds is not None and (not case.hangs or "stale" in verdict.view):
            yield f"hang: {case.name} ({verdict.view}) called a stall: {verdict.cls}"


def _cell(cell: Cell) -> Iterator[str]:
    for one in cell.warnings:
        where = f"{cell.view}: {one.job}"
        for alarm in one.false:
            what = f"{alarm.cls} {alarm.scope}, {len(alarm.ranks)} ranks"
            yield f"{where}: false warning at step {alarm.raised}: {what}"
        if cell.view != "passive":
            yield from (f"{where}: {_fault(r)}" for r in one.results if not _right(r))


def _right(result: Result) -> bool:
    return result.found and result.exact and result.right_class


def _fault(result: Result) -> str:
    fault = result.fault
    what = (
        f"{fault.kind} ({fault.cls}) of a {fault.scope}, {len(fault.ranks)} ranks, steps "
        f"{fault.first}-{fault.last}, +{fault.severity:.1%}"
    )
    if not result.found:
        return f"missed: {what}"
    return f"called {result.cls} {result.scope} of {len(result.named)} ranks: {what}"
