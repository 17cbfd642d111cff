"""Figures as rows of Markdown tables; nothing is computed twice and nothing rounded up to 1."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers.faults import STEP_S
from benchmarks.stragglers.intervals import bootstrap, rate_bound, wilson
from benchmarks.stragglers.scoring import Figures, figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.stragglers.compare import Row
    from benchmarks.stragglers.evaluate import Cell
    from benchmarks.stragglers.quiet import Quiet
    from benchmarks.stragglers.scoring import Outcome, Result

SEED = 20
GROSS_EXCESS = 0.2


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def share(hits: int, of: int) -> str:
    """A share with its Wilson interval: `0.98 (0.95-0.99), 98/100`."""
    if of == 0:
        return "none asked"
    low, high = wilson(hits, of)
    return f"{_down(hits / of)} ({_down(low)}-{_down(high)}), {hits}/{of}"


def f1(outcomes: Sequence[Outcome]) -> str:
    """F1 with its interval: jobs are drawn anew."""
    if not outcomes:
        return "—"
    rng = np.random.default_rng(SEED)
    low, high = bootstrap([o.counts for o in outcomes], lambda c: Figures(*c).f1, rng)
    return f"{_down(figures(outcomes).f1)} ({_down(low)}-{_down(high)})"


def delays(found: Sequence[int]) -> str:
    """Median and 90th percentile of the slow steps until an alarm."""
    if not found:
        return "—"
    return f"{np.median(found):.0f} / {np.percentile(found, 90):.0f}"


def _down(value: float) -> str:
    """Two digits, three near 1, rounded down."""
    digits = 3 if 0.99 <= value < 1 - 1e-9 else 2
    return f"{math.floor(value * 10**digits + 1e-9) / 10**digits:.{digits}f}"


def detection(cells: Iterable[Cell]) -> str:
    """How many faults are found, and how well they are named, by size and shape."""
    head = (
        "job", "precision", "recall", "slow ranks: recall", "F1", "exact ranks", "scope", "class",
        "notice, steps", "warning, steps",
    )  # fmt: skip
    return table(head, (_detection_row(cell) for cell in cells))


def _detection_row(cell: Cell) -> tuple[str, ...]:
    all_of = figures(cell.warnings)
    ranked = figures(cell.ranked_warnings)
    found = [r for r in cell.results if r.found]
    return (
        f"{cell.shape} {cell.ranks}",
        share(int(all_of.found), int(all_of.found + all_of.false)),
        share(int(all_of.found), int(all_of.asked)),
        share(int(ranked.found), int(ranked.asked)),
        f1(cell.warnings),
        share(sum(r.exact for r in found), len(found)),
        share(sum(r.right_scope for r in found), len(found)),
        share(sum(r.right_class for r in found), len(found)),
        delays([r.delay for r in cell.first_results if r.delay is not None]),
        delays([r.delay for r in found if r.delay is not None]),
    )


def by_kind(cells: Sequence[Cell]) -> str:
    """The same by kind of fault, over the cells given."""
    groups: dict[tuple[str, str], list[tuple[Result, Result]]] = {}
    for cell in cells:
        for late, early in zip(cell.results, cell.first_results, strict=True):
            groups.setdefault((late.fault.kind, late.fault.scope), []).append((late, early))
    head = ("fault", "scope", "recall", "exact ranks", "class", "notice, steps", "warning, steps")
    return table(head, (_kind_row(*key, pairs) for key, pairs in sorted(groups.items())))


def _kind_row(kind: str, scope: str, pairs: Sequence[tuple[Result, Result]]) -> tuple[str, ...]:
    found = [late for late, _ in pairs if late.found]
    return (
        kind,
        scope,
        share(len(found), len(pairs)),
        share(sum(r.exact for r in found), len(found)),
        share(sum(r.right_class for r in found), len(found)),
        delays([early.delay for _, early in pairs if early.delay is not None]),
        delays([r.delay for r in found if r.delay is not None]),
    )


def by_effect(cells: Sequence[Cell]) -> str:
    """Faults that make the job slower, and those off its critical path."""
    rows = []
    for name, wanted in (("job slower by 1 % or more", True), ("off the critical path", False)):
        some = [r for cell in cells for r in cell.results if r.affects is wanted]
        found = [r for r in some if r.found]
        steps = [r.delay for r in found if r.delay is not None]
        exact = share(sum(r.exact for r in found), len(found))
        rows.append((name, share(len(found), len(some)), exact, delays(steps)))
    return table(("effect", "recall", "exact ranks", "warning, steps"), rows)


def confusion(cells: Sequence[Cell]) -> str:
    """Classes: truth down, answers across."""
    pairs = Counter((r.fault.cls, r.cls or "—") for c in cells for r in c.results if r.found)
    truths = sorted({truth for truth, _ in pairs})
    answers = sorted({answer for _, answer in pairs})
    rows = [(t, *(str(pairs[t, a]) for a in answers)) for t in truths]
    return table(("truth, then answer", *answers), rows)


def healthy(days: dict[tuple[int, str], Quiet]) -> str:
    """False alarms a job-day, by kind of noise."""
    kinds = sorted({kind for _, kind in days})
    rows = [_healthy_row(kind, [q for (_, k), q in days.items() if k == kind]) for kind in kinds]
    rows.append(_healthy_row("all", list(days.values())))
    head = (
        "noise",
        "job-days",
        "warnings (95 % bound a day)",
        "notices a day",
        "job slower, a day",
    )
    return table(head, rows)


def _healthy_row(name: str, some: Sequence[Quiet]) -> tuple[str, ...]:
    many = sum(q.days for q in some)
    warnings = sum(q.warnings + q.always for q in some)
    return (
        name,
        f"{many:.1f}",
        f"{warnings} ({rate_bound(warnings, many):.3f})",
        f"{sum(q.notices for q in some) / many:.2f}",
        f"{sum(q.slowdowns for q in some) / many:.2f}",
    )


def benign(events: dict[tuple[str, str], Quiet]) -> str:
    """What benign events were taken for: `cases: warnings that name ranks / wrong job slower`."""
    views = list(dict.fromkeys(view for _, view in events))
    kinds = list(dict.fromkeys(kind for kind, _ in events))
    rows = []
    for kind in kinds:
        cells = [events.get((kind, view)) for view in views]
        rows.append((kind, *("" if q is None else _benign_cell(q) for q in cells)))
    return table(("event", *views), rows)


def _benign_cell(quiet: Quiet) -> str:
    names = Counter(quiet.names).most_common(1)
    what = f", e.g. {names[0][0]}" if names else ""
    return f"{quiet.cases}: {quiet.warnings} / {quiet.slowdowns}{what}"


def rivals(cell: Cell) -> str:
    """The detector and its rivals on one cell: as published, and at equal false alarms."""
    head = (
        "rule", "F1 as published", "calm false alarms", "steps",
        "F1 at equal false alarms", "calm false alarms", "steps", "threshold",
    )  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for name, outcomes, calm in (
        ("**this detector, notice**", cell.ranked_notices, cell.calm_notices),
        ("**this detector, warning**", cell.ranked_warnings, cell.calm_warnings),
    ):
        found = [r.delay for o in outcomes for r in o.results if r.delay is not None]
        rows.append((name, f1(outcomes), str(calm), delays(found), "", "", "", ""))
    if cell.contest is not None:
        pairs = zip(cell.contest.published, cell.contest.equal, strict=True)
        rows += [_rival_row(published, equal) for published, equal in pairs]
    return table(head, rows)


def fair(cell: Cell) -> str:
    """Recall where every rule can see the fault: 1.2 x and more, and the job is slower."""
    if cell.contest is None:
        return ""
    rows = [("this detector, warning", cell.ranked_warnings)]
    rows += [(row.name, row.outcomes) for row in cell.contest.published]
    words = []
    for name, outcomes in rows:
        some = [
            r for o in outcomes for r in o.results if r.affects and r.fault.severity >= GROSS_EXCESS
        ]
        words.append(f"{name} {sum(r.found for r in some)}/{len(some)}")
    return f"Faults of 1.2 x and more that slow the job, found as published: {', '.join(words)}.\n"


def _rival_row(published: Row, equal: Row) -> tuple[str, ...]:
    return (
        f"{published.name} ({published.note})",
        f1(published.outcomes),
        str(published.calm_false),
        delays(published.delays),
        f1(equal.outcomes),
        str(equal.calm_false),
        delays(equal.delays),
        f"{published.threshold:.4g} → {equal.threshold:.4g}",
    )


def slower(cells: Iterable[Cell]) -> str:
    """Is the job slower? And who was slow from the start?"""
    head = ("job", "view", "job slower: precision", "recall", "always slow: recall", "false")
    rows = []
    for cell in cells:
        said = cell.slower_found + cell.slower_false
        rows.append(
            (
                f"{cell.shape} {cell.ranks}",
                cell.view,
                share(cell.slower_found, said),
                share(cell.slower_found, cell.slower_asked),
                share(cell.always_found, cell.always_asked),
                str(cell.always_false),
            )
        )
    return table(head, rows)


def seconds(steps: float) -> str:
    """Steps of the benchmark as seconds."""
    return f"{steps * STEP_S:.0f} s"
