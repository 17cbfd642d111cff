"""The detector under test: the only module here that imports it, and it sees only samples."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.stragglers.scoring import Alarm
from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.columns import SideColumns, StepColumns, Times, TimeSource
from neuron_observer.stragglers.columns import Topology as Ranks
from neuron_observer.stragglers.detector import Detector
from neuron_observer.stragglers.parameters import ONLINE, SCRAPED
from neuron_observer.stragglers.suspects import Kind, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.stragglers.topology import Topology
    from benchmarks.stragglers.views import Row, Sample
    from neuron_observer.stragglers.suspects import Assessment, Suspect

NOT_HARDWARE = (Kind.IMBALANCE,)


@dataclass
class Said:
    """All that the detector said of one job.

    `notices` and `warnings` name ranks; `slowdowns` name nobody; `workload` are episodes that it
    puts down to the work; `always` are ranks that were slow since before it watched.
    """

    notices: list[Alarm] = field(default_factory=list)
    warnings: list[Alarm] = field(default_factory=list)
    slowdowns: list[Alarm] = field(default_factory=list)
    workload: list[Alarm] = field(default_factory=list)
    always: list[Alarm] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def watch(
    topology: Topology, samples: Iterable[Sample], *, scraped: bool = False, timed: bool = True
) -> Said:
    """Feed a job's samples to a new detector. `timed` false: clocks around asynchronous calls."""
    detector = Detector(ranks_of(topology), SCRAPED if scraped else ONLINE, job="job")
    logs = _Logs()
    for sample in samples:
        columns = _columns(sample, TimeSource.EVENT if timed else TimeSource.NONE)
        before = time.process_time()
        assessment = detector.update(columns)
        logs.said.cpu.append(time.process_time() - before)
        logs.take(sample.step, assessment)
    return logs.close()


def ranks_of(topology: Topology) -> Ranks:
    """The job's ranks as the detector wants them."""
    on_node = topology.device % (topology.ranks_per_node // topology.ranks_per_device)
    group = topology.tensor_group if topology.tensor > 1 else topology.stage
    return Ranks.of(
        range(topology.ranks),
        role=[int(v) for v in topology.stage],
        replica=[int(v) for v in topology.replica],
        node=[f"n{v}" for v in topology.node],
        device=[int(v) for v in on_node],
        group=[int(v) for v in group],
    )


def _columns(sample: Sample, source: TimeSource) -> StepColumns:
    def times(row: Row | None) -> Times | None:
        return None if row is None else Times(row.astype(np.float64), source)

    def plain(row: Row | None) -> np.ndarray | None:
        return None if row is None else row.astype(np.float64)

    return StepColumns(
        step=sample.number,
        at=sample.at,
        period=sample.period,
        busy=times(sample.busy),
        wait=times(sample.wait),
        input=times(sample.inputs),
        transfer=times(sample.transfer),
        tokens=plain(sample.tokens),
        side=SideColumns(
            host_gap=plain(sample.host_gap),
            host_wait=plain(sample.host_wait),
            ecc=plain(sample.ecc),
            unhealthy=plain(sample.unhealthy),
            power=plain(sample.power),
            fabric_events=plain(sample.fabric),
        ),
        compiled=sample.compiled,
        restart=sample.restart,
    )


class _Episode:
    """One alarm while it lasts: what it said for the longest time is what it said."""

    def __init__(self, step: int, suspect: Suspect) -> None:
        self.raised = self.last = step
        self._ranks: Counter[frozenset[int]] = Counter()
        self._kinds: Counter[tuple[str, str]] = Counter()
        self.add(step, suspect)

    def add(self, step: int, suspect: Suspect) -> None:
        self.last = step
        self.now = frozenset(suspect.ranks)
        self._ranks[self.now] += 1
        self._kinds[suspect.kind.value, suspect.scope.value] += 1

    def alarm(self) -> Alarm:
        kind, scope = self._kinds.most_common(1)[0][0]
        ranks = frozenset[int]() if scope == Scope.JOB.value else self._ranks.most_common(1)[0][0]
        return Alarm(ranks, self.raised, self.last, kind, scope)


class _Log:
    """Turns the suspects of each step into alarms: the same ranks, or some of them, are one."""

    def __init__(self, alarms: list[Alarm]) -> None:
        self._alarms = alarms
        self._open: list[_Episode] = []

    def take(self, step: int, suspects: Iterable[Suspect]) -> None:
        still: list[_Episode] = []
        for suspect in suspects:
            ranks = frozenset(suspect.ranks)
            known = next((e for e in self._open if e.now & ranks or e.now == ranks), None)
            if known is None:
                still.append(_Episode(step, suspect))
                continue
            known.add(step, suspect)
            if known not in still:
                still.append(known)
        self._alarms += [e.alarm() for e in self._open if e not in still]
        self._open = still

    def close(self) -> None:
        self._alarms += [episode.alarm() for episode in self._open]
        self._open = []


class _Logs:
    def __init__(self) -> None:
        self.said = Said()
        self._slow: int | None = None
        self._last = 0
        names = ("notices", "warnings", "workload", "always")
        self._logs = {name: _Log(getattr(self.said, name)) for name in names}

    def take(self, step: int, assessment: Assessment) -> None:
        self._last = step
        workload = [s for s in assessment.suspects if s.kind in NOT_HARDWARE]
        always = [s for s in assessment.suspects if s.kind is Kind.ALWAYS]
        named = [s for s in assessment.suspects if s not in workload and s not in always]
        self._logs["notices"].take(step, (s for s in named if s.tier >= Tier.NOTICE))
        self._logs["warnings"].take(step, (s for s in named if s.tier >= Tier.WARNING))
        self._logs["workload"].take(step, workload)
        self._logs["always"].take(step, always)
        if assessment.slowdown is not None and self._slow is None:
            self._slow = step
        elif assessment.slowdown is None and self._slow is not None:
            self._end(step)

    def _end(self, step: int) -> None:
        if self._slow is not None:
            self.said.slowdowns.append(Alarm(frozenset(), self._slow, step))
        self._slow = None

    def close(self) -> Said:
        for log in self._logs.values():
            log.close()
        self._end(self._last)
        return self.said
