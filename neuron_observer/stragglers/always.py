"""A rank that was slow before we watched: its usual level against the same role elsewhere."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.robust import Groups, median, sigma

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Topology
    from neuron_observer.stragglers.parameters import Parameters


def always_slow(levels: Floats, topology: Topology, parameters: Parameters) -> tuple[Floats, str]:
    """Log ratio of each rank's level to its role's on *other* nodes; NaN where it is not slow.

    Other nodes, because a slow node can hold half of a role. Needs five ranks of the role on
    three nodes; the second value says why nothing could be decided, or is empty. The spread
    between ranks is part of the test: ≥ 10 % and z ≥ 4 (more with many ranks).
    """
    nothing = np.full(topology.size, np.nan)
    if topology.role is None or not topology.role.complete:
        return nothing, "roles unknown: a heavy stage and a slow part look the same"
    alone = parameters.least_nodes == 1  # every rank counts as a place of its own
    if not alone and (topology.node is None or not topology.node.complete):
        return nothing, "nodes unknown: peers on other nodes cannot be told"
    ratio = _against_others(levels, topology, parameters)
    if not np.isfinite(ratio).any():
        least = f"{parameters.least_ranks} ranks"
        return nothing, f"no role has {least}" + ("" if alone else " on three nodes")
    spread = max(sigma(ratio - median(ratio)), parameters.sigma_floor)
    ranks = max(len(levels), 1)
    z = max(parameters.always_z, sqrt(2 * log(ranks / parameters.false_alarms_a_day)))
    with np.errstate(invalid="ignore"):
        slow = (ratio >= log(1 + parameters.always_slow)) & (ratio >= z * spread)
    return np.where(slow, ratio, np.nan), ""


def _against_others(levels: Floats, topology: Topology, parameters: Parameters) -> Floats:
    """Level less the median of the role's medians on the other nodes."""
    role = topology.role
    result = np.full(topology.size, np.nan)
    if role is None:
        return result
    places = np.arange(topology.size)
    if parameters.least_nodes > 1 and topology.node is not None:
        places = topology.node.codes
    for code in range(len(role.names)):
        members = np.flatnonzero(role.codes == code)
        known = members[np.isfinite(levels[members])]
        hosts = Groups(places[known]) if known.size else None
        if (
            hosts is None
            or len(known) < parameters.least_ranks
            or len(hosts) < parameters.least_nodes
        ):
            continue
        by_host = hosts.medians(levels[known])
        others = np.array([median(np.delete(by_host, host)) for host in range(len(hosts))])
        result[known] = levels[known] - others[hosts.codes]
    return result
