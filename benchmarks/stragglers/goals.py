"""The figures that must hold, each with what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.stragglers.scoring import figures
from benchmarks.stragglers.tables import share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.stragglers.bench import Outcomes
    from benchmarks.stragglers.evaluate import Cell
    from benchmarks.stragglers.scoring import Result

SCRAPE_DELAY_STEPS = 12  # 60 s


class Goal(NamedTuple):
    """One figure: what is wanted, what was measured, and whether it holds."""

    name: str
    wanted: str
    measured: str
    holds: bool


def goals(out: Outcomes, *, full: bool) -> list[Goal]:
    """All figures; those that need the full run only then."""
    fixed = out.hooked("fixed")
    return [
        *_found(fixed),
        *_named(fixed),
        *_delays(fixed, "hook", 0),
        *(_events_at_4096(fixed) if full else ()),
        *_quiet(out, full=full),
        *_views(out),
        *_hangs(out),
        *_rivals(out),
        *(_cost(out) if full else ()),  # a short run on a busy machine times nothing
        *(Goal(r.name, r.wanted, r.said, r.right) for r in out.replays),
    ]


def _at_least(name: str, hits: int, of: int, wanted: float) -> Goal:
    return Goal(name, f"≥ {wanted:g}", share(hits, of), of > 0 and hits >= wanted * of)


def _found(cells: Sequence[Cell]) -> Iterator[Goal]:
    ranked = figures([o for c in cells for o in c.ranked_warnings])
    found = figures([o for c in cells for o in c.warnings])
    said = found.found + found.false
    yield _at_least("fixed, hook: recall of slow ranks", int(ranked.found), int(ranked.asked), 0.98)
    yield _at_least("fixed, hook: precision of warnings", int(found.found), int(said), 0.98)


def _ranked(cells: Sequence[Cell]) -> list[Result]:
    return [r for c in cells for o in c.ranked_warnings for r in o.results if r.found]


def _named(cells: Sequence[Cell]) -> Iterator[Goal]:
    found = _ranked(cells)
    every = [r for c in cells for r in c.results if r.found]
    exact, right = sum(r.exact for r in found), sum(r.right_class for r in every)
    yield _at_least("fixed, hook: exact ranks", exact, len(found), 0.95)
    yield _at_least("fixed, hook: class", right, len(every), 0.90)


def _delays(cells: Sequence[Cell], view: str, more: int) -> Iterator[Goal]:
    early = [r.delay for c in cells for o in c.ranked_notices for r in o.results if r.delay]
    late = [r.delay for r in _ranked(cells) if r.delay]
    for name, values, at, wanted in (
        ("notice, median", early, 50, 4),
        ("warning, median", late, 50, 10),
        ("warning, 90th percentile", late, 90, 12),
    ):
        value = float(np.percentile(values, at)) if values else float("inf")
        limit = wanted + more
        yield Goal(
            f"fixed, {view}: {name}", f"≤ {limit} slow steps", f"{value:.1f}", value <= limit
        )


def _events_at_4096(cells: Sequence[Cell]) -> Iterator[Goal]:
    asked = sum(len(o.results) for c in cells if c.ranks == 4096 for o in c.ranked_warnings)
    yield Goal("events of slow ranks at 4096 ranks", "≥ 50", str(asked), asked >= 50)


def _quiet(out: Outcomes, *, full: bool) -> Iterator[Goal]:
    days = sum(q.days for q in out.healthy.values())
    false = sum(q.warnings + q.always for q in out.healthy.values())
    least = 100 if full else 2
    name = "healthy days with stress noise: false warnings"
    holds = false == 0 and days >= least
    yield Goal(name, f"0 in ≥ {least} job-days", f"{false} in {days:.1f}", holds)


def _views(out: Outcomes) -> Iterator[Goal]:
    passive = [c for c in out.views if c.view == "passive"]
    found = sum(c.slower_found for c in passive) + sum(c.claimed_found for c in passive)
    asked = sum(c.slower_asked for c in passive) + sum(c.claimed_asked for c in passive)
    false = sum(c.slower_false + c.false_names for c in passive)
    yield _at_least("passive: precision of what it claims", found, found + false, 0.95)
    yield _at_least("passive: recall of what it claims", found, asked, 0.90)
    scraped = [c for c in out.views if c.view == "scrapes"]
    ranked = figures([o for c in scraped for o in c.ranked_warnings])
    yield _at_least("scrapes: recall of slow ranks", int(ranked.found), int(ranked.asked), 0.98)
    yield from _delays(scraped, "scrapes", SCRAPE_DELAY_STEPS)


def _hangs(out: Outcomes) -> Iterator[Goal]:
    hung = [v for v in out.hangs if v.case.hangs]
    for view in ("hook", "passive"):
        some = [v for v in hung if v.view == view]
        in_time = sum(v.in_time for v in some)
        yield _at_least(f"hangs, {view}: within D + 15 s", in_time, len(some), 1.0)
    hooked = [v for v in hung if v.view == "hook"]
    yield _at_least("hangs, hook: right rank", sum(v.right_rank for v in hooked), len(hooked), 0.95)
    healthy = [v for v in out.hangs if not v.case.hangs or "stale" in v.view]
    called = sum(v.seconds is not None for v in healthy)
    yield Goal(
        "pauses and stale counters called a stall", "0", f"{called}/{len(healthy)}", called == 0
    )


def _rivals(out: Outcomes) -> Iterator[Goal]:
    for cell in out.cells:
        if cell.contest is None:
            continue
        ours = figures(cell.ranked_warnings).f1
        best = max((*cell.contest.published, *cell.contest.equal), key=lambda row: row.f1)
        measured = f"{ours:.3f} against {best.f1:.3f} ({best.name})"
        wanted = "above every rule, at any threshold"
        yield Goal(f"F1, {cell.shape} {cell.ranks}", wanted, measured, ours > best.f1)


def _cost(out: Outcomes) -> Iterator[Goal]:
    for ranks, cpu in out.cpu.items():
        if ranks == 4096:
            value = float(np.median(cpu)) * 1e3
            yield Goal("CPU a step, 4096 ranks, median", "≤ 2 ms", f"{value:.2f} ms", value <= 2)
