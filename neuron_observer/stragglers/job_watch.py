"""One running job of this node: its hooked ranks, or what its devices count, judged as it goes."""

from __future__ import annotations

from math import isfinite
from operator import is_not
from typing import TYPE_CHECKING

from neuron_observer.model import JobPace, RankPace
from neuron_observer.stragglers import telling
from neuron_observer.stragglers.names import HangKind
from neuron_observer.stragglers.parameters import ONLINE
from neuron_observer.stragglers.ranks import Now, Row
from neuron_observer.stragglers.seen import PHASES, hints
from neuron_observer.stragglers.unhooked import Unhooked
from neuron_observer.stragglers.world import World

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from neuron_observer.jobs.beats import Beat, Gone
    from neuron_observer.jobs.ownership import NodeShape
    from neuron_observer.model import Finding, Job, Rank, StragglerTier
    from neuron_observer.parsers.heartbeat import Head
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.progress import Stall
    from neuron_observer.stragglers.rank_judge import Mark, Shown
    from neuron_observer.stragglers.seen import Seen

TIERS: dict[int, StragglerTier] = {1: "notice", 2: "warning", 3: "critical"}
MOST_GONE = 256
_NOT_JUDGED = (None,) * 5  # period, busy, wait, input, tokens
FEW_STEPS = 64  # of a rank in a look: its file holds four times as many


