"""One world of a job with the step hook: the ranks of this node between two restarts.

Joins what the ranks say, has it judged, and follows whether the job moves. numpy is loaded with the
first step that is to be judged.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite, nan
from typing import TYPE_CHECKING

from neuron_observer.stragglers.hangs import Hang, Phase, advance
from neuron_observer.stragglers.joining import Joiner
from neuron_observer.stragglers.parameters import ONLINE
from neuron_observer.stragglers.progress import Progress
from neuron_observer.stragglers.ranks import Now
from neuron_observer.stragglers.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from neuron_observer.jobs.beats import Beat
    from neuron_observer.parsers.heartbeat import Head
    from neuron_observer.stragglers.columns import SideColumns
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.rank_judge import RankJudge
    from neuron_observer.stragglers.ranks import Row
    from neuron_observer.stragglers.recorded import Recorded
    from neuron_observer.stragglers.seen import Seen
    from neuron_observer.stragglers.signs import Signs

DUMPS_EVERY = 10.0  # seconds
_PAUSES = ("checkpoint", "evaluation")


class World:
    """The same ranks in the same processes for as long as it lives."""

    def __init__(
        self,
        rows: Sequence[Row],
        *,
        job: str,
        world_size: int | None,
        node: str,
        parameters: Parameters = ONLINE,
    ) -> None:
        self.rows = tuple(rows)
        self.world_size = world_size
        self.elsewhere = max((world_size or 0) - len(rows), 0)
        self.hang = Hang()
        self.judge: RankJudge | None = None
        self.now: list[Now] = [Now(None, None)] * len(rows)
        self._job, self._node, self._p = job, node, parameters
        self._place = {row.pid: at for at, row in enumerate(self.rows)}
        self._joiner = Joiner()
        self._timed_out: dict[int, float] = {}  # by device, when the job last moved
        self._collectives: dict[int, float] = {}
        self._fabric = 0.0
        self._at = 0.0  # monotonic, of the last look
        self._look_at_dumps = 0.0  # monotonic
        self.recorded: Recorded | None = None  # by flight recorders, while it stands still

    def take(
        self,
        now: Mapping[int, Now],
        beats: Sequence[Beat],
        seen: Seen,
    ) -> None:
        """Take one look: ranks by pid, and what they said since the last."""
        signs, clocks = seen.signs, seen.clocks
        self.now = [
            now.get(row.pid, Now(None, old.head))
            for row, old in zip(self.rows, self.now, strict=True)
        ]
        for beat in beats:
            at = self._place.get(beat.pid)
            if at is not None:
                self._joiner.add(at, beat.steps, beat.filled)
        dead = frozenset(at for at, one in enumerate(self.now) if not _alive(one))
        joined = self._joiner.ready(clocks.monotonic, missing=dead)
        if joined:
            judge = self._judge()
            side = self._side(judge, signs)
            for one in joined:
                judge.take(one, clocks, side)
        self._move(seen)

    def _judge(self) -> RankJudge:
        if self.judge is None:
            from neuron_observer.stragglers.rank_judge import RankJudge  # noqa: PLC0415 - costs numpy

            self.judge = RankJudge(
                self.rows,
                job=self._job,
                elsewhere=self.elsewhere,
                node=self._node,
                parameters=self._p,
            )
        return self.judge

    @property
    def heard(self) -> int:
        """How many ranks have the hook."""
        return sum(one.head is not None for one in self.now)

    @property
    def suspected(self) -> bool:
        """Whether it has not moved for half the time that makes a stall."""
        moved, last = self.hang.moved, self._at
        return moved is not None and last - moved > self.hang.limit(self._p) / 2

    def _side(self, judge: RankJudge, signs: Signs) -> SideColumns:
        """What else is known of each rank now."""
        period = judge.shown.period or nan
        devices = [row.device for row in self.rows]
        waited = [one.process.waited if one.process else None for one in self.now]

        def of(values: Mapping[int, float]) -> list[float] | None:
            found = [nan if d is None else float(values.get(d, nan)) for d in devices]
            return found if any(map(isfinite, found)) else None

        fabric = None if signs.fabric is None else [signs.fabric] * len(self.rows)
        return judge.side(
            host_wait=[nan if one is None else one * period for one in waited],
            ecc=of(signs.ecc),
            unhealthy=of({device: float(bad) for device, bad in signs.unhealthy.items()}),
            power=of(signs.power),
            fabric_events=fabric,
        )

    def _move(self, seen: Seen) -> None:
        """The state machine of progress."""
        signs, now = seen.signs, seen.clocks.monotonic
        self._at = now
        heads = [one.head for one in self.now]
        if not any(heads):
            return
        before = self.hang.moved
        phases = {one.head.phase for one in self.now if one.head and _alive(one)}
        compiling = self.suspected and seen.compiling()
        progress = Progress(
            now,
            [float(head.steps) if head else nan for head in heads],
            loading=compiling or "compile" in phases,
            checkpoint=bool(phases.intersection(_PAUSES)),
            alive=[_alive(one) for one in self.now],
            entered=_numbers(heads, "entered"),
            completed=_numbers(heads, "completed"),
            operation=self._operations(heads),
            role=self._roles(),
            blocked=[one.process is not None and one.process.state == "D" for one in self.now],
            in_input=[head is not None and head.input_since is not None for head in heads],
            timed_out=self._rose(signs.timeouts, self._timed_out),
            link_error=self._linked(signs),
        )
        self.hang = advance(self.hang, progress, self._p)
        self._by_recorders(progress, seen)
        if self.hang.moved != before:
            self._timed_out, self._collectives = dict(signs.timeouts), dict(signs.collectives)
            self._fabric = signs.fabric or 0.0

    def _by_recorders(self, progress: Progress, seen: Seen) -> None:
        """Who holds it up by PyTorch's own recorder, where all ranks that live have a dump."""
        stall = self.hang.stall
        if stall is None:
            self.recorded = None
            return
        if progress.at >= self._look_at_dumps:
            self._look_at_dumps = progress.at + DUMPS_EVERY
            needed = frozenset(at for at, one in enumerate(self.now) if one.head and _alive(one))
            since = seen.clocks.wall_of(stall.since)
            self.recorded = recorded(self.rows, seen.dumps(since), needed)
        told = self.recorded
        if told is None:
            return
        from neuron_observer.stragglers.stalls import blame  # noqa: PLC0415 - numpy, rarely needed

        progress = replace(
            progress,
            entered=told.entered,
            completed=told.completed,
            operation=told.operation,
        )
        again = blame(progress, since=stall.since, usual=stall.usual)
        self.hang = replace(self.hang, stall=again)

    def _operations(self, heads: Sequence[Head | None]) -> list[int] | None:
        """Which collective each rank is in, where all that are heard tell."""
        codes = [head.operation_code if head else 0 for head in heads]
        if any(code is None for code in codes):
            return None
        index = {code: at for at, code in enumerate(dict.fromkeys(codes))}
        return [index[code] for code in codes]

    def _roles(self) -> list[int] | None:
        roles = [row.role for row in self.rows]
        if not any(roles):
            return None
        index = {role: at for at, role in enumerate(dict.fromkeys(roles))}
        return [index[role] for role in roles]

    def _rose(self, now: Mapping[int, float], before: Mapping[int, float]) -> list[bool] | None:
        """Ranks on whose device a count rose since the job moved last; None where none is read."""
        if not now:
            return None
        return [
            row.device is not None and now.get(row.device, 0) > before.get(row.device, 0)
            for row in self.rows
        ]

    def _linked(self, signs: Signs) -> list[bool] | None:
        """The same for hangs in collectives; the node's fabric is all of its ranks'."""
        rose = self._rose(signs.collectives, self._collectives)
        if signs.fabric is not None and signs.fabric > self._fabric:
            return [True] * len(self.rows)
        return rose

    @property
    def phase(self) -> str:
        """What the job does, in the words of `JobPhase`."""
        return self.hang.phase.value

    @property
    def stalled(self) -> bool:
        """Whether nothing moves for too long."""
        return self.hang.phase is Phase.STALLED

    @property
    def foremost(self) -> int:
        """Steps that the foremost rank has finished."""
        return max((one.head.steps for one in self.now if one.head), default=0)


def _alive(one: Now) -> bool:
    return one.process is not None and one.process.state != "Z"


def _numbers(heads: Sequence[Head | None], name: str) -> list[float] | None:
    """Counts of collectives where they are wrapped; None where nobody's are."""
    found = [
        float(getattr(head, name)) if head is not None and head.collectives else nan
        for head in heads
    ]
    return found if any(map(isfinite, found)) else None
