"""A job whose ranks have no step hook: what its devices count is all that is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.chips import LIVE_SINCE, parse_version
from neuron_observer.jobs.kinds import NO_WORK
from neuron_observer.model import JobPace
from neuron_observer.readings import columns
from neuron_observer.stragglers import telling
from neuron_observer.stragglers.names import HangKind
from neuron_observer.stragglers.outside import Counted, Outside
from neuron_observer.stragglers.ranks import Row
from neuron_observer.stragglers.seen import PHASES, hints
from neuron_observer.stragglers.signs import executions, reported

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from neuron_observer.model import Finding, Job, PaceSource, Rank
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.progress import Stall
    from neuron_observer.stragglers.seen import Seen

WATCHED = ("training", "xla")  # kinds of jobs that ought to move: a server may idle
EVERY = 4.0  # seconds between two looks at counters
_COUNTERS: dict[PaceSource, str] = {"driver": "the driver", "monitor": "neuron-monitor"}


class Unhooked:
    """Follows one such job."""

    def __init__(self, job: str, parameters: Parameters) -> None:
        self._job = job
        self._p = parameters
        self._outside: Outside | None = None
        self._due = 0.0  # monotonic
        self._rows: list[Row] = []  # the ranks when it moved last
        self.findings: tuple[Finding, ...] = ()
        self.pace: JobPace | None = None

    def take(self, job: Job, seen: Seen) -> None:
        """Take one look at it; counters once in some seconds."""
        now = seen.clocks.monotonic
        if now < self._due:
            return
        self._due = now + EVERY - 0.1
        self.findings, self.pace = (), None
        if job.kind not in WATCHED:
            return
        found = _counted(job, seen)
        if isinstance(found, str):
            self._outside = None
            self.pace = JobPace("unknown", detail=found)
            return
        source, counted = found
        outside = self._outside
        if outside is None or outside.source != source:
            outside = self._outside = Outside(source, self._p)
        compiling = outside.suspected and seen.compiling()
        outside.take(counted, seen.clocks, compiling=compiling)
        if not outside.hang.samples:  # it moves: these are all that there are
            self._rows = [_row(rank) for rank in job.ranks]
        self.findings = tuple(self._told(job, outside, seen))
        self.pace = _pace(outside, seen)

    def _told(self, job: Job, outside: Outside, seen: Seen) -> Iterable[Finding]:
        rows = self._rows
        about = telling.About(
            self._job,
            seen.clocks.wall,
            rows,
            job.world_size,
            max((job.world_size or 0) - len(rows), 0),
            f"executions that {_COUNTERS[outside.source]} counts; no step hook",
        )
        stall = outside.hang.stall
        if outside.stalled and stall is not None:
            quiet = seen.clocks.monotonic - stall.since
            stall = _whose(stall, rows, {one.process.pid: one.process.state for one in job.ranks})
            yield telling.of_stall(stall, about, quiet=quiet, passive=True)
        elif outside.slowdown is not None:
            yield telling.of_slowdown(
                outside.slowdown,
                about,
                named=False,
                kind="unknown",
                reasons=("no step hook: executions are alike on all ranks, waiting included",),
                hints=hints(seen, job.devices),
            )


def _counted(job: Job, seen: Seen) -> tuple[PaceSource, Counted] | str:
    """What the driver, else neuron-monitor, counts of a job; else why nothing can be seen."""
    shared = [
        one.id
        for one in seen.jobs
        if one.id != job.id and one.kind not in NO_WORK and set(one.devices) & set(job.devices)
    ]
    if shared:
        return f"not observable: its devices are used by {shared[0]} too"
    version = parse_version(seen.driver)
    live = version is not None and version >= LIVE_SINCE
    if live:
        found = executions(seen.batches, job.devices)
        if found is not None:
            done: dict[object, float] = {key: float(count) for key, count in found.done.items()}
            return "driver", _with_node(Counted(done, found.read_at, found.loads), job, seen)
    told, at = reported(seen.batches, [rank.process.pid for rank in job.ranks])
    if told:
        of_processes: dict[object, float] = {pid: count for pid, count in told.items()}  # noqa: C416
        return "monitor", _with_node(Counted(of_processes, at), job, seen)
    if live:
        return "not observable: the execution counters of its devices were not read"
    newest = ".".join(map(str, LIVE_SINCE))
    return (
        f"not observable with driver {seen.driver or 'of unknown version'}: it needs driver"
        f" {newest} or later, neuron-monitor (monitor.mode) or the step hook"
    )


def _with_node(counted: Counted, job: Job, seen: Seen) -> Counted:
    """With the memory of its devices, and what else of the node moves with a job."""

    def total(*metrics: str, devices: Sequence[int] | None = None) -> float | None:
        cells = [
            float(cell)
            for metric in metrics
            for _, place, cell in columns(seen.batches, metric)
            if isinstance(cell, int | float) and (devices is None or place.device in devices)
        ]
        return sum(cells) if cells else None

    return counted._replace(
        held=total("core.hbm.used", devices=job.devices) or 0.0,
        packets=total("efa.port.tx_packets", "efa.port.rx_packets"),
        written=total("disk.written"),
    )


def _row(rank: Rank) -> Row:
    return Row(rank.process.pid, -rank.process.pid if rank.rank is None else rank.rank)


def _whose(stall: Stall, rows: Sequence[Row], states: Mapping[int, str | None]) -> Stall:
    """Who may be at fault without the ranks' own account: one that is gone, or stuck in the kernel.

    `states` are those of the processes that live.
    """
    gone = tuple(at for at, row in enumerate(rows) if states.get(row.pid, "Z") == "Z")
    if gone and 2 * len(gone) < len(rows):
        why = "its process is gone, and executions of all others stopped"
        return stall._replace(kind=HangKind.CRASHED_PEER, rows=gone, why=why, hardware=False)
    blocked = tuple(at for at, row in enumerate(rows) if states.get(row.pid) == "D")
    if len(blocked) == 1:
        why = "its process is blocked in the kernel (state D)"
        return stall._replace(kind=HangKind.HOST, rows=blocked, why=why, hardware=False)
    why = "no step hook: executions stopped on all cores alike"
    return stall._replace(kind=HangKind.UNKNOWN, rows=(), why=why, hardware=False)


def _pace(outside: Outside, seen: Seen) -> JobPace:
    slower = outside.slowdown
    return JobPace(
        phase=PHASES[outside.hang.phase],
        since=seen.clocks.wall_of(outside.hang.since) if outside.hang.since else None,
        source=outside.source,
        period=outside.period if outside.quiet is None else None,
        ratio=slower.ratio if slower else None,
        detail="no step hook: executions are counted, no rank can be named by them",
        learned=outside.usual is not None,
        quiet=outside.quiet,
    )
