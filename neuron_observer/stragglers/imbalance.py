"""Uneven work: heavy stages and uneven data, which are slow and no machine's fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neuron_observer.stragglers.robust import Groups, median, medians

if TYPE_CHECKING:
    from neuron_observer.stragglers.columns import Floats, Ints, Topology
    from neuron_observer.stragglers.parameters import Parameters

CHANGES = 0.5  # share of steps beyond which one rank is "the" slowest


@dataclass(frozen=True, slots=True)
class Imbalance:
    """Uneven work. `group` is the heavy role, or empty where the data differs from step to step."""

    group: str
    ratio: float
    first_step: int
    last_step: int
    ranks: tuple[int, ...]
    text: str


def imbalances(
    topology: Topology, steps: Ints, busy: Floats, parameters: Parameters
) -> tuple[Imbalance, ...]:
    """Heavy roles and uneven data in a table `(steps, ranks)` of busy seconds."""
    if topology.role is None:
        return ()
    roles = Groups(topology.role.codes)
    return (
        *_stages(topology, steps, busy, parameters, roles),
        *_data(topology, steps, busy, parameters, roles),
    )


def _stages(
    topology: Topology, steps: Ints, busy: Floats, parameters: Parameters, roles: Groups
) -> list[Imbalance]:
    """Roles whose usual busy time is 10 % or more above the median role's."""
    levels = roles.medians(medians(busy))
    if len(levels) < 2 or topology.role is None:
        return []
    usual = float(np.median(np.delete(levels, np.argmax(levels)))) if len(levels) > 1 else 0.0
    found = []
    for role in np.flatnonzero(levels >= usual * (1 + parameters.always_slow)):
        name = topology.role.names[int(roles.labels[role])]
        ratio = float(levels[role] / usual)
        members = topology.ranks[roles.codes == role]
        text = (
            f"role {name} works {ratio:.2f}x as long as the others on all of its {len(members)} "
            "ranks: how the work is split, not the machines"
        )
        found.append(
            Imbalance(name, ratio, int(steps[0]), int(steps[-1]), tuple(members.tolist()), text)
        )
    return found


def _data(
    topology: Topology, steps: Ints, busy: Floats, parameters: Parameters, roles: Groups
) -> list[Imbalance]:
    """Steps whose slowest rank is 10 % above its role, but each time another rank."""
    logs = np.log(busy)
    apart = np.array([row - roles.spread(roles.medians(row)) for row in logs])
    if topology.size < parameters.least_ranks:
        return []
    filled = np.where(np.isfinite(apart), apart, -np.inf)
    worst = np.exp(filled.max(axis=1))
    slowest = np.unique(filled.argmax(axis=1), return_counts=True)
    ratio = median(worst)
    if ratio < 1 + parameters.always_slow or slowest[1].max() > CHANGES * len(steps):
        return []
    text = (
        f"the slowest rank of a step is {ratio:.2f}x its role, but it is another one each time "
        f"({len(slowest[0])} ranks in {len(steps)} steps): the data, not the machines"
    )
    return [Imbalance("", ratio, int(steps[0]), int(steps[-1]), (), text)]
