"""Whole traces: public ones as they are and with one rank slowed, and made-up tables."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from neuron_observer.stragglers.channel import Tier
from neuron_observer.stragglers.columns import Topology
from neuron_observer.stragglers.retrospective import Account, account
from neuron_observer.stragglers.suspects import Kind, Regime
from neuron_observer.stragglers.table import read
from neuron_observer.stragglers.worlds import Part

TRACES = Path(__file__).parents[1] / "cases" / "F"
AS_TOLD = {"busy_s": "compute_s", "role": "stage"}
WITH_REPLICAS = {**AS_TOLD, "replica": "dp_rank"}
ALIBABA = {"step": "time", "rank": "worker", "busy_s": "batch_time_norm"}


@cache
def trace(name: str, replicas: bool = True) -> Part:  # noqa: FBT002 - two readings of a file
    """One of the traces beside the tests, as its columns are mapped."""
    file = next(TRACES.glob(f"{name}*.csv"))
    mapping = ALIBABA if name == "F21" else WITH_REPLICAS if replicas else AS_TOLD
    with file.open(newline="") as stream:
        (part,) = read(stream, file.name, mapping=mapping).parts
    return part


def slowed(part: Part, row: int, ratio: float, first: int) -> Account:
    """The account of a part in which one rank is slower from some row on."""
    busy = part.busy.copy()
    busy[first:, row] *= ratio
    return account(replace(part, busy=busy))


@pytest.mark.parametrize("replicas", [True, False])
def test_uneven_sequences_name_nobody(replicas: bool) -> None:
    """F20-SE (E50): sequence lengths vary. With or without the replica known: nobody."""
    told = account(trace("F20-bytedance-SE", replicas))
    assert told.suspects == ()
    assert {uneven.group for uneven in told.imbalances} == {"", "1"}
    (data,) = [uneven for uneven in told.imbalances if not uneven.group]
    assert "the data, not the machines" in data.text
    assert 1.12 <= data.ratio <= 1.99


def test_a_heavy_stage_names_nobody() -> None:
    """F20-ST (E49): stage 3 does 1.63 times the work of the others by design."""
    told = account(trace("F20-bytedance-ST", replicas=False))
    assert told.suspects == ()
    (stage,) = told.imbalances
    assert stage.group == "3"
    assert stage.ratio == pytest.approx(1.63, abs=0.02)
    assert stage.ranks == (6, 7)


@pytest.mark.parametrize(("name", "first"), [("F20-bytedance-SE", 21), ("F20-bytedance-ST", 16)])
def test_any_rank_slowed_from_the_middle_is_found_alone(name: str, first: int) -> None:
    """X 1.08 in any rank of the real traces: that rank is warned of, nobody else is flagged."""
    part = trace(name)
    for row in range(0, part.topology.size, 3 if part.topology.size > 8 else 1):
        told = slowed(part, row, 1.08, first)
        (suspect,) = told.suspects
        assert suspect.ranks == (int(part.topology.ranks[row]),)
        assert suspect.tier is Tier.WARNING
        assert suspect.ratio == pytest.approx(1.08, abs=0.03)
        assert abs(int(np.searchsorted(part.steps, suspect.first_step)) - first) <= 3


def test_a_transient_is_told_with_its_begin_and_end() -> None:
    """F21 (E50): worker 6 between iterations 1811 and 1941, and nobody else for ever."""
    (suspect,) = account(trace("F21")).suspects
    assert suspect.ranks == (6,)
    assert (suspect.first_step, suspect.last_step) == (1811, 1941)
    assert suspect.closed
    assert suspect.worst == pytest.approx(2.35, rel=0.05)
    assert suspect.tier is Tier.NOTICE


def table(steps: int, ranks: int, seed: int = 1, sigma: float = 0.004) -> Part:
    """A healthy table of one role."""
    rng = np.random.default_rng(seed)
    busy = rng.uniform(0.9, 1.1, ranks) * np.exp(rng.normal(0, sigma, (steps, ranks)))
    world = Topology.of(range(ranks), role=[0] * ranks)
    return Part(world, np.arange(steps, dtype=np.int64), busy)


def test_slow_from_the_start_until_it_recovers() -> None:
    """The baseline is the lowest third: it does not matter at which end the fault is."""
    part = table(90, 8)
    part.busy[:40, 2] *= 1.1
    (suspect,) = account(part).suspects
    assert (suspect.ranks, suspect.first_step, suspect.last_step) == ((2,), 0, 39)
    assert suspect.closed


def test_slow_all_the_time_is_told_by_its_level() -> None:
    """No step is its first; peers of the same role say it."""
    part = table(60, 16)
    part.busy[:] = part.busy / np.median(part.busy, axis=0)
    part.busy[:, 5] *= 1.25
    (suspect,) = account(part).suspects
    assert (suspect.ranks, suspect.kind) == ((5,), Kind.ALWAYS)


def test_two_ranks_of_which_one_becomes_slow() -> None:
    """Enough for a name: the other one stayed as it was."""
    part = table(60, 2)
    part.busy[30:, 1] *= 1.2
    (suspect,) = account(part).suspects
    assert suspect.ranks == (1,)


def test_too_short_and_too_few() -> None:
    """Eleven steps, or one rank: no account, and the reason."""
    assert "11 steps are too few" in account(table(11, 8)).refusals[0]
    assert account(table(60, 1)).refusals == ("one rank has no peers",)


def test_holes_in_a_table() -> None:
    """A third of all values is missing: the slow rank is still found, alone."""
    part = table(90, 8)
    part.busy[45:, 3] *= 1.15
    part.busy[np.random.default_rng(5).random(part.busy.shape) < 0.33] = np.nan
    (suspect,) = account(part).suspects
    assert suspect.ranks == (3,)
    assert suspect.tier is Tier.WARNING


def test_noise_says_what_it_hides() -> None:
    """Where times vary by themselves, the smallest slowdown that would be seen is told."""
    told = account(table(120, 8, sigma=0.15))
    assert told.suspects == ()
    assert told.assessment is not None
    assert told.assessment.regime is Regime.NOISY
    assert told.assessment.limit >= 0.2
