"""Reports of neuron-monitor as batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.monitor import ERRORS, GROUPS, OUTCOMES, PERCENTILES
from neuron_observer.collectors.monitor import MonitorCollector
from neuron_observer.collectors.monitor_batches import MonitorBatches
from neuron_observer.model import NODE, Missing, Place, Value, Why
from neuron_observer.parsers.monitor_report import ERRORS as ALL_ERRORS
from neuron_observer.parsers.monitor_report import OUTCOMES as ALL_OUTCOMES
from neuron_observer.parsers.monitor_report import PERCENTILES as ALL_PERCENTILES
from neuron_observer.readings import columns, reading
from neuron_observer.sources.lines import LineCounts

if TYPE_CHECKING:
    from neuron_observer.clock import ManualClock
    from neuron_observer.model import Batch, Reading

CASES = Path(__file__).parents[1] / "cases" / "A"


class Lines:
    """A source that gives what it is told to."""

    def __init__(self) -> None:
        self.name = "lines"
        self.counts = LineCounts()
        self.error = ""
        self.ended = False
        self.waiting: list[bytes] = []

    def poll(self, limit: int) -> list[bytes]:
        """The next lines."""
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken

    def fileno(self) -> int | None:
        """None."""
        return None

    def close(self) -> None:
        """Nothing to do."""


class Monitor:
    """A collector, its source, and its batches at the clock's time."""

    def __init__(self, clock: ManualClock) -> None:
        self.source = Lines()
        self.clock = clock
        self.collector = MonitorCollector(lambda: self.source, clock)
        self._batches = MonitorBatches()

    def after(self, *lines: str) -> list[Batch]:
        """The batches once these lines have come."""
        self.source.waiting += [line.encode() for line in lines]
        return self._batches.of(self.collector.collect(), self.clock.monotonic())


@pytest.fixture
def monitor(clock: ManualClock) -> Monitor:
    """A monitor that has said nothing yet."""
    return Monitor(clock)


def case(name: str) -> list[str]:
    """The reports of a case, one a line."""
    text = next(CASES.glob(f"{name}-*")).read_text()
    return text.splitlines() if name == "A01" else [json.dumps(json.loads(text))]


def value(found: Reading) -> Any:
    """What must be a value."""
    assert isinstance(found, Value), found
    return found.value


def test_rows_and_report_have_the_same_names() -> None:
    """Every outcome, error and percentile that the parser knows has its row."""
    assert tuple(OUTCOMES) == ALL_OUTCOMES
    assert tuple(ERRORS) == ALL_ERRORS
    assert PERCENTILES == ALL_PERCENTILES


def test_before_the_first_report(monitor: Monitor) -> None:
    """Waiting is said; nothing is zero, and no device has a value."""
    [tool] = monitor.after()
    assert value(reading([tool], "node.monitor.state", NODE)) == "waiting"
    assert reading([tool], "node.monitor.report_age", NODE) == Missing(Why.NOT_YET, "no report yet")


def test_a01_rates_totals_and_ended_runtimes(monitor: Monitor) -> None:
    """Rates are over the report's own period, totals over reports, and ended pids are gone."""
    first, second, third = case("A01")
    batches = monitor.after(first)
    old = Place(label="pid1337")
    assert value(reading(batches, "runtime.executions.completed", old)) == 260
    batches = monitor.after(second, third)
    place = Place(label="pid16851")
    assert [p for _, p, _ in columns(batches, "runtime.tag")] == [place]
    assert value(reading(batches, "runtime.executions.completed", place)) == 520
    rate = value(reading(batches, "runtime.executions.completed_rate", place))
    assert rate == pytest.approx(260 / 0.9994908)
    assert value(reading(batches, "runtime.errors.generic", place)) == 23692 + 23749
    core = Place(0, None, "lnc?/core0")
    assert value(reading(batches, "logical_core.utilization", core)) == pytest.approx(
        0.01313, abs=5e-6
    )
    assert value(reading(batches, "device.reported.mem_ecc_uncorrected", Place(0))) == 0


def test_a02_four_runtimes_with_one_tag(monitor: Monitor) -> None:
    """Runtimes are told apart by pid; latency is in seconds; unknown processor use is missing."""
    batches = monitor.after(*case("A02"))
    places = [place for _, place, _ in columns(batches, "runtime.tag")]
    assert [place.label for place in places] == ["pid20843", "pid21050", "pid21411", "pid21741"]
    assert value(reading(batches, "runtime.latency.total_p50", places[0])) == 0.003509521484375
    assert value(reading(batches, "runtime.latency.device_p50", places[0])) == 0.003294706344604492
    assert isinstance(reading(batches, "runtime.cpu.user", places[0]), Missing)
    errors = "node.monitor.group_errors.neuron_runtime_vcpu_usage"
    assert value(reading(batches, errors, NODE)) == 4