class JobWatch:
    """Follows one job from its first process to its last."""

    def __init__(self, job: Job, parameters: Parameters = ONLINE) -> None:
        self.id = job.id
        self.seen_at = 0.0  # monotonic, when it was in the job map last
        self.world: World | None = None
        self.findings: tuple[Finding, ...] = ()
        self.pace: JobPace | None = None
        self.paces: dict[int, RankPace] = {}  # by pid
        self.numbers: dict[int, int] = {}  # rank by pid, as the hook tells it
        self._p = parameters
        self._heads: dict[int, Now] = {}
        self._gone: dict[int, Gone] = {}
        self._unhooked = Unhooked(job.id, parameters)
        self._few = True  # steps since the look before
        self._job: Job | None = None  # as it was when its ranks were looked at
        self._marked: tuple[tuple[Job, JobPace, dict[int, RankPace]], Job] | None = None

    def take(self, job: Job, beats: Sequence[Beat], gone: Iterable[Gone], seen: Seen) -> None:
        """Take one look at it."""
        self.seen_at = seen.clocks.monotonic
        self._gone |= {one.pid: one for one in gone}
        for pid in list(self._gone)[:-MOST_GONE]:
            del self._gone[pid]
        self._note(job, beats)
        if any(one.head for one in self._heads.values()):
            self._hooked(job, beats, seen)
        else:
            self.world, self._job, self.paces = None, None, {}
            self._unhooked.take(job, seen)
            self.findings, self.pace = self._unhooked.findings, self._unhooked.pace

    def with_paces(self, job: Job, pace: JobPace) -> Job:
        """The job with how it and its ranks get on; the same one until either is another."""
        of = job, pace, self.paces
        if self._marked is None or any(map(is_not, of, self._marked[0])):
            ranks = tuple(map(self._with_pace, job.ranks)) if self.paces else job.ranks
            self._marked = of, job._replace(ranks=ranks, pace=pace)
        return self._marked[1]

    def _with_pace(self, rank: Rank) -> Rank:
        """Its number, too, where only the hook tells it."""
        pid = rank.process.pid
        number = self.numbers.get(pid) if rank.rank is None else rank.rank
        return rank._replace(rank=number, pace=self.paces.get(pid))

    @property
    def calm(self) -> bool:
        """Whether its ranks are known, train, and nothing speaks against them or is about to."""
        world = self.world
        if world is None or world.judge is None or self.findings or world.suspected:
            return False
        heads = [one.head for one in self._heads.values() if one.process is not None]
        training = all(head is not None and head.phase == "training" for head in heads)
        return training and self._few and world.judge.learned and not world.judge.marks

    def knows(self, pid: int) -> bool:
        """Whether a process was of this job."""
        return pid in self._heads

    def _note(self, job: Job, beats: Sequence[Beat]) -> None:
        """What each process shows now; a head stays until its process is forgotten."""
        heads = {pid: one.head for pid, one in self._heads.items()}
        heads |= {beat.pid: beat.head for beat in beats}
        self._heads = {
            rank.process.pid: Now(rank.process, heads.get(rank.process.pid)) for rank in job.ranks
        }
        for pid, one in self._gone.items():
            if pid not in self._heads:
                self._heads[pid] = Now(None, one.head, one.ended)

    # -- with the hook

    def _hooked(self, job: Job, beats: Sequence[Beat], seen: Seen) -> None:
        self._few = all(len(beat.steps) <= FEW_STEPS for beat in beats)
        world = self._world_of(job, seen)
        world.take(self._heads, beats, seen)
        self.findings = tuple(self._told(world, seen))
        self.paces = _paces(world, seen)
        self.numbers = {row.pid: row.number for row in world.rows if row.number >= 0}
        self.pace = self._job_pace(world, seen)

    def _world_of(self, job: Job, seen: Seen) -> World:
        """The world as it was, unless the job map shows other ranks, or another size."""
        world = self.world
        if world is not None and job is self._job:
            return world
        self._job = job
        rows, size = self._rows(job, seen.shape), self._size(job)
        if world is None or size != world.world_size or _others(rows, world.rows):
            alive = {rank.process.pid for rank in job.ranks}
            self._gone = {pid: one for pid, one in self._gone.items() if pid in alive}
            world = self.world = World(
                rows, job=self.id, world_size=size, node="this node", parameters=self._p
            )
        return world

    def _rows(self, job: Job, shape: NodeShape) -> list[Row]:
        """The ranks: those with the hook, and those without whose rank nobody else has."""
        rows: dict[int, Row] = {}
        for rank in sorted(job.ranks, key=lambda one: self._heads[one.process.pid].head is None):
            head = self._heads[rank.process.pid].head
            number = rank.rank if head is None or head.rank is None else head.rank
            if number is None and head is None:
                continue
            number = -rank.process.pid if number is None else number
            if number not in rows:
                rows[number] = _row(rank, number, shape, head)
        return [rows[number] for number in sorted(rows)]

    def _size(self, job: Job) -> int | None:
        told = [one.head.world_size for one in self._heads.values() if one.head and one.process]
        known = [size for size in told if size is not None]
        return max(known) if known else job.world_size

    def _about(self, world: World, seen: Seen) -> telling.About:
        sources = sorted({one.head.source for one in world.now if one.head} - {"none"})
        basis = f"step hook of {world.heard} of {len(world.rows)} ranks here"
        if world.elsewhere:
            basis += f" ({world.elsewhere} more are not seen from here: other nodes)"
        if world.recorded:
            name = world.recorded.name or "unknown"
            basis += f"; flight recorders (group {world.recorded.group}, in {name})"
        basis += f"; times in collectives: {', '.join(sources) or 'not known'}"
        return telling.About(
            self.id,
            seen.clocks.wall,
            world.rows,
            world.world_size,
            world.elsewhere,
            basis,
            world.judge.fold if world.judge else 1,
        )

    def _told(self, world: World, seen: Seen) -> Iterable[Finding]:
        about = self._about(world, seen)
        stall = world.hang.stall
        if world.stalled and stall is not None:
            quiet = seen.clocks.monotonic - stall.since
            yield telling.of_stall(self._ended(stall, world), about, quiet=quiet)
            return
        if world.judge is not None and world.judge.assessment is not None:
            from neuron_observer.stragglers.accusing import accuse  # noqa: PLC0415 - numpy

            yield from accuse(
                world.judge.assessment, about, reasons=self._blindness(world), hints=hints(seen)
            )

    def _ended(self, stall: Stall, world: World) -> Stall:
        """A peer that is gone: whether it said that it ended."""
        if stall.kind is not HangKind.CRASHED_PEER:
            return stall
        ended = [world.now[at].ended or self._has_ended(world.rows[at].pid) for at in stall.rows]
        how = "it ended by itself" if all(ended) else "it died"
        return stall._replace(why=f"{stall.why}; {how}")

    def _has_ended(self, pid: int) -> bool:
        return pid in self._gone and self._gone[pid].ended

    def _blindness(self, world: World) -> list[str]:
        """What of the ranks cannot be known, in words."""
        heads = [one.head for one in world.now if one.head]
        said = []
        if len(heads) < len(world.rows):
            said.append(f"{len(world.rows) - len(heads)} ranks have no step hook")
        if any(head.async_handles for head in heads):
            said.append("collectives return before they end (async_op=True): time not known")
        elif any(head.compiled for head in heads):
            said.append(
                "the step is compiled: its collectives lie inside and their time is unknown"
            )
        elif heads and all(head.source == "none" and head.steps for head in heads):
            said.append("no collective is seen: their time is not known")
        if world.elsewhere:
            said.append(f"{world.elsewhere} ranks are not seen from here (other nodes)")
        return said

    def _job_pace(self, world: World, seen: Seen) -> JobPace:
        judge = world.judge
        slower = judge.assessment.slowdown if judge and judge.assessment else None
        limit = judge.assessment.limit if judge and judge.assessment else None
        marks = judge.marks if judge else {}
        named = [world.rows[at].number for at, mark in marks.items() if mark[0] >= 2]
        return JobPace(
            phase=PHASES[world.hang.phase],
            since=seen.clocks.wall_of(world.hang.since) if world.hang.since else None,
            source="hook",
            period=(judge.shown.period or judge.usual) if judge else None,
            ratio=slower.ratio if slower else None,
            heard=world.heard,
            slowest=named[0] if len(named) == 1 and named[0] >= 0 else None,
            limit=limit if limit is not None and isfinite(limit) else None,
            detail="; ".join(self._blindness(world)),
            learned=judge is not None and judge.learned,
        )


