"""The ranks of a job side by side: what a step's time went into."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from neuron_observer.text import printable, seconds_text
from neuron_observer.tui.job_sheet import OF_THE_PAST, job_of
from neuron_observer.tui.lines import Line, Span, apart, length, line

if TYPE_CHECKING:
    from neuron_observer.model import Job, Rank, RankPace
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

_LABEL = 10  # cells before the bar


def ranks(view: View, width: int, height: int) -> list[Line]:
    """One line a rank, the longest busy first; what cannot be compared, and why."""
    job = job_of(view)
    if job is None:
        text = OF_THE_PAST.detail if view.is_past else ""
        return (
            [line(Span("Ranks", "heading"), Span(f"  {view.signs.dash} {text}", "dim"))]
            if text
            else []
        )
    heading = line(Span("Ranks, a step of", "heading"), *_heading(job))
    timed = [one for one in job.ranks if one.pace is not None and _parts(one.pace)]
    if not timed:
        why = (job.pace and job.pace.detail) or "no step hook writes for it: nothing to compare"
        return [heading, line("  ", Span(f"{view.signs.dash} {printable(why)}", "dim"))]
    timed.sort(key=lambda one: -(one.pace.busy or 0.0) if one.pace else 0.0)
    longest = max(sum(seconds for _, seconds in _parts(one.pace)) for one in timed)
    tails = [_tail(view, one.pace) for one in timed]
    cells = max(width - _LABEL - 1 - max(map(length, tails)), 0)
    lines = [
        _rank(view, one, longest, cells) + tail for one, tail in zip(timed, tails, strict=True)
    ]
    room = max(height - 1, 1)
    if len(lines) > room:
        left = line(Span(f"  {len(lines) - room} more", "heading"))
        lines = [*lines[: room - 1], apart(lines[room - 1], left, width)]
    return [heading, *lines]


def _heading(job: Job) -> list[Span]:
    pace = job.pace
    spans = [
        Span(f" {printable(job.name)}  "),
        Span("busy ", "load"),
        Span("wait ", "dim"),
        Span("input", "power"),
    ]
    if pace is None:
        return spans
    said: list[str] = [pace.phase]
    if pace.period is not None:
        what = "step" if pace.source == "hook" else "execution"
        said.append(f"{what} {seconds_text(pace.period)}")
    if pace.ratio is not None:
        said.append(f"{pace.ratio:.2f}x as slow as it was")
    if pace.slowest is not None:
        said.append(f"rank {pace.slowest} holds it up")
    busy = [one.pace.busy for one in job.ranks if one.pace and one.pace.busy is not None]
    if busy:
        said.append(f"busy {seconds_text(median(busy))} in the middle")
    return [*spans, Span(f"  {', '.join(said)}", "dim")]


def _parts(pace: RankPace | None) -> list[tuple[Tone, float]]:
    if pace is None:
        return []
    parts: list[tuple[Tone, float | None]] = [
        ("load", pace.busy),
        ("dim", pace.wait),
        ("power", pace.input),
    ]
    return [(tone, seconds) for tone, seconds in parts if seconds is not None]


def _rank(view: View, rank: Rank, longest: float, room: int) -> Line:
    """The name and the bar, which takes `room` cells for the longest step."""
    name = f" rank {rank.rank}" if rank.rank is not None else f" {rank.process.pid}"
    spans = [Span(f"{name:<{_LABEL}}")]
    for tone, seconds in _parts(rank.pace):
        cells = round(seconds / longest * room) if longest else 0
        spans.append(Span(_signs(view)[tone] * cells, tone))
    used = sum(len(span.text) for span in spans)
    return (*spans, Span(" " * max(_LABEL + room - used, 0) + " "))


def _signs(view: View) -> dict[str, str]:
    full = view.signs.eighths[-1]
    return {"load": full, "dim": view.signs.empty, "power": view.signs.levels[2]}


def _tail(view: View, pace: RankPace | None) -> Line:
    if pace is None:
        return ()
    figures = [
        f"{seconds_text(seconds) if seconds is not None else view.signs.dash:>8}"
        for seconds in (pace.busy, pace.wait)
    ]
    behind = f" {pace.behind} behind" if pace.behind else ""
    spans = [Span(" ".join(figures), "figure"), Span(behind, "warn")]
    if pace.straggler is not None:
        ratio = f" x{pace.ratio:.2f}" if pace.ratio is not None else ""
        spans.append(
            Span(f" {view.signs.mark} {pace.straggler}{ratio} {printable(pace.kind)}", "bad")
        )
    return tuple(spans)
