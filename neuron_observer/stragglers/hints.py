"""What the job's own signals say where no rank is known to be slow: network, counters, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.suspects import Kind, Regime, Scope, Suspect

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints, Labels, StepColumns, Topology
    from neuron_observer.stragglers.kinds import Kinds
    from neuron_observer.stragglers.network import Transfers
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.signals import Signal
    from neuron_observer.stragglers.slowdown import Slowdown


class Said(NamedTuple):
    """Suspects that rest on other things than a rank's own time, and what cannot be said."""

    suspects: list[Suspect]
    refusals: tuple[str, ...]


class Hints:
    """Looks at transfers and hardware counters of one job."""

    def __init__(self, topology: Topology, parameters: Parameters, kinds: Kinds) -> None:
        self._topology = topology
        self._p = parameters
        self._kinds = kinds
        self._all: Ints = np.arange(topology.size)

    def of(
        self,
        columns: StepColumns,
        transfers: Transfers,
        busy: Signal,
        known: list[Suspect],
        slower: Slowdown | None,
    ) -> Said:
        """Suspects beyond `known`, and why nobody (more) is named."""
        found: list[Suspect] = []
        refusals: tuple[str, ...] = ()
        if not known:
            slow = transfers.slow()
            if slow.size:
                found, refusals = self._network(columns, transfers, busy, slow)
            if not found and slower is not None:
                found = self._counters(slower, columns.step)
        if slower is not None and not found and not any(s.tier >= Tier.WARNING for s in known):
            refusals = (*refusals, self._nobody(columns, busy))
        return Said(found, refusals)

    def _network(
        self, columns: StepColumns, transfers: Transfers, busy: Signal, slow: Ints
    ) -> Said:
        """Slow transfers, unless a rank's own lateness, or one that is not observed, explains it."""
        excess = transfers.excess(slow)
        if columns.busy is not None:
            late = busy.lateness(columns.busy.known())
            if late >= self._p.kind_share * excess:
                return Said([], ())
            hidden = int(np.isnan(columns.busy.known()).sum())
            if hidden:
                return Said([], (f"transfers are slow, but {hidden} ranks are not observed: one of "
                                 "them may come late",))
        else:
            return Said([], ())
        rows = np.flatnonzero(np.isin(transfers.groups.codes, slow))
        channel = transfers.channel
        eventful = self._kinds.fabric(rows)
        node = self._only(self._topology.node, eventful if eventful.size else rows)
        scope, group = Scope.LINK, ", ".join(transfers.names[int(transfers.groups.labels[g])] for g in slow[:4])
        if node is not None and (eventful.size or len(slow) < len(transfers.groups)):
            scope, group = Scope.NODE, f"node {node}"
            rows = eventful if eventful.size else rows
        elif len(slow) >= self._p.scope_explains * len(transfers.groups):
            scope, group = Scope.JOB, "fabric"
        basis = [f"shortest collective +{excess:.3g} s and nobody computes longer"]
        if eventful.size:
            basis.append("EFA time-outs or dead remotes")
        tier = Tier(int(channel.tier[slow].max()))
        first = slow[int(channel.onset[slow].argmin())]
        suspect = Suspect(
            scope, Kind.NETWORK, tier, tuple(rows.tolist()),
            tuple(self._topology.ranks[rows].tolist()),
            int(channel.onset[first]), int(channel.last[slow].max()), int(channel.slow[slow].max()),
            float(np.exp(np.median(channel.excess(slow)))), float(channel.since[first]),
            basis=tuple(basis), excluded=("busy time", "input"), group=group,
            hardware=bool(eventful.size),
        )
        return Said([suspect], ())

    def _counters(self, slower: Slowdown, step: int) -> list[Suspect]:
        """The one device, or node, whose hardware counters began to move as the job slowed."""
        chips, fabric = self._kinds.chips(self._all), self._kinds.fabric(self._all)
        device = self._only(self._topology.device, chips)
        node = self._only(self._topology.node, fabric)
        if device is not None:
            return [self._counted(Scope.DEVICE, Kind.CHIP, chips, f"device {device}", slower, step)]
        if node is not None:
            return [self._counted(Scope.NODE, Kind.NETWORK, fabric, f"node {node}", slower, step)]
        return []

    def _counted(self, scope, kind, rows, group, slower, step) -> Suspect:
        return Suspect(
            scope, kind, Tier.WARNING, tuple(rows.tolist()), tuple(self._topology.ranks[rows].tolist()),
            slower.first_step, step, step - slower.first_step + 1, slower.ratio, slower.since,
            basis=("the job slowed as these hardware counters began to move",),
            group=group, hardware=True,
        )

    @staticmethod
    def _only(labels: Labels | None, rows: Ints) -> str | None:
        """The one label that these rows share."""
        if labels is None or not rows.size:
            return None
        codes = np.unique(labels.codes[rows])
        return labels.names[int(codes[0])] if len(codes) == 1 and codes[0] >= 0 else None

    def _nobody(self, columns: StepColumns, busy: Signal) -> str:
        if columns.busy is None or not np.isfinite(columns.busy.known()).any():
            return "no rank reports its own busy time: install the hook, or take device events"
        if busy.regime is Regime.LEARNING:
            return "the ranks' own baselines are not complete yet"
        hidden = int(np.isnan(columns.busy.known()).sum())
        if hidden:
            return f"{hidden} ranks do not report; none of the others became slower than its peers"
        return "all ranks became slower alike: the work, shared storage, the fabric or the program"
