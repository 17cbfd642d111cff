"""What counters say beside the ranks: within a minute, beyond a lone event, by device."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from neuron_observer.derive import make_batch
from neuron_observer.model import Missing, Place, Why
from neuron_observer.stragglers.signs import WINDOW, Watcher, executions, reported

if TYPE_CHECKING:
    from neuron_observer.model import Cell

Rows: TypeAlias = "dict[str, list[tuple[Place, Cell]]]"
ECC = "device.hbm.ecc_corrected"
EFA = "efa.port.retransmit_timeouts"


def test_memory_errors_count_from_the_second_within_a_minute() -> None:
    """One event is none; two are; after a minute they are over; a fall is a reset."""
    watcher = Watcher()

    def look(count: int, now: float) -> float:
        batch = make_batch("t", {ECC: [(Place(3), count)]}, now)
        return watcher.look((batch,), now).ecc[3]

    assert look(7, 0.0) == 0  # what there was before counts for nothing
    assert look(8, 10.0) == 0
    assert look(9, 20.0) == 1
    assert look(2, 30.0) == 1  # cleared
    assert look(4, 40.0) == 3
    assert look(4, 40.0 + WINDOW + 1) == 0


def test_what_cannot_be_read_is_not_zero() -> None:
    """No EFA, no pressure, no power: unknown."""
    signs = Watcher().look((), 1.0)
    assert (signs.fabric, signs.cpu_pressure, signs.io_pressure) == (None, None, None)
    assert not any((signs.ecc, signs.power, signs.unhealthy, signs.timeouts))


def test_all_signs_of_a_node() -> None:
    """Fabric of all ports together, parts by device, shares as shares."""
    watcher = Watcher()
    gone = Missing(Why.STALE, "old")
    signs = watcher.look((), 0.0)
    for count in (0, 2):
        rows: Rows = {
            EFA: [(Place(label="a/1"), count), (Place(label="b/1"), count * 2)],
            "device.health.unhealthy_components": [(Place(0), ""), (Place(1), "HBM")],
            "device.power.mean": [(Place(0), 96), (Place(1), gone)],
            "host.pressure.cpu.some_10s": [(Place(), 25.0)],
            "core.execution.timeout": [(Place(1, 0), count)],
        }
        signs = watcher.look((make_batch("t", rows, 1.0 + count),), 1.0 + count)
    assert signs.fabric == 5
    assert signs.unhealthy == {0: False, 1: True}
    assert signs.power == {0: 0.96}
    assert signs.cpu_pressure == 0.25
    assert signs.timeouts == {1: 2}


def test_executions_of_a_job_s_devices() -> None:
    """Of these devices only; none where the driver does not tell."""
    rows: Rows = {
        "core.execution.success": [(Place(0, 0), 5), (Place(1, 0), 9)],
        "core.model_loads": [(Place(0, 0), 3), (Place(1, 0), 4)],
    }
    found = executions((make_batch("t", rows, 4.0),), [0])
    assert found is not None
    assert (found.done, found.loads, found.read_at) == ({(0, 0): 5}, 3, 4.0)
    missing: Rows = {"core.execution.success": [(Place(0, 0), Missing(Why.UNSUPPORTED, "no"))]}
    assert executions((make_batch("t", missing, 4.0),), [0]) is None


def test_executions_that_neuron_monitor_reports() -> None:
    """By the pid of the runtime."""
    rows: Rows = {"runtime.executions.completed": [(Place(label="7"), 40), (Place(label="8"), 50)]}
    batch = make_batch("t", rows, 4.0)
    assert reported((batch,), [8, 9]) == ({8: 50.0}, 4.0)
