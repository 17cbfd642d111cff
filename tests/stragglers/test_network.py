"""Slow transfers from whole waits, where shortest collectives are not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from neuron_observer.stragglers.channel import Moment, Tier
from neuron_observer.stragglers.columns import Floats, Topology
from neuron_observer.stragglers.network import Busy, Transfers
from neuron_observer.stragglers.parameters import ONLINE
from tests.stragglers.jobs import Job, slow

if TYPE_CHECKING:
    from collections.abc import Sequence

WORLD = Topology.of(range(8), role=[0] * 4 + [1] * 4)
USUAL = Busy(0.05, 1.4)


def follow(transfers: Transfers, waits: list[Floats], busy: Sequence[Busy | None]) -> list[int]:
    """How many groups are slow after each update."""
    slow_groups = []
    for step, (times, work) in enumerate(zip(waits, busy, strict=True)):
        transfers.update(Moment(step, 0.0, 5.0 * step, 17_280.0), times, work)
        slow_groups.append(len(transfers.slow()))
    return slow_groups


def waits(steps: int, rise: float, first: int) -> list[Floats]:
    """Waits of eight ranks; those of stage 0 rise by so many seconds from a step on."""
    rng = np.random.default_rng(1)
    rows = [0.3 + 0.1 * rng.random(8) * (np.arange(8) % 4 > 0) for _ in range(steps)]
    for row in rows[first:]:
        row[:4] += rise
    return rows


def test_the_least_wait_of_a_group_is_its_transfer() -> None:
    """Stage 0 waits longer, its last rank too, and nobody is late: its transfers are slow."""
    transfers = Transfers(WORLD, ONLINE)
    found = follow(transfers, waits(100, 0.15, 80), [USUAL] * 100)
    assert found[83] == 1
    assert found[82] == 0
    assert transfers.names[int(transfers.groups.labels[transfers.slow()[0]])] == "0"
    assert transfers.excess(transfers.slow()) == pytest.approx(0.15, abs=0.03)
    assert transfers.channel.tier.tolist() == [Tier.WARNING, Tier.NONE]


@pytest.mark.parametrize("work", [Busy(0.25, 1.4), Busy(0.05, 1.6)])
def test_a_late_rank_or_another_work_explains_it(work: Busy) -> None:
    """One rank takes 0.2 s more than usual, or all have more to do."""
    found = follow(Transfers(WORLD, ONLINE), waits(100, 0.15, 80), [USUAL] * 80 + [work] * 20)
    assert max(found) == 0


def test_a_slow_rank_of_less_than_five_per_cent_is_no_slow_network() -> None:
    """It lengthens the waits of all others, and is not flagged itself."""
    job = Job(sigma=0.001, change=slow([11], 1.03, 80), steps=160)
    assert all(not a.suspects for a in job.run())


def test_shortest_collectives_need_no_explanation() -> None:
    """They do not wait for anybody."""
    transfers = Transfers(WORLD, ONLINE)
    assert max(follow(transfers, waits(100, 0.15, 80), [None] * 100)) == 1
    assert transfers.shortest


def test_ranks_without_groups() -> None:
    """One group of one rank each: nothing can be said."""
    lonely = Transfers(Topology.of([0, 1], group=["a", "b"]), ONLINE)
    assert max(follow(lonely, [np.ones(2)] * 100, [USUAL] * 100)) == 0
