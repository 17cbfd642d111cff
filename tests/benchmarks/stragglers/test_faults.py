"""What is injected follows the published distributions."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.stragglers.faults import HELD_OUT_KINDS, KINDS, Fault, Kind, draw, schedule
from benchmarks.stragglers.topology import TOPOLOGIES

TOPOLOGY = TOPOLOGIES[512]


def _draws(name: str, count: int = 600) -> list[Fault]:
    rng = np.random.default_rng(1)
    kind = next(kind for kind in (*KINDS, *HELD_OUT_KINDS) if kind.name == name)
    return [draw(kind, 200, 1200, TOPOLOGY, rng) for _ in range(count)]


def test_shares_are_those_of_the_table() -> None:
    """25 : 5 : 10 : 15 : 10 : 20 : 5; the other ten of a hundred are hangs."""
    assert [kind.share for kind in KINDS] == [25, 5, 10, 15, 10, 20, 5]
    assert sum(kind.share for kind in KINDS) == 90


def test_compute_faults_have_a_median_of_fifteen_percent_and_bounds() -> None:
    """Lognormal around 0.15, cut at 0.05 and 2.0; ten minutes on average before the cut at 20."""
    faults = _draws("compute")
    severity = [fault.severity for fault in faults]
    assert np.median(severity) == pytest.approx(0.15, rel=0.15)
    assert min(severity) == pytest.approx(0.05)
    assert max(severity) <= 2.0
    lasting = np.mean([fault.last == 1199 for fault in faults])
    assert lasting == pytest.approx(0.05, abs=0.03)


def test_a_slow_device_is_a_chip_fault_and_a_slow_core_is_not() -> None:
    """The class follows the definition: two or more ranks of one device."""
    for fault in _draws("compute", 100):
        assert (fault.cls == "chip") == (fault.scope == "device")
        assert len({int(TOPOLOGY.device[rank]) for rank in fault.ranks}) == 1


def test_hbm_faults_last_to_the_end_and_always_slow_ones_from_the_start() -> None:
    """Permanent faults are permanent."""
    assert all(fault.last == 1199 for fault in _draws("hbm", 50))
    assert all((fault.first, fault.last) == (0, 1199) for fault in _draws("always slow", 50))
    assert {fault.severity for fault in _draws("always slow", 50)} == {0.10}


def test_half_of_the_network_faults_leave_traces_in_counters() -> None:
    """Events on half of them; the transfer takes 1.2 to 5 times as long."""
    faults = _draws("network")
    assert np.mean([fault.evidence for fault in faults]) == pytest.approx(0.5, abs=0.07)
    assert 0.2 <= min(f.severity for f in faults) < max(f.severity for f in faults) <= 4.0


def test_host_faults_are_bursts_or_last() -> None:
    """Half are bursts of 1 to 6 steps, half are sustained."""
    kinds = Counter(fault.kind for fault in _draws("host"))
    assert kinds["host burst"] == pytest.approx(300, abs=50)
    assert all(1 <= f.steps <= 6 for f in _draws("host", 200) if f.kind == "host burst")


def test_strength_is_the_excess_while_it_lasts() -> None:
    """Nothing before, the severity during, nothing after."""
    fault = Fault("compute", "compute", "core", (3,), 4, 6, 0.5)
    assert fault.strength(9).tolist() == [0, 0, 0, 0, 0.5, 0.5, 0.5, 0, 0]


def test_held_out_kinds_creep_and_flap() -> None:
    """One grows over 100 steps, the other comes and goes every 20."""
    creeping, flapping = _draws("creeping", 1)[0], _draws("flapping", 1)[0]
    grown = creeping.strength(1200)[creeping.first : creeping.first + 150]
    assert (np.diff(grown[:100]) > 0).all()
    assert grown[100:].min() == pytest.approx(creeping.severity)
    on = flapping.strength(1200)[flapping.first : flapping.first + 80] > 0
    assert on.reshape(4, 20).all(axis=1).tolist() == [True, False, True, False]
    assert not on.reshape(4, 20)[1].any()


@pytest.mark.parametrize("seed", range(10))
def test_schedules_leave_quiet_between_faults(seed: int) -> None:
    """No fault starts before step 180 (but for one from the start), nor within 60 of the last."""
    faults = schedule(KINDS, 1200, TOPOLOGY, np.random.default_rng(seed))
    later = [fault for fault in faults if fault.first > 0]
    assert all(fault.first >= 180 for fault in later)
    for before, after in pairwise(later):
        assert after.first - before.last >= 60
    assert sum(fault.first == 0 for fault in faults) <= 1


def test_a_schedule_of_one_kind_has_only_that() -> None:
    """Kinds are drawn from those given."""
    faults = schedule((Kind("hbm", 1, "chip"),), 1200, TOPOLOGY, np.random.default_rng(0))
    assert {fault.kind for fault in faults} == {"hbm"}
