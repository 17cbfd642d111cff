"""Which part of the machine, or of the work, the slow ranks have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuron_observer.stragglers.robust import Groups, distinct
from neuron_observer.stragglers.suspects import Scope

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Ints, Labels, Mask, Topology
    from neuron_observer.stragglers.parameters import Parameters


class Cluster(NamedTuple):
    """Slow ranks that one thing explains."""

    scope: Scope
    rows: tuple[int, ...]
    group: str = ""


class Scopes:
    """Finds the smallest scope that explains the flagged ranks of each part.

    Work before machines: a whole stage, or a whole replica that spans nodes, is the workload. Then
    nodes, devices and single ranks; a node is named only if no one device of it explains 90 % of
    its slow ranks.
    """

    def __init__(self, topology: Topology, parameters: Parameters) -> None:
        self._p = parameters
        self._size = topology.size
        self._labels = {
            "role": topology.role,
            "replica": topology.replica,
            "node": topology.node,
            "device": topology.device,
        }
        self._groups = {
            name: Groups(labels.codes, least=1 if name == "node" else 2)
            for name, labels in self._labels.items()
            if labels is not None
        }

    def clusters(self, flagged: Mask, rising: Mask) -> list[Cluster]:
        """The flagged ranks, each in exactly one cluster.

        Ranks are flagged one after another: whether a stage or replica is slow as a whole, those
        that are `rising` decide.
        """
        left = flagged.copy()
        found: list[Cluster] = []
        if rising.sum() > 1:
            for name in ("role", "replica"):
                found += self._whole(name, left, rising)
            found += self._machines("node", Scope.NODE, left)
            found += self._machines("device", Scope.DEVICE, left)
        found += [Cluster(Scope.CORE, (int(row),)) for row in np.flatnonzero(left)]
        return found

    def _whole(self, name: str, left: Mask, rising: Mask) -> list[Cluster]:
        """Whole roles or replicas that are no machine; takes their ranks out of `left`."""
        groups, labels = self._groups.get(name), self._labels[name]
        if groups is None or labels is None or len(groups) < 2:
            return []
        share = groups.share(rising.astype(np.float64))
        found = []
        for group in np.flatnonzero(share >= self._p.whole_share):
            members = groups.codes == group
            rows = np.flatnonzero(left & members)
            if len(rows) < max(left.sum() * self._p.scope_share, 1):
                continue
            if self._is_machine(np.flatnonzero(rising & members)):
                continue
            found.append(
                Cluster(Scope.WORKLOAD, tuple(rows.tolist()), _named(name, labels, groups, group))
            )
            left[rows] = False
        return found

    def _is_machine(self, rows: Ints) -> bool:
        """Whether these ranks are one device's, or all that a node has: then it may be that."""
        for name in ("device", "node"):
            labels = self._labels[name]
            if labels is None:
                continue
            codes = distinct(labels.codes[rows])
            if len(codes) == 1 and (name == "device" or self._fills(labels, int(codes[0]), rows)):
                return True
        return False

    @staticmethod
    def _fills(node: Labels, code: int, rows: Ints) -> bool:
        """Whether these are all ranks of a node, and there are others."""
        return len(node.names) > 1 and len(rows) == int((node.codes == code).sum())

    def _machines(self, name: str, scope: Scope, left: Mask) -> list[Cluster]:
        """Nodes or devices of which half of the ranks, and more than one, are slow."""
        groups, labels = self._groups.get(name), self._labels[name]
        if groups is None or labels is None:
            return []
        share = groups.share(left.astype(np.float64))
        found = []
        for group in np.flatnonzero(share >= self._p.scope_share):
            rows = np.flatnonzero(left & (groups.codes == group))
            if len(rows) < 2 or (scope is Scope.NODE and self._one_device(rows)):
                continue
            found.append(Cluster(scope, tuple(rows.tolist()), _named(name, labels, groups, group)))
            left[rows] = False
        return found

    def _one_device(self, rows: Ints) -> bool:
        """Whether one device explains 90 % of these ranks of a node."""
        device = self._labels["device"]
        if device is None:
            return False
        codes = device.codes[rows]
        known = codes[codes >= 0]
        return bool(known.size and np.bincount(known).max() >= self._p.scope_explains * len(rows))


def _named(name: str, labels: Labels, groups: Groups, group: np.integer) -> str:
    return f"{name} {labels.names[int(groups.labels[group])]}"
