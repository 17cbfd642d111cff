"""The table of processes that hold devices, a row a rank; and what is known of a whole job."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.jobs.ownership import ranges
from neuron_observer.jobs.usage import use_of
from neuron_observer.model import Missing, Place, State, Why
from neuron_observer.text import bytes_text, printable, seconds_text
from neuron_observer.tui.columns import of_scope
from neuron_observer.tui.lines import Line, Span, joined, line
from neuron_observer.tui.sheet import Column, Row, Sheet, chosen, rows_shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.model import Cell, Finding, Job, Rank
    from neuron_observer.tui.view import View

OF_THE_PAST = Missing(Why.UNSUPPORTED, "jobs of the past are not held")
_NO_RANK = Missing(Why.UNSUPPORTED, "the process tells no rank")
_STATES = {"D": "uninterruptible", "Z": "zombie", "T": "stopped"}
_NATURAL = (
    *("user", "job", "rank", "mark", "cores", "hbm", "cpu", "memory", "age", "devices"),
    *("phase", "step", "behind", "busy", "wait", "input", "state", "kind", "pod"),
    *("runtime.memory.device", "runtime.latency.total_p50", "command"),
)
_NO_HOOK = Missing(Why.UNSUPPORTED, "no step hook writes for it")
_NOT_TOLD = Missing(Why.NOT_YET, "its hook does not tell it")


class Member(NamedTuple):
    """One process in its job."""

    job: Job
    rank: Rank
    hbm: Cell  # of the whole job
    findings: tuple[Finding, ...]


def jobs(view: View) -> Sheet:
    """A row a process, in the order of jobs and ranks."""
    rows = [
        Row(str(one.rank.process.pid), Place(label=f"pid{one.rank.process.pid}"), one)
        for one in members(view)
    ]
    return Sheet(_columns(), rows, _NATURAL, why_none(view))


def why_none(view: View) -> str:
    """What an empty list means."""
    snapshot = view.snapshot
    if view.is_past:
        return f"{view.signs.dash} {OF_THE_PAST.detail}"
    scan = snapshot.job_scan
    if scan is None:
        why = next((run.error for run in snapshot.runs if run.collector == "jobs"), "")
        return f"{view.signs.dash} not known, {printable(why) or 'nobody looked for processes yet'}"
    unsure = " as far as can be seen" if scan.denied or scan.pending or scan.notes else ""
    return f"no process holds a Neuron device{unsure}"


def members(view: View) -> list[Member]:
    """The processes of all jobs; none of a time before the frame's."""
    return [] if view.is_past else view.cells.once("members", lambda: _members(view))


def _members(view: View) -> list[Member]:
    found = []
    for job in view.snapshot.jobs:
        held = use_of(job, view.snapshot).hbm
        hbm: Cell = (
            Missing(Why.UNSUPPORTED, "other jobs hold its devices too") if held is None else held
        )
        found += [Member(job, rank, hbm, _findings_on(view, job, rank)) for rank in job.ranks]
    return found


def _findings_on(view: View, job: Job, rank: Rank) -> tuple[Finding, ...]:
    return tuple(
        one
        for one in view.frame.findings
        if one.entity.job == job.id
        and one.entity.rank == rank.rank
        and one.state not in (State.RESOLVED, State.PENDING)
    )


def job_of(view: View) -> Job | None:
    """The job of the chosen row."""
    rows = rows_shown(view, jobs(view))
    member: Member | None = rows[chosen(view, rows)].of if rows else None
    return member.job if member else None


def about(view: View, width: int, height: int) -> list[Line]:  # noqa: ARG001 - as every panel
    """What is known of the chosen row's job."""
    job = job_of(view)
    scan = view.snapshot.job_scan
    lines = []
    if job is not None:
        head = line(
            Span(printable(f"{job.name}"), "heading"), printable(f"  {job.kind}: {job.why}")
        )
        lines = [head, joined([line(printable(one)) for one in _facts(job)], Span("  ", "dim"))]
        lines += [line(Span(printable(one), "dim")) for one in _unknown(job)]
    if scan is not None and not view.is_past:
        lines += [line(Span(printable(f"note: {note}"), "dim")) for note in scan.notes]
        if scan.denied:
            lines.append(line(Span(f"note: {scan.denied} processes may not be looked at", "dim")))
    return lines


def _facts(job: Job) -> list[str]:
    facts = [f"id {job.id}"]
    if job.launcher:
        facts.append(f"by {job.launcher}")
    if job.world_size is not None:
        facts.append(f"{len(job.ranks)} of {job.world_size} ranks here")
    if job.slurm_job:
        facts.append(f"Slurm {job.slurm_job}" + (f".{job.slurm_step}" if job.slurm_step else ""))
    if job.restarts is not None:
        facts.append(f"restarts {job.restarts}")
    if job.master:
        facts.append(f"master {job.master}")
    if job.tag:
        facts.append(f"tag {job.tag}")
    return [*facts, *(f"scheduler says {one}" for one in job.mapped)]


def _unknown(job: Job) -> list[str]:
    said = {one.cores.detail for one in job.ranks if one.cores.detail}
    for rank in job.ranks:
        said |= set(rank.process.unknown)
    return sorted(said)


def _cell(read: Callable[[Member], Cell]) -> Callable[[View, Row], Cell]:
    return lambda _, row: read(row.of)


