"""What the program says of its own cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.host import OWN_METRICS, RELOAD_METRICS
from neuron_observer.clock import ManualClock
from neuron_observer.collectors.own import LastReload, OwnCollector
from neuron_observer.model import NODE

if TYPE_CHECKING:
    from neuron_observer.model import Cell


def test_figures_of_this_process_are_plausible() -> None:
    """A Python process has used time, holds megabytes, and has files and a thread open."""
    (batch,) = OwnCollector(ManualClock()).poll(("slow",))
    found = {spec.id: batch.cells[batch.layout.rows[spec.id, NODE]] for spec in OWN_METRICS}
    for metric, least in (
        ("observer.cpu_user", 0.01),
        ("observer.resident_memory", 5_000_000),
        ("observer.open_descriptors", 1),
        ("observer.threads", 1),
    ):
        cell = found[metric]
        assert isinstance(cell, int | float)
        assert cell >= least


def test_an_opened_file_is_counted_and_named_as_a_change() -> None:
    """Two reads differ by what happened between them."""
    own = OwnCollector(ManualClock())
    (before,) = own.poll(("slow",))
    row = before.layout.rows["observer.open_descriptors", NODE]
    with open(__file__, encoding="utf-8"):  # noqa: PTH123 - a descriptor, held open
        (after,) = own.poll(("slow",))
    assert after.cells[row] == int(str(before.cells[row])) + 1
    assert row in after.changed


def test_how_the_configuration_was_read_last_is_told() -> None:
    """By a program that reads it again: whether it was right, and when it last was."""
    clock = ManualClock(wall=100.0)
    last = LastReload(clock)
    own = OwnCollector(clock, last)

    def told() -> list[Cell]:
        (batch,) = own.poll(("normal",))
        return [batch.cells[batch.layout.rows[spec.id, NODE]] for spec in RELOAD_METRICS]

    assert told() == [1, 100.0]
    clock.advance(5.0)
    last.failed()
    assert told() == [0, 100.0]
    last.succeeded()
    assert told() == [1, 105.0]
    assert len(own.poll(("normal", "slow"))) == 2


def test_other_lanes_cost_nothing() -> None:
    """Nothing is asked when the slow lane is not due."""
    assert OwnCollector(ManualClock()).poll(("fast", "normal")) == []
