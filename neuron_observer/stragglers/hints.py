"""What the job's own signals say where no rank is known to be slow: network, counters, refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.robust import distinct, median
from neuron_observer.stragglers.suspects import Kind, Regime, Scope, Suspect

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints, Labels, Topology
    from neuron_observer.stragglers.kinds import Kinds
    from neuron_observer.stragglers.network import Transfers
    from neuron_observer.stragglers.parameters import Parameters
    from neuron_observer.stragglers.signals import Signal
    from neuron_observer.stragglers.slowdown import Slowdown


class Said(NamedTuple):
    """Suspects that rest on other things than a rank's own time, and what cannot be said."""

    suspects: list[Suspect]
    refusals: tuple[str, ...]


class Place(NamedTuple):
    """Where slow transfers are."""

    scope: Scope
    rows: Ints
    group: str


NOTHING = Said([], ())


class Hints:
    """Looks at transfers and hardware counters of one job."""

    def __init__(
        self, topology: Topology, parameters: Parameters, kinds: Kinds, elsewhere: int = 0
    ) -> None:
        self._topology = topology
        self._elsewhere = elsewhere
        self._p = parameters
        self._kinds = kinds
        self._all: Ints = np.arange(topology.size)
        self._onset: int | None = None  # first step of the slowdown that is looked into
        self._left = 0  # updates in which counters may still begin to move
        self._moving: dict[Kind, Ints] = {}

    def network(self, transfers: Transfers, seconds: Floats | None) -> Said:
        """Slow transfers. `seconds` are the ranks' busy times: without them a late rank and a slow
        transfer look the same, as they do where a rank of the group is not seen.
        """
        slow = transfers.slow()
        if seconds is None or not slow.size:
            return NOTHING
        rows = self._all
        if transfers.shortest:
            rows = np.flatnonzero(np.isin(transfers.groups.codes, slow))
        hidden = int(np.isnan(seconds[rows]).sum()) + self._elsewhere
        if hidden:
            return Said(
                [], (f"transfers are slow, but {hidden} ranks that nobody sees may be late",)
            )
        return Said([self._slow_transfers(transfers, slow, transfers.excess(slow))], ())

    def _slow_transfers(self, transfers: Transfers, slow: Ints, excess: float) -> Suspect:
        channel = transfers.channel
        place = self._place(transfers, slow)
        eventful = self._kinds.fabric(place.rows).size > 0
        events = ("EFA time-outs or dead remotes",) if eventful else ()
        first = slow[int(channel.onset[slow].argmin())]
        return Suspect(
            scope=place.scope,
            kind=Kind.NETWORK,
            tier=Tier(int(channel.tier[slow].max())),
            rows=tuple(place.rows.tolist()),
            ranks=tuple(self._topology.ranks[place.rows].tolist()),
            first_step=int(channel.onset[first]),
            last_step=int(channel.last[slow].max()),
            slow_steps=int(channel.slow[slow].max()),
            ratio=float(np.exp(median(channel.excess(slow)))),
            since=float(channel.since[first]),
            worst=float(np.exp(np.nanmax(channel.worst[slow]))),
            basis=(f"shortest collective +{excess:.3g} s and nobody computes longer", *events),
            excluded=("busy time", "input"),
            group=place.group,
            hardware=eventful,
        )

    def _place(self, transfers: Transfers, slow: Ints) -> Place:
        """The fabric, if all are slow; the node, if all of its groups are; else the groups."""
        rows = np.flatnonzero(np.isin(transfers.groups.codes, slow))
        if len(slow) >= self._p.scope_explains * len(transfers.groups):
            return Place(Scope.JOB, rows, "fabric")
        nodes = self._topology.node
        if nodes is not None and len(slow) > 1:
            there = np.flatnonzero(np.isin(nodes.codes, nodes.codes[rows]))
            node = self._only(nodes, rows)
            if node is not None and len(rows) >= self._p.scope_explains * len(there):
                return Place(Scope.NODE, rows, f"node {node}")
        names = [transfers.names[int(transfers.groups.labels[group])] for group in slow]
        return Place(Scope.LINK, rows, f"group {', '.join(names)}")

    def counters(self, slower: Slowdown, step: int) -> list[Suspect]:
        """The one device, or node, whose hardware counters began to move as the job slowed.

        Those that begin much later are another story.
        """
        if self._onset != slower.first_step:
            self._onset, self._left = slower.first_step, self._p.persist_of
            self._moving = {Kind.CHIP: self._all[:0], Kind.NETWORK: self._all[:0]}
        moving = {
            Kind.CHIP: self._kinds.chips(self._all),
            Kind.NETWORK: self._kinds.fabric(self._all),
        }
        for kind, rows in moving.items():
            known = self._moving[kind]
            self._moving[kind] = rows if self._left > 0 else np.intersect1d(rows, known)
        self._left -= 1
        chips, fabric = self._moving[Kind.CHIP], self._moving[Kind.NETWORK]
        if self._only(self._topology.device, chips) is not None:
            return [self._counted(Scope.DEVICE, Kind.CHIP, chips, slower, step)]
        if self._only(self._topology.node, fabric) is not None:
            return [self._counted(Scope.NODE, Kind.NETWORK, fabric, slower, step)]
        return []

    def _counted(
        self, scope: Scope, kind: Kind, rows: Ints, slower: Slowdown, step: int
    ) -> Suspect:
        return Suspect(
            scope=scope,
            kind=kind,
            tier=Tier.WARNING,
            rows=tuple(rows.tolist()),
            ranks=tuple(self._topology.ranks[rows].tolist()),
            first_step=slower.first_step,
            last_step=step,
            slow_steps=step - slower.first_step + 1,
            ratio=slower.ratio,
            since=slower.since,
            basis=("the job slowed as these hardware counters began to move",),
            hardware=True,
        )

    @staticmethod
    def _only(labels: Labels | None, rows: Ints) -> str | None:
        """The one label that these rows share."""
        if labels is None or not rows.size:
            return None
        codes = distinct(labels.codes[rows])
        return labels.names[int(codes[0])] if len(codes) == 1 and codes[0] >= 0 else None


def nobody(busy: Signal, seconds: Floats | None, elsewhere: int = 0) -> str:
    """Why nobody is named although the job is slower."""
    if seconds is None:
        return "no rank reports its own busy time: install the hook, or take device events"
    if busy.regime is Regime.LEARNING:
        return "the ranks' own baselines are not complete yet"
    hidden = int(np.isnan(seconds).sum())
    if hidden:
        return f"{hidden} ranks do not report, and none of the others became slower than its peers"
    if elsewhere:
        return (
            f"{elsewhere} ranks are not seen from here (other nodes), and none of these became"
            " slower than its peers"
        )
    return "all ranks became slower alike: the work, shared storage, the fabric or the program"