def _or(value: Any, why: str) -> Cell:
    return Missing(Why.NOT_YET, why) if value is None else value


def _column(
    name: str,
    head: str,
    text: str,
    read: Callable[[Member], Cell],
    write: Callable[[Any], str] = str,
    *,
    right: bool = True,
    widest: int = 60,
) -> Column:
    return Column(
        name, head, text, _cell(read), lambda cell, _: write(cell), right=right, widest=widest
    )


def _pace(name: str, head: str, text: str, write: Callable[[Any], str] = str) -> Column:
    def read(member: Member) -> Cell:
        pace = member.rank.pace
        if pace is None:
            return _NO_HOOK
        value: Cell | None = getattr(pace, name)
        return _NOT_TOLD if value is None else value

    return _column(name, head, text, read, write, right=name != "phase")


def _cores(member: Member) -> Cell:
    cores = member.rank.cores
    if cores.numbers:
        return ranges(cores.numbers)
    if cores.how_many:
        return f"any {cores.how_many}"
    return Missing(Why.UNSUPPORTED, cores.detail or "its cores are not told")


def _pod(member: Member) -> Cell:
    process = member.rank.process
    if process.pod:
        name = process.pod.name or process.pod.uid
        return f"{process.pod.namespace}/{name}" if process.pod.namespace else name
    return process.container[:12] if process.container else "none"


def marks(member: Member) -> str:
    """Names of what is wrong with a rank."""
    pace = member.rank.pace
    slow = ["straggler"] if pace is not None and pace.straggler is not None else []
    return ", ".join(dict.fromkeys([*slow, *(one.id for one in member.findings)]))


@cache
def _columns() -> tuple[Column, ...]:
    return (
        _column("pid", "PID", "Process id on the host", lambda m: m.rank.process.pid),
        _column("user", "User", "Who runs it", _user, right=False, widest=12),
        _column("job", "Job", "Name of its job", lambda m: m.job.name, right=False, widest=20),
        _column("rank", "Rank", "Rank", lambda m: _NO_RANK if m.rank.rank is None else m.rank.rank),
        _column("cores", "Cores", "Logical cores, numbered over the node", _cores, right=False),
        _column(
            "devices",
            "Devices",
            "Devices that it has open",
            lambda m: ranges(m.rank.process.devices),
            right=False,
            widest=16,
        ),
        _column("hbm", "HBM/job", "HBM on the devices of its job", lambda m: m.hbm, bytes_text),
        Column(
            "cpu",
            "CPU",
            "Processors busy since the read before",
            _cell(lambda m: _or(m.rank.process.processors, "needs two reads")),
            lambda cell, _: f"{cell:.1f}",
        ),
        _column(
            "memory",
            "Memory",
            "Resident memory",
            lambda m: _or(m.rank.process.rss, "not readable"),
            bytes_text,
        ),
        _column(
            "age", "Age", "Since its start", lambda m: _or(m.rank.process.age, "not readable"), _age
        ),
        Column(
            "mark",
            "",
            "Findings on the rank, such as straggler",
            _cell(marks),
            lambda cell, view: f"{view.signs.mark} {cell}" if cell else "",
            right=False,
            tone=lambda cell: "bad" if cell else "plain",
        ),
        _pace("phase", "Phase", "What it does, as its step hook tells"),
        _pace("step", "Step", "Steps that it has finished"),
        _pace("behind", "Behind", "Steps behind the foremost rank of its job here"),
        _pace("busy", "Busy", "Its own work in a step", seconds_text),
        _pace("wait", "Wait", "In collectives in a step, waiting for peers included", seconds_text),
        _pace("input", "Input", "Waiting for data in a step", seconds_text),
        _pace("period", "Period", "A step", seconds_text),
        _column("state", "State", "State of the process", _state, right=False),
        _column(
            "waited",
            "Waited",
            "Share of the time its main thread wanted to run and could not",
            lambda m: _or(m.rank.process.waited, "needs two reads"),
            lambda x: f"{x * 100:.0f}%",
        ),
        _column("threads", "Threads", "Threads", lambda m: _or(m.rank.process.threads, "not read")),
        _column("kind", "Kind", "What kind of job", lambda m: m.job.kind, right=False),
        _column(
            "launcher",
            "Launcher",
            "What started it",
            lambda m: m.job.launcher or "none",
            right=False,
        ),
        _column(
            "local_rank",
            "Local",
            "Local rank",
            lambda m: _NO_RANK if m.rank.local_rank is None else m.rank.local_rank,
        ),
        _column("pod", "Pod", "Pod or container", _pod, right=False),
        *of_scope("runtime"),
        _column(
            "command",
            "Command",
            "Command line, without secrets",
            lambda m: m.rank.process.command or m.rank.process.name,
            right=False,
            widest=200,
        ),
    )


def _user(member: Member) -> Cell:
    process = member.rank.process
    return process.user or (
        _or(process.uid, "not readable") if process.uid is None else str(process.uid)
    )


def _state(member: Member) -> Cell:
    state = member.rank.process.state
    return _STATES.get(state or "", state) or Missing(Why.NOT_YET, "not readable")


def _age(seconds: float) -> str:
    """The largest unit alone, so that it is never wide."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return seconds_text(int(seconds)) if seconds >= 1 else "<1 s"