def _others(rows: Sequence[Row], before: Sequence[Row]) -> bool:
    """Whether there is a rank, or a process, that was not there."""
    return not {(row.pid, row.number) for row in rows} <= {(row.pid, row.number) for row in before}


def _row(rank: Rank, number: int, shape: NodeShape, head: Head | None) -> Row:
    process, cores = rank.process, rank.cores
    device = process.devices[0] if len(process.devices) == 1 else None
    if device is None and cores.numbers:
        on = {shape.device_of(core, cores.size) for core in cores.numbers}
        device = on.pop() if len(on) == 1 else None
    core = cores.numbers[0] if len(cores.numbers) == 1 else None
    labels = (head.role, head.replica) if head else (None, None)
    return Row(process.pid, number, device, core, *labels)


def _paces(world: World, seen: Seen) -> dict[int, RankPace]:
    """How each rank that lives gets on, by pid."""
    judge = world.judge
    marks = judge.marks if judge else {}
    shown = judge.shown if judge else None
    foremost, now = world.foremost, seen.clocks.monotonic
    found = {}
    for at, (row, one) in enumerate(zip(world.rows, world.now, strict=True)):
        if one.head is not None and one.process is not None:
            medians = _medians(shown, at) if shown else _NOT_JUDGED
            pace = _pace(one.head, now, foremost, medians)
            found[row.pid] = _marked(pace, marks[at]) if at in marks else pace
    return found


def _medians(shown: Shown, at: int) -> tuple[float | None, ...]:
    """Of the last steps of a rank: period, busy, wait, input, tokens."""
    busy, wait, data, _, tokens = [
        value if isfinite(value := row[at]) else None for row in shown.rows
    ]
    return shown.period, busy, wait, data, tokens


def _marked(pace: RankPace, mark: Mark) -> RankPace:
    """With what stands against it."""
    tier, kind, ratio = mark
    return pace._replace(straggler=TIERS.get(int(tier)), kind=kind, ratio=round(ratio, 4))


def _pace(head: Head, now: float, foremost: int, medians: tuple[float | None, ...]) -> RankPace:
    period, busy, wait, data, tokens = medians
    inside = head.inside_since
    return RankPace(
        phase=head.phase,
        step=head.steps,
        age=round(max(now - head.at, 0.0), 3),
        period=period,
        busy=busy,
        wait=wait,
        input=data,
        tokens=tokens,
        source=head.source,
        entered=head.entered,
        completed=head.completed,
        inside=head.operation or "collective" if inside is not None else None,
        inside_for=round(max(now - inside, 0.0), 3) if inside is not None else None,
        behind=foremost - head.steps,
        role=head.role,
        replica=head.replica,
    )
