"""Hangs, with the real detector of hangs."""

from collections.abc import Iterable

import pytest

from benchmarks.stragglers import stops
from benchmarks.stragglers.stops import Verdict


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    """One case of each name in each view."""
    return stops.run(1, 11)


def _hung(verdicts: Iterable[Verdict], view: str) -> list[Verdict]:
    return [v for v in verdicts if v.view == view and v.case.hangs]


@pytest.mark.parametrize("view", ["hook", "passive"])
def test_every_hang_is_called_within_fifteen_seconds_of_its_limit(
    verdicts: list[Verdict], view: str
) -> None:
    """D + 15 s, hooked or not."""
    assert all(verdict.in_time for verdict in _hung(verdicts, view))


def test_a_crashed_peer_is_named(verdicts: list[Verdict]) -> None:
    """The process that is gone, by rank and cause."""
    crashed = [v for v in _hung(verdicts, "hook") if v.case.name == "crashed peer"]
    assert [v.right_rank and v.right_class for v in crashed] == [True]


def test_stale_counters_are_no_hang(verdicts: list[Verdict]) -> None:
    """Counters that never move say nothing, in hung and healthy jobs alike."""
    stale = [v for v in verdicts if "stale" in v.view]
    assert stale
    assert all(v.seconds is None for v in stale)
