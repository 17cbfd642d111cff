"""Who is slow: the detector of one job, fed step by step.

The same code serves one node, a fleet and a file. It names nobody where the evidence does not
allow it, and says why in `Assessment.refusals`.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.always import always_slow
from neuron_observer.stragglers.blame import Blame, Seen
from neuron_observer.stragglers.channel import Moment, Tier
from neuron_observer.stragglers.columns import NO_SOURCE, Times, Topology
from neuron_observer.stragglers.hints import NOTHING, Hints, Said, nobody
from neuron_observer.stragglers.network import Busy, Transfers
from neuron_observer.stragglers.parameters import ONLINE
from neuron_observer.stragglers.residuals import TokenTerm
from neuron_observer.stragglers.robust import median
from neuron_observer.stragglers.signals import Signal, Usual
from neuron_observer.stragglers.slowdown import JobSlowdown
from neuron_observer.stragglers.suspects import Agreement, Assessment, Regime, Scope, Suspect

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Bytes, Floats, Mask, StepColumns
    from neuron_observer.stragglers.parameters import Parameters

DAY = 86_400.0
USUAL_PERIOD = 5.0  # s, assumed until the period is known
MOST_PASSED = 3600.0  # s between two updates that are believed
ABSORB = 128  # slow steps after which a change of the work is its new usual


class Detector:
    """Judges one job. `update` takes every step once, in order; a gap is fine.

    Another world size, or ranks that moved, is another topology: make a new detector. Raises
    ValueError if a column has not one value a rank, or if steps go back.
    """

    def __init__(
        self,
        topology: Topology,
        parameters: Parameters = ONLINE,
        *,
        job: str | None = None,
        elsewhere: int = 0,
    ) -> None:
        """`elsewhere`: ranks of the job that nobody here sees; one of them may be the late one."""
        self.topology = topology
        self.job = job
        self._elsewhere = elsewhere
        self._p = parameters
        self._start(0)

    def _start(self, restart: int) -> None:
        self._restart = restart
        self._busy = Signal(self.topology, self._p, self._p.effect, replicas=True)
        self._input = Signal(self.topology, self._p, self._p.input_share, replicas=False)
        everybody = Topology.of([0])
        self._storage = Signal(everybody, self._p, self._p.input_share, replicas=False)
        self._transfers = Transfers(self.topology, self._p)
        self._slowdown = JobSlowdown(self._p)
        self._tokens = TokenTerm()
        self._blame = Blame(self.topology, self._p)
        self._hints = Hints(self.topology, self._p, self._blame.kinds, self._elsewhere)
        self._source: Bytes | None = None
        self._always: tuple[Suspect, ...] = ()
        self._always_due = 0.0
        self.unlevelled = ""  # why always-slow ranks cannot be told
        self._last: int | None = None
        self._elapsed = 0.0  # s on a clock that never jumps
        self._at = float("nan")
        self.assessment: Assessment | None = None

    def know(self, usual: Usual) -> None:
        """Take usual busy levels learned elsewhere instead of learning them."""
        self._busy.know(usual)

    @property
    def residual(self) -> Floats:
        """Log ratio of each rank's busy time to what it should be, `(N,)`."""
        return self._busy.residual

    def update(self, columns: StepColumns) -> Assessment:
        """Take one step and say what is known after it."""
        self._check(columns)
        if columns.restart != self._restart:
            self._start(columns.restart)
        if self._last is not None and columns.step <= self._last:
            raise ValueError(f"step {columns.step} after step {self._last}")
        self._last = columns.step
        self._pass(columns)
        seen = Seen(_known(columns.busy), _known(columns.wait), _known(columns.input))
        if columns.compiled or columns.pause or self._paused(columns, seen.busy):
            self.assessment = self._assess(columns, seen, ())
            return self.assessment
        self._slowdown.update(columns.step, columns.at, columns.period)
        self._sources(columns)
        closed = self._judge(columns, seen)
        self.assessment = self._assess(columns, seen, closed)
        return self.assessment

    def _pass(self, columns: StepColumns) -> None:
        """Move our own clock: by the period, else by a believable part of the wall clock's move."""
        passed = columns.period if columns.period > 0 else columns.at - self._at
        if passed > 0:  # not NaN either
            self._elapsed += min(passed, MOST_PASSED)
        self._at = columns.at

    @property
    def period(self) -> float:
        """The usual step period in seconds."""
        usual = self._slowdown.usual
        return usual if isfinite(usual) else USUAL_PERIOD

    @property
    def is_learned(self) -> bool:
        """Whether the usual period is known."""
        return isfinite(self._slowdown.usual)

    def _judge(self, columns: StepColumns, seen: Seen) -> tuple[Suspect, ...]:
        """Move the channels; gives the suspects whose episodes ended."""
        moment = Moment(columns.step, columns.at, self._elapsed, DAY / self.period)
        nobody = np.zeros(self.topology.size, dtype=np.bool_)
        ended, ended_input = nobody, nobody
        if seen.busy is not None:
            logs = _log(seen.busy)
            if columns.tokens is not None:
                logs = self._tokens.remove(logs, columns.tokens)
            ended = self._busy.update(moment, logs)
        if seen.input is not None:
            shares = seen.input / self.period
            ended_input = self._input.update(moment, shares)
            self._storage.update(moment, np.array([median(shares)]))
        self._network(moment, columns, seen)
        self._blame.learn(columns, seen, self._free(seen))
        return (
            *self._blame.ended(self._busy.channel, ended, self.period, data=False),
            *self._blame.ended(self._input.channel, ended_input, self.period, data=True),
        )

    def _network(self, moment: Moment, columns: StepColumns, seen: Seen) -> None:
        """Shortest collectives where they are known, else whole waits and who came late.

        Whole waits follow the data where it varies, and say nothing of transfers then.
        """
        shortest = _known(columns.transfer)
        if shortest is not None:
            self._transfers.update(moment, shortest, None)
        elif seen.wait is not None and seen.busy is not None and self._busy.regime is Regime.FIXED:
            late = self._busy.lateness(seen.busy)
            if seen.input is not None:
                late = max(late, float(np.nanmax(self._input.residual * self.period, initial=0.0)))
            busy = Busy(late, float(np.nan_to_num(median(_log(seen.busy)))))
            self._transfers.update(moment, seen.wait, busy)

    def _free(self, seen: Seen) -> Mask:
        """The ranks that nothing is said against; nobody while a slow job cannot be looked into."""
        if seen.busy is None and self._slowdown.current is not None:
            return np.zeros(self.topology.size, dtype=np.bool_)
        return self._busy.channel.calm & self._input.channel.calm

    def _assess(self, columns: StepColumns, seen: Seen, closed: tuple[Suspect, ...]) -> Assessment:
        """All that stands against somebody after this update."""
        busy = [
            self._blame.slow_busy(self._busy.channel, cluster, self.period)
            for cluster in self._blame.clusters(self._busy.channel)
        ]
        data = [
            self._blame.slow_input(self._input.channel, cluster, self.period)
            for cluster in self._blame.clusters(self._input.channel)
        ]
        data += self._blame.job_input(self._storage.channel, self.period)
        refusals = self._too_few()
        if refusals:
            busy = []
        self._escalate(busy)
        self._absorb(busy)
        said = self._hint(columns.step, [*busy, *data], seen)
        suspects = (*busy, *data, *said.suspects, *self._always_slow(columns.at))
        return Assessment(
            columns.step,
            columns.at,
            Regime.BLIND if seen.busy is None else self._busy.regime,
            self._busy.sigma,
            suspects,
            closed,
            float(np.expm1(self._busy.channel.effect)),
            self._slowdown.current,
            (*refusals, *said.refusals, *_unsure(busy)),
        )

    def _hint(self, step: int, known: list[Suspect], seen: Seen) -> Said:
        """What is said beyond the ranks' own times, and why nobody is named."""
        slower = self._slowdown.current
        explained = known and not self._transfers.shortest
        said = NOTHING if explained else self._hints.network(self._transfers, seen.busy)
        if slower is None or said.suspects or any(s.tier >= Tier.WARNING for s in known):
            return said
        blind = seen.busy is None
        counted = self._hints.counters(slower, step) if blind else []
        why = () if counted else (*said.refusals, nobody(self._busy, seen.busy, self._elsewhere))
        return Said(counted, why)

    def _too_few(self) -> tuple[str, ...]:
        """Why nobody is named although ranks are slower than their own past."""
        size = self.topology.size
        flagged = int(self._busy.channel.flagged.sum())
        if size >= self._p.least_ranks or flagged * 2 <= size:
            return ()
        slower = f"{flagged} of {size} ranks are slower than their own past"
        return (f"{slower}: with so few ranks a change of the work and a fault look the same",)

    def _escalate(self, suspects: list[Suspect]) -> None:
        """Warnings that last and cost the job become critical."""
        channel = self._busy.channel
        for index, suspect in enumerate(suspects):
            rows = np.array(suspect.rows)
            warned = np.nanmin(channel.warned[rows], initial=np.inf)
            long = self._elapsed - warned >= self._p.critical_after
            costly = (suspect.cost or 0.0) >= self._p.critical_cost
            if suspect.tier is not Tier.WARNING or not long:
                continue
            if costly or self._slowdown.current is not None:
                channel.raise_to(Tier.CRITICAL, rows[channel.tier[rows] == Tier.WARNING])
                suspects[index] = replace(suspect, tier=Tier.CRITICAL)

    def _absorb(self, suspects: list[Suspect]) -> None:
        """A stage that has long been heavier is heavier by design."""
        for suspect in suspects:
            if suspect.scope is Scope.WORKLOAD and suspect.slow_steps >= ABSORB:
                rows = np.zeros(self.topology.size, dtype=np.bool_)
                rows[list(suspect.rows)] = True
                self._busy.absorb(rows)

    def _always_slow(self, at: float) -> tuple[Suspect, ...]:
        """The hourly test of levels; the first as soon as most ranks have a baseline."""
        levels = self._busy.levels
        if self._elapsed < self._always_due or np.isfinite(levels).mean() < self._p.scope_explains:
            return self._always
        self._always_due = self._elapsed + self._p.always_every
        ratio, self.unlevelled = always_slow(levels, self.topology, self._p)
        self._always = tuple(self._blame.always(ratio, self._last or 0, at))
        return self._always

    def _paused(self, columns: StepColumns, busy: Floats | None) -> bool:
        """Whether the step is a pause of the job: long, and not because a few ranks compute."""
        if not self._slowdown.is_pause(columns.period, blind=busy is None):
            return False
        extra = columns.period - self.period
        return busy is None or not self._blame.few_explain(extra, busy)

    def _sources(self, columns: StepColumns) -> None:
        """Learn a rank anew when its busy time is taken in another way."""
        if columns.busy is None:
            return
        source = columns.busy.sources()
        if self._source is None:
            self._source = source.copy()
            return
        changed = (source != self._source) & (source != NO_SOURCE)
        if changed.any():
            self._busy.forget(changed & (self._source != NO_SOURCE))
            self._source[changed] = source[changed]

    def _check(self, columns: StepColumns) -> None:
        size = self.topology.size
        for name in ("busy", "wait", "input", "transfer"):
            times: Times | None = getattr(columns, name)
            if times is not None and len(times.seconds) != size:
                raise ValueError(f"step {columns.step}: {len(times.seconds)} {name}, {size} ranks")
        if columns.tokens is not None and len(columns.tokens) != size:
            raise ValueError(f"step {columns.step}: {len(columns.tokens)} tokens, {size} ranks")


def _unsure(suspects: list[Suspect]) -> tuple[str, ...]:
    """Why some of the slow ranks are not called the culprit."""
    return tuple(
        f"rank {suspect.ranks[0]} computes longer but does not wait less than its peers: "
        "a wrong measurement, or off the critical path"
        for suspect in suspects
        if suspect.agreement is Agreement.DIFFERS
    )


def _log(busy: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(busy > 0, np.log(busy), np.nan)


def _known(times: Times | None) -> Floats | None:
    """The seconds of a column; None if no rank has one."""
    if times is None:
        return None
    seconds = times.known()
    return seconds if np.isfinite(seconds).any() else None
