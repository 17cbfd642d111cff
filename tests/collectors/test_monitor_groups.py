"""Groups with periods of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neuron_observer.collectors.monitor_groups import GroupMemory
from neuron_observer.model import Missing, Why
from neuron_observer.parsers.monitor import parse_report
from neuron_observer.parsers.monitor_report import MonitorReport

CASES = Path(__file__).parents[1] / "cases/A"


def training() -> dict[str, Any]:
    """The first report of a training, as a document."""
    path = next(CASES.glob("A01-*"))
    document: dict[str, Any] = json.loads(path.read_text().splitlines()[0])
    return document


def report(document: dict[str, Any]) -> MonitorReport:
    """A document that must be a report."""
    parsed = parse_report(json.dumps(document))
    assert isinstance(parsed, MonitorReport)
    return parsed


def without_hardware_counters(pid: int = 1337) -> MonitorReport:
    """The next report: hardware counters and memory were not due."""
    document = training()
    del document["system_data"]["neuron_hw_counters"]
    document["neuron_runtime_data"][0]["pid"] = pid
    del document["neuron_runtime_data"][0]["report"]["memory_used"]
    return report(document)


@pytest.mark.parametrize(("later", "known"), [(1.9, True), (2.1, False)])
def test_a_group_that_was_not_due_keeps_its_values_for_two_periods(
    later: float, *, known: bool
) -> None:
    """Its own period counts, here about one second."""
    memory = GroupMemory()
    first = memory.complete(report(training()), 100.0)
    assert first == report(training())
    second = memory.complete(without_hardware_counters(), 100.0 + later)
    assert isinstance(second.ecc, Missing) is not known
    assert not isinstance(second.runtimes, Missing)
    used = second.runtimes[0].memory.neuron_device
    assert used == (102298328 if known else Missing(Why.NOT_YET, _absent("memory_used")))


def _absent(group: str) -> str:
    return f"neuron_runtime_data.report.{group} is not in this report"


def test_another_runtime_gets_nothing_of_it() -> None:
    """What was held for one pid is gone with it."""
    memory = GroupMemory()
    memory.complete(report(training()), 100.0)
    other = memory.complete(without_hardware_counters(pid=7), 100.1)
    assert not isinstance(other.runtimes, Missing)
    assert isinstance(other.runtimes[0].memory.host, Missing)
    assert not isinstance(other.ecc, Missing)
    assert {pid for pid, _ in memory._held} == {None, 7}


def test_a_group_in_error_keeps_nothing() -> None:
    """It was due and failed: its old values are not shown as if they were new."""
    memory = GroupMemory()
    memory.complete(report(training()), 100.0)
    document = training()
    document["system_data"]["neuron_hw_counters"]["error"] = "driver"
    failed = memory.complete(report(document), 100.1)
    assert isinstance(failed.ecc, Missing)
    assert failed.ecc.why is Why.FAILED


def test_no_list_of_runtimes_stays_unknown() -> None:
    """Only groups are kept, never who is there."""
    memory = GroupMemory()
    memory.complete(report(training()), 100.0)
    gone = memory.complete(report(training() | {"neuron_runtime_data": None}), 100.1)
    assert isinstance(gone.runtimes, Missing)
