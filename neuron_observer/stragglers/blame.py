"""From flagged ranks to suspects: scope, kind, agreement and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.kinds import Kinds, Reason, Trend
from neuron_observer.stragglers.robust import distinct, median
from neuron_observer.stragglers.scopes import Cluster, Scopes
from neuron_observer.stragglers.suspects import Agreement, Kind, Scope, Suspect

if TYPE_CHECKING:
    from neuron_observer.stragglers.channel import Channel
    from neuron_observer.stragglers.columns import Floats, Ints, Mask, StepColumns, Topology
    from neuron_observer.stragglers.parameters import Parameters


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The times of one update that could be used, `(N,)` each; None: nobody has one."""

    busy: Floats | None
    wait: Floats | None
    input: Floats | None


class Blame:
    """Turns the flagged ranks of one job into suspects."""

    def __init__(self, topology: Topology, parameters: Parameters) -> None:
        self._p = parameters
        self._topology = topology
        self.kinds = Kinds(topology.size, parameters)
        self._scopes = Scopes(topology, parameters)
        self._busy = Trend(topology.size)
        self._wait = Trend(topology.size)  # less the job's median
        self._input = Trend(topology.size)

    def learn(self, columns: StepColumns, seen: Seen, free: Mask) -> None:
        """Take one update into the usual levels of the ranks that are not slow."""
        if seen.busy is not None:
            self._busy.add(seen.busy, free)
        if seen.wait is not None:
            self._wait.add(seen.wait - median(seen.wait), free)
        if seen.input is not None:
            self._input.add(seen.input, free)
        self.kinds.add(columns.side, free)

    def few_explain(self, extra: float, busy: Floats) -> bool:
        """Whether a minority of ranks computed long enough to explain `extra` seconds."""
        excess = np.nan_to_num(busy - self._busy.usual)
        return bool(
            excess.max() >= self._p.kind_share * extra
            and (excess >= self._p.kind_share * extra / 2).sum() * 2 < len(busy)
        )

    def clusters(self, channel: Channel) -> list[Cluster]:
        """The open episodes of a channel by scope; a warning draws in what began with it."""
        flagged = channel.flagged
        if not flagged.any():
            return []
        warned = channel.tier >= Tier.WARNING
        if not warned.any():
            return self._scopes.clusters(flagged, channel.rising)
        began = distinct(channel.onset[warned])
        near = np.abs(channel.onset[:, None] - began[None, :]).min(axis=1) <= self._p.persist_of
        sure = warned | (flagged & near)
        rest = flagged & ~sure
        return [
            *self._scopes.clusters(sure, channel.rising),
            *self._scopes.clusters(rest, channel.rising),
        ]

    def ended(self, channel: Channel, ended: Mask, period: float, *, data: bool) -> list[Suspect]:
        """Suspects of the episodes that just ended."""
        clusters = self._scopes.clusters(ended, ended) if ended.any() else []
        make = self.slow_input if data else self.slow_busy
        return [make(channel, cluster, period, closed=True) for cluster in clusters]

    def slow_busy(
        self, channel: Channel, cluster: Cluster, period: float, *, closed: bool = False
    ) -> Suspect:
        """The suspect for ranks that compute longer."""
        rows = np.array(cluster.rows)
        ratio = float(np.exp(median(channel.excess(rows))))
        seconds = median(self._busy.now[rows]) * (1 - 1 / ratio)
        reason = self.kinds.of_busy(rows, cluster.scope, seconds)
        young = int(channel.steps[rows].max()) < self._p.persist  # the means still move
        agreement = Agreement.UNKNOWN if closed or young else self._agreement(rows, seconds)
        cost = None if closed else self._cost(rows, seconds, period)
        return self._suspect(
            channel, cluster, reason, ratio, (cost, period, agreement), closed=closed
        )

    def slow_input(
        self, channel: Channel, cluster: Cluster, period: float, *, closed: bool = False
    ) -> Suspect:
        """The suspect for ranks that wait for their data; the ratio is that of the step."""
        rows = np.array(cluster.rows)
        share = median(channel.excess(rows))
        basis = f"input +{share:.1%} of the step"
        reason = Reason(Kind.INPUT, (basis,), ("busy time",))
        cost = None if closed else share
        facts = (cost, period, Agreement.UNKNOWN)
        return self._suspect(channel, cluster, reason, 1 + share, facts, closed=closed)

    def always(self, ratio: Floats, step: int, at: float) -> list[Suspect]:
        """Suspects for ranks whose usual level is high; NaN is a rank that is not."""
        basis = ("slower than the same role elsewhere since before we watched",)
        return [
            Suspect(
                cluster.scope,
                Kind.IMBALANCE if cluster.scope is Scope.WORKLOAD else Kind.ALWAYS,
                Tier.NOTICE if cluster.scope is Scope.WORKLOAD else Tier.WARNING,
                cluster.rows,
                tuple(self._topology.ranks[list(cluster.rows)].tolist()),
                step,
                step,
                0,
                float(np.exp(median(ratio[list(cluster.rows)]))),
                at,
                basis=basis,
                group=cluster.group,
            )
            for cluster in self._scopes.clusters(np.isfinite(ratio), np.isfinite(ratio))
        ]

    def job_input(self, channel: Channel, period: float) -> list[Suspect]:
        """All ranks wait for their data alike; the channel has one row, the job."""
        if channel.calm[0]:
            return []
        share = float(channel.excess(np.array([0]))[0])
        return [
            Suspect(
                scope=Scope.JOB,
                kind=Kind.INPUT,
                tier=Tier(int(channel.tier[0])),
                rows=(),
                ranks=(),
                first_step=int(channel.onset[0]),
                last_step=int(channel.last[0]),
                slow_steps=int(channel.slow[0]),
                ratio=1 + share,
                since=float(channel.since[0]),
                worst=1 + float(channel.worst[0]),
                cost=share,
                lost=share * period * self._topology.size,
                basis=(f"input +{share:.1%} of the step on all ranks: shared storage",),
                excluded=("busy time",),
                group="all ranks",
            )
        ]

    def _suspect(
        self,
        channel: Channel,
        cluster: Cluster,
        reason: Reason,
        ratio: float,
        facts: tuple[float | None, float, Agreement],
        *,
        closed: bool,
    ) -> Suspect:
        rows = np.array(cluster.rows)
        cost, period, agreement = facts
        tier = Tier(int((channel.peak if closed else channel.tier)[rows].max()))
        if cluster.scope is Scope.WORKLOAD or agreement is Agreement.DIFFERS:
            tier = min(tier, Tier.NOTICE)
        first = rows[int(channel.onset[rows].argmin())]
        return Suspect(
            scope=cluster.scope,
            kind=reason.kind,
            tier=tier,
            rows=cluster.rows,
            ranks=tuple(self._topology.ranks[rows].tolist()),
            first_step=int(channel.onset[first]),
            last_step=int(channel.last[rows].max()),
            slow_steps=int(channel.slow[rows].max()),
            ratio=ratio,
            since=float(channel.since[first]),
            worst=self._worst(channel, rows, reason.kind),
            cost=cost,
            lost=None if cost is None else cost * period * self._topology.size,
            agreement=agreement,
            basis=reason.basis,
            excluded=reason.excluded,
            group=cluster.group,
            hardware=reason.hardware,
            closed=closed,
        )

    @staticmethod
    def _worst(channel: Channel, rows: Ints, kind: Kind) -> float:
        worst = float(np.nanmax(channel.worst[rows]))
        return 1 + worst if kind is Kind.INPUT else float(np.exp(worst))

    def _agreement(self, rows: Ints, excess: float) -> Agreement:
        """A culprit waits less than its peers by about what it computes longer."""
        rise = self._wait.rise(rows)
        if not np.isfinite(rise) or self._topology.size < self._p.least_ranks:
            return Agreement.UNKNOWN
        return Agreement.AGREES if rise <= -self._p.agreement * excess else Agreement.DIFFERS

    def _cost(self, rows: Ints, excess: float, period: float) -> float | None:
        """Share of the job's time that these ranks hold up the slowest of the others."""
        others = np.delete(self._busy.now, rows)
        if not np.isfinite(period) or not np.isfinite(others).any():
            return None
        held = float(np.nanmax(self._busy.now[rows]) - np.nanmax(others))
        return min(max(held, 0.0), excess) / period
