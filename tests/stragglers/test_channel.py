"""The capped CUSUM: how fast it speaks, what it does not take for slow, when it ends."""

from __future__ import annotations

import numpy as np
import pytest

from neuron_observer.stragglers.channel import Channel, Moment, Tier
from neuron_observer.stragglers.parameters import ONLINE

SIGMA = 0.005
RUN_LENGTH = 64 * 17_280 / 0.01


def _moment(step: int) -> Moment:
    return Moment(step, 100.0 + step, float(step), 17_280.0)


def drive(values: list[float], size: int = 3) -> tuple[Channel, list[int], list[bool]]:
    """Feed rank 0; gives its tier after each step and whether an episode ended."""
    channel = Channel(size, ONLINE, ONLINE.effect)
    tiers, ended = [], []
    for step, value in enumerate(values):
        residual = np.zeros(size)
        residual[0] = value
        channel.record(step, residual)
        ended.append(bool(channel.judge(_moment(step), residual, SIGMA, RUN_LENGTH)[0]))
        channel.persist(float(step))
        tiers.append(int(channel.tier[0]))
    return channel, tiers, ended


def test_four_slow_steps_make_a_notice_and_ten_a_warning() -> None:
    """The cap lets no fewer than four steps speak; ten of twelve warn."""
    channel, tiers, _ = drive([0.0] * 5 + [0.06] * 12)
    assert tiers[5:9] == [Tier.NONE, Tier.NONE, Tier.NONE, Tier.NOTICE]
    assert tiers[5:].index(Tier.WARNING) + 1 == 10
    assert channel.onset[0] == 5
    assert channel.since[0] == 105.0
    assert channel.excess(np.array([0]))[0] == pytest.approx(0.06)
    assert channel.tier[1:].tolist() == [Tier.NONE, Tier.NONE]


def test_one_huge_step_is_nothing() -> None:
    """A checkpoint or a hiccup of one step, however long."""
    _, tiers, _ = drive([0.0] * 5 + [3.0] + [0.0] * 20)
    assert max(tiers) == Tier.NONE


def test_two_bursts_side_by_side_are_no_warning() -> None:
    """Ten slow steps of twelve, but in between all was normal."""
    _, tiers, _ = drive([0.0] * 5 + [0.3] * 5 + [0.0] * 2 + [0.3] * 5 + [0.0] * 20)
    assert max(tiers) == Tier.NOTICE


def test_slow_on_and_off_for_long_is_a_warning() -> None:
    """Twenty of twenty-four steps are slow although it recovers for a step now and then."""
    _, tiers, _ = drive([0.0] * 5 + ([0.3] * 6 + [0.0]) * 8)
    assert max(tiers) == Tier.WARNING


def test_an_episode_ends_and_keeps_its_figures() -> None:
    """Four quiet steps close it; the last slow step is remembered."""
    channel, tiers, ended = drive([0.0] * 5 + [0.1] * 15 + [0.0] * 6)
    assert ended.count(True) == 1
    assert ended.index(True) == 23
    assert tiers[-1] == Tier.NONE
    assert channel.peak[0] == Tier.WARNING
    assert (channel.onset[0], channel.last[0], channel.slow[0]) == (5, 19, 15)


def test_missing_steps_stand_still() -> None:
    """A rank that is not seen is neither slow nor well: it goes on where it was."""
    gaps = [value for _ in range(12) for value in (0.06, float("nan"))]
    channel, tiers, _ = drive([0.0] * 5 + gaps)
    assert tiers[-1] == Tier.WARNING
    assert channel.slow[0] == 12


def test_clear_forgets_one_rank_only() -> None:
    """A rank that is measured in another way starts anew."""
    channel = Channel(2, ONLINE, ONLINE.effect)
    for step in range(12):
        residual = np.full(2, 0.08)
        channel.record(step, residual)
        channel.judge(_moment(step), residual, SIGMA, RUN_LENGTH)
        channel.persist(0.0)
    channel.clear(np.array([True, False]))
    assert channel.tier.tolist() == [Tier.NONE, Tier.WARNING]
    assert np.isnan(channel.level(np.array([0]), 4)[0])