def test_a07_logical_cores_are_not_physical_ones(monitor: Monitor) -> None:
    """Two physical cores to a logical one: its place says so, its parts have the report's names."""
    batches = monitor.after(*case("A07"))
    core = Place(0, None, "lnc2/core1")
    assert value(reading(batches, "logical_core.utilization", core)) == pytest.approx(0.4202)
    assert value(reading(batches, "logical_core.flop_rate", core)) == 1234567891021
    part = Place(0, None, "lnc2/core1/nc_v3.3")
    assert value(reading(batches, "logical_core.part_utilization", part)) == pytest.approx(0.6302)
    assert all(place.core is None for batch in batches for _, place in batch.layout.rows)
    latency = reading(batches, "runtime.latency.total_p99", Place(label="pid268911"))
    assert isinstance(latency, Missing)
    assert latency.why is Why.NOT_YET
    assert isinstance(reading(batches, "runtime.memory.host", Place(label="pid268911")), Missing)


def test_memory_of_a_core_is_summed_over_runtimes(monitor: Monitor) -> None:
    """Two runtimes on one core hold what both hold."""
    used = {"usage_breakdown": {"neuroncore_memory_usage": {"0": {"tensors": 100, "constants": 7}}}}
    entry = {
        "error": "",
        "report": {"memory_used": {"period": 5, "neuron_runtime_used_bytes": used}},
    }
    use = {"neuroncores_in_use": {"0": {"neuroncore_utilization": 1.0}}, "period": 5}
    entry["report"] |= {"neuroncore_counters": use}  # type: ignore[operator]
    batches = monitor.after(
        json.dumps({"neuron_runtime_data": [{"pid": 1, **entry}, {"pid": 2, **entry}]})
    )
    place = Place(label="lnc?/core0")
    assert value(reading(batches, "logical_core.memory.tensors", place)) == 200
    assert value(reading(batches, "logical_core.memory.constants", place)) == 14
    assert isinstance(reading(batches, "logical_core.memory.model_code", place), Missing)


def test_half_a_millisecond_gives_no_utilisation(monitor: Monitor) -> None:
    """The first report after a start is no measurement."""
    cores = {"period": 0.0005, "neuroncores_in_use": {"0": {"neuroncore_utilization": 99.0}}}
    entry = {"pid": 1, "error": "", "report": {"neuroncore_counters": cores}}
    batches = monitor.after(json.dumps({"neuron_runtime_data": [entry]}))
    found = reading(batches, "logical_core.utilization", Place(label="lnc?/core0"))
    assert isinstance(found, Missing)
    assert found.why is Why.NOT_YET


def test_a_report_ages_and_then_its_values_go(monitor: Monitor, clock: ManualClock) -> None:
    """Values are as old as their report; after two periods they are stale, never zero."""
    arrived = clock.monotonic()
    monitor.after(*case("A07"))
    clock.advance(1.5)
    batches = monitor.after()
    core = Place(0, None, "lnc2/core1")
    found = reading(batches, "logical_core.utilization", core)
    assert isinstance(found, Value)
    assert found.read_time == pytest.approx(arrived)
    assert value(reading(batches, "node.monitor.report_age", NODE)) == pytest.approx(1.5)
    clock.advance(30)
    batches = monitor.after()
    stale = reading(batches, "logical_core.utilization", core)
    assert stale == Missing(Why.STALE, "the last report is 32 s old")
    assert value(reading(batches, "node.monitor.state", NODE)) == "stale"
    batches = monitor.after(*case("A07"))
    assert isinstance(reading(batches, "logical_core.utilization", core), Value)


def test_every_cell_is_of_the_catalogue_and_names_its_source(monitor: Monitor) -> None:
    """No metric is made up on the way, and --sources can tell where each stands."""
    for batch in monitor.after(*case("A02")):
        assert batch.layout.columns.keys() <= METRICS.keys()
        assert len(batch.cells) == len(batch.layout.sources) == len(batch.layout.rows)
        assert all(source.startswith("neuron-monitor ") for source in batch.layout.sources)
    assert set(GROUPS) >= set(monitor.collector.collect().counts.group_errors)
