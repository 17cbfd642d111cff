"""A rank that was slow before we watched: its usual level against the same role elsewhere."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.robust import Groups, median, sigma

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints, Topology
    from neuron_observer.stragglers.parameters import Parameters


MAD_ERROR = 1.17  # relative standard error of a MAD, times the root of the number of values


def always_slow(levels: Floats, topology: Topology, parameters: Parameters) -> tuple[Floats, str]:
    """Log ratio of each rank's level to its role's on *other* nodes; NaN where it is not slow.

    Other nodes, because a slow node can hold half of a role; other devices where the nodes are
    fewer than three. Needs five ranks of the role; the second value says why nothing could be
    decided, or is empty. The spread between ranks is part of the test: z ≥ 4, more with many.
    """
    nothing = np.full(topology.size, np.nan)
    if topology.role is None or not topology.role.complete:
        return nothing, "roles unknown: a heavy stage and a slow part look the same"
    ratio = _against_others(levels, topology, parameters)
    if not np.isfinite(ratio).any():
        places = "" if parameters.least_nodes == 1 else " on three nodes or devices"
        return nothing, f"no role has {parameters.least_ranks} ranks{places}"
    ranks = int(np.isfinite(ratio).sum())
    unsure = 1 + 2 * MAD_ERROR / sqrt(ranks)  # of few ranks the spread itself is known badly
    spread = unsure * max(sigma(ratio - median(ratio)), parameters.sigma_floor)
    z = max(parameters.always_z, sqrt(2 * log(ranks / parameters.false_alarms_a_day)))
    least = parameters.gate * log(1 + parameters.always_slow)
    with np.errstate(invalid="ignore"):
        slow = (ratio >= least) & (ratio >= z * spread)
    return np.where(slow, ratio, np.nan), ""


def _hosts(topology: Topology, rows: Ints, parameters: Parameters) -> Groups | None:
    """The nodes of these ranks, or their devices where the nodes are too few; None: too few too.

    Among too few nodes a slow one cannot be told from a fast one, but a device can.
    """
    if parameters.least_nodes == 1:
        return Groups(np.arange(len(rows)))
    for labels in (topology.node, topology.device):
        if labels is not None and rows.size and (labels.codes[rows] >= 0).all():
            hosts = Groups(labels.codes[rows])
            if len(hosts) >= parameters.least_nodes:
                return hosts
    return None


def _against_others(levels: Floats, topology: Topology, parameters: Parameters) -> Floats:
    """Level less the median of the role's medians on the other nodes, or devices."""
    role = topology.role
    result = np.full(topology.size, np.nan)
    if role is None:
        return result
    for code in range(len(role.names)):
        members = np.flatnonzero(role.codes == code)
        known = members[np.isfinite(levels[members])]
        hosts = _hosts(topology, known, parameters)
        if hosts is None or len(known) < parameters.least_ranks:
            continue
        by_host = hosts.medians(levels[known])
        others = np.array([median(np.delete(by_host, host)) for host in range(len(hosts))])
        result[known] = levels[known] - others[hosts.codes]
    return result
