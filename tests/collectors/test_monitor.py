"""The neuron-monitor collector."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.clock import ManualClock
from neuron_observer.collectors.monitor import (
    MAX_REPORT,
    MonitorCollector,
    MonitorSample,
    MonitorState,
    open_monitor,
)
from neuron_observer.collectors.monitor_cores import LogicalCore, logical_per_device, samples
from neuron_observer.model import Missing, Why
from neuron_observer.parsers.monitor import parse_report
from neuron_observer.parsers.monitor_report import MonitorReport
from neuron_observer.parsers.neuron_ls import parse as parse_listing
from neuron_observer.sources.child import Children
from neuron_observer.sources.lines import PipeLines, open_lines
from neuron_observer.sources.pump import PumpedLines

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[1] / "cases"
EXPECTED: dict[str, Any] = {
    row["id"]: row["expect"] for row in json.loads((CASES / "A/index.json").read_text())
}


def text(case: str) -> str:
    """A case file as it is."""
    return next((CASES / "A").glob(f"{case}-*")).read_text()


def line(case: str) -> str:
    """A case as one line of a stream."""
    return json.dumps(json.loads(text(case))) + "\n"


def report(document: str) -> MonitorReport:
    """A line that must be a report."""
    parsed = parse_report(document)
    assert isinstance(parsed, MonitorReport)
    return parsed


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock()


class Stream:
    """A collector at the end of a pipe, and its writer."""

    def __init__(self, clock: ManualClock) -> None:
        reader, self.writer = os.pipe()
        self.source = PumpedLines(PipeLines(reader, "pipe", max_line=MAX_REPORT, keep_cut=False))
        self.collector = MonitorCollector(lambda: self.source, clock)

    def after(self, lines: str, reports: int) -> MonitorSample:
        """The sample once `reports` lines in all have been taken."""
        with os.fdopen(os.dup(self.writer), "w") as out:
            out.write(lines)
        sample = self.collector.collect()
        while sample.counts.reports + sample.counts.bad < reports:
            sample = self.collector.collect()
        return sample


@pytest.fixture
def stream(clock: ManualClock) -> Iterator[Stream]:
    """A stream that is closed at the end."""
    stream = Stream(clock)
    yield stream
    os.close(stream.writer)
    stream.source.close()


def test_a01_tallies_add_up_and_rates_use_the_period(stream: Stream) -> None:
    """260 executions in each of three reports are 780, at 260 a second; ended pids go."""
    lines = text("A01").splitlines(keepends=True)
    first = stream.after(lines[0], 1)
    assert first.state is MonitorState.BUSY
    assert first.totals[1337].outcomes["completed"] == 260
    sample = stream.after("".join(lines[1:]), 3)
    assert list(sample.totals) == [16851]
    assert sample.totals[16851].outcomes["completed"] == 520
    assert sample.totals[16851].errors["generic"] == 23692 + 23749
    rate = sample.totals[16851].rates["completed"]
    assert rate == pytest.approx(260 / 0.9994908)
    assert sample.counts.ended == 1
    assert first.totals[1337].outcomes["completed"] == 260  # what was handed out stays
    values = [core.utilization for core in sample.cores]
    assert values == [pytest.approx(0.01313, abs=5e-6), 0.0]
    assert [core.where.number for core in sample.cores] == EXPECTED["A01"]["cores"]


def test_a02_cores_over_four_runtimes(stream: Stream) -> None:
    """Each core counts once, whoever uses it; the error is counted once a runtime."""
    expect = EXPECTED["A02"]
    sample = stream.after(line("A02") * 5, 5)
    found = {core.where.number: core.utilization for core in sample.cores}
    for core, value in expect["core_utilization_percent"].items():
        assert found[int(core)] == pytest.approx(value / 100, abs=5e-5)
    assert len(found) == len(expect["core_utilization_percent"])
    assert sorted(sample.totals) == expect["runtimes"]
    completed = sum(totals.outcomes["completed"] for totals in sample.totals.values())
    assert completed == 5 * expect["completed_total"]
    assert sample.counts.group_errors == {"neuron_runtime_vcpu_usage": 4}


def test_a03_idle_cores_are_listed_without_a_value(stream: Stream) -> None:
    """Both cores say "no runtime"; nobody publishes a zero."""
    expect, sample = EXPECTED["A03"], stream.after(line("A03"), 1)
    assert sample.state.value == expect["state"]
    assert [core.where for core in sample.cores] == [
        LogicalCore(expect["lnc"], core, 0, core) for core in expect["cores"]
    ]
    for core in sample.cores:
        assert isinstance(core.utilization, Missing)
        assert core.utilization.detail == expect["utilization"]


def test_a07_logical_cores_find_their_device() -> None:
    """64 logical cores on 16 devices; sub-cores stay names, and are counted nowhere."""
    expect, found = EXPECTED["A07"], samples(report(text("A07")))
    assert len(found) == expect["devices"] * expect["logical_cores_per_device"]
    assert found[61].where == LogicalCore(2, 61, 15, 1)
    assert found[0].utilization == pytest.approx(0.4201)
    assert list(found[1].subcores) == expect["subcores"]["1"]
    assert isinstance(found[2].utilization, Missing)


def test_a07_ids_of_neuron_ls_win() -> None:
    """A listing tells the device of each core; what it does not list has none."""
    listing = parse_listing('[{"neuron_device": 7, "neuroncore_ids": [0, 1, 2, 3], "nc_count": 8}]')
    found = samples(report(text("A07")), listing)
    assert found[3].where == LogicalCore(2, 3, 7, 3)
    assert found[4].where == LogicalCore(2, 4, None, None)


@pytest.mark.parametrize(
    ("hardware", "instance", "cores"),
    [
        ({"neuroncore_per_device_count": 4, "logical_neuroncore_config": 2}, "trn2.48xlarge", 4),
        ({"neuroncore_per_device_count": 8, "logical_neuroncore_config": 2}, "trn3.48xlarge", 4),
        ({"neuroncore_per_device_count": 8, "logical_neuroncore_config": 1}, "trn2.48xlarge", 8),
        ({"neuroncore_per_device_count": 8, "logical_neuroncore_config": 2}, "trn9.48xlarge", None),
        ({"neuroncore_per_device_count": 5, "logical_neuroncore_config": 2}, "trn2.48xlarge", None),
        ({"neuroncore_per_device_count": 8, "logical_neuroncore_config": 2}, "", None),
        ({"neuroncore_per_device_count": 2}, "trn1.2xlarge", 2),
        ({}, "trn1.2xlarge", None),
    ],
)
def test_the_printed_number_of_cores_may_be_of_either_kind(
    hardware: dict[str, int], instance: str, cores: int | None
) -> None:
    """It is held against the chip; where neither reading fits there is no number."""
    document = {
        "neuron_runtime_data": [],
        "instance_info": {"instance_type": instance, "error": ""},
        "neuron_hardware_info": {"neuron_device_count": 1, "error": "", **hardware},
    }
    assert logical_per_device(report(json.dumps(document))) == cores


def test_a_change_of_lnc_starts_other_series() -> None:
    """Core 1 of LNC 1 and core 1 of LNC 2 are different things with different names."""
    text_2 = text("A07")
    text_1 = text_2.replace('"neuroncore_per_device_count":4', '"neuroncore_per_device_count":8')
    text_1 = text_1.replace('"logical_neuroncore_config":2', '"logical_neuroncore_config":1')
    wide, narrow = samples(report(text_2)), samples(report(text_1))
    assert (len(wide), len(narrow)) == (64, 128)
    assert not {core.where for core in wide} & {core.where for core in narrow}
    assert (wide[13].where, narrow[13].where) == (
        LogicalCore(2, 13, 3, 1),
        LogicalCore(1, 13, 1, 5),
    )


def test_a_runtime_in_error_leaves_no_false_zero() -> None:
    """Where one runtime's cores are unknown, another's zero is not the core's."""
    document = json.loads(text("A02"))
    document["neuron_runtime_data"][0]["report"]["neuroncore_counters"]["error"] = "driver"
    found = samples(report(json.dumps(document)))
    assert isinstance(found[0].utilization, Missing)
    assert found[0].utilization.why is Why.FAILED
    assert found[1].utilization == pytest.approx(0.0308, abs=5e-5)


def test_no_list_of_runtimes_gives_no_cores() -> None:
    """Unknown is not idle."""
    document = json.loads(text("A03")) | {"neuron_runtime_data": None}
    assert samples(report(json.dumps(document))) == ()


def test_a_source_that_falls_silent_turns_stale(stream: Stream, clock: ManualClock) -> None:
    """After two periods no value is served; the age is, and the next report heals it."""
    first = text("A01").splitlines(keepends=True)[0]
    assert stream.after(first, 1).age == 0.0
    clock.advance(1.9)
    sample = stream.collector.collect()
    assert sample.state is MonitorState.BUSY
    assert sample.age == pytest.approx(1.9)
    clock.advance(0.2)
    sample = stream.collector.collect()
    assert (sample.state, sample.report, sample.cores) == (MonitorState.STALE, None, ())
    assert sample.totals == {}
    assert sample.age == pytest.approx(2.1)
    assert stream.after(first, 2).state is MonitorState.BUSY


def test_the_half_millisecond_period_does_not_make_a_report_stale(
    stream: Stream, clock: ManualClock
) -> None:
    """The first report after a start is held to the default period."""
    stream.after(line("A03"), 1)
    clock.advance(9.0)
    assert stream.collector.collect().state is MonitorState.IDLE
    clock.advance(2.0)
    assert stream.collector.collect().state is MonitorState.STALE


def test_bad_lines_are_counted_and_the_next_is_read(stream: Stream) -> None:
    """Half a report, other JSON, blank lines and binary harm nothing."""
    sample = stream.after(line("A03")[:100] + "\n\n{}\n\x00\n" + line("A03"), 4)
    assert (sample.counts.reports, sample.counts.bad) == (1, 3)
    assert sample.state is MonitorState.IDLE


def test_a_line_of_fifty_megabytes_is_refused(stream: Stream) -> None:
    """It is counted; the report after it is read."""
    sample = stream.after("x" * 50_000_000 + "\n" + line("A03"), 1)
    assert (sample.counts.refused, sample.counts.bad) == (1, 0)
    assert sample.state is MonitorState.IDLE


def test_unknown_keys_are_counted_over_reports(stream: Stream) -> None:
    """A later version's keys show up in our own figures."""
    document = json.loads(text("A03")) | {"neuron_links": {}}
    sample = stream.after((json.dumps(document) + "\n") * 3, 3)
    assert sample.counts.unknown_keys == {"neuron_links": 3}


def test_off_reads_nothing(clock: ManualClock) -> None:
    """The default: no source, no child, no value."""
    collector = MonitorCollector(lambda: open_monitor("off", clock), clock)
    sample = collector.collect()
    assert (sample.state, sample.age, sample.cores) == (MonitorState.OFF, None, ())


def test_a_file_is_read_from_its_end(tmp_path: Path, clock: ManualClock) -> None:
    """What stands there already may be of yesterday; the next report counts."""
    path = tmp_path / "monitor.ndjson"
    path.write_text(line("A02"))
    source = open_monitor("file", clock, path=str(path))
    collector = MonitorCollector(lambda: source, clock)
    assert collector.collect().state is MonitorState.WAITING
    with path.open("a") as file:
        file.write(line("A03"))
    assert collector.collect().state is MonitorState.IDLE
    assert source is not None
    source.close()


def test_a_fifo_reconnects_by_itself(tmp_path: Path, clock: ManualClock) -> None:
    """neuron-monitor may be started again by whoever runs it."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    source = open_monitor("pipe", clock, path=str(path))
    collector = MonitorCollector(lambda: source, clock)
    for _ in range(2):
        clock.advance(100.0)
        assert collector.collect().state in (MonitorState.WAITING, MonitorState.STALE)
        with path.open("w") as out:
            out.write(line("A03"))
            out.flush()
            assert collector.collect().state is MonitorState.IDLE
    assert source is not None
    source.close()


def test_a_child_is_paused_and_resumed(tmp_path: Path, clock: ManualClock) -> None:
    """While paused it does not run, so that the driver can be reloaded; then it starts anew."""
    path = tmp_path / "report"
    path.write_text(line("A03"))
    children = Children(clock)
    command = ["sh", "-c", f"cat {path}; exec sleep 600"]
    collector = MonitorCollector(
        lambda: open_monitor("child", clock, command=command, children=children), clock
    )
    for _ in range(2):
        while collector.collect().state is not MonitorState.IDLE:
            clock.advance(0.001)
        source = collector._source
        assert source is not None
        assert source.fileno() is not None
        collector.pause()
        assert collector.collect().state is MonitorState.OFF
        assert source.fileno() is None
        collector.resume()
    assert children.left == 0
    collector.pause()


def test_a_child_needs_somebody_who_starts_it(clock: ManualClock) -> None:
    """Nothing but `Children` starts a process."""
    with pytest.raises(ValueError, match="starts it"):
        open_monitor("child", clock)


def test_memory_stays_flat_over_thousands_of_runtimes(tmp_path: Path, clock: ManualClock) -> None:
    """Every pid that ended is forgotten: totals, errors and names do not pile up."""
    path = tmp_path / "monitor.ndjson"
    path.touch()
    source = open_lines(str(path), from_end=0)
    collector = MonitorCollector(lambda: source, clock)
    sample = collector.collect()
    entry = {"error": "", "report": {"neuron_runtime_vcpu_usage": {"error": "no such file"}}}
    for turn in range(100):
        runtimes = [{"pid": turn * 20 + n, **entry} for n in range(20)]
        with path.open("a") as out:
            out.write(json.dumps({"neuron_runtime_data": runtimes, f"new_{turn * 7}": 1}) + "\n")
        sample = collector.collect()
    assert len(sample.totals) == 20
    assert sample.counts.ended == 99 * 20
    assert sample.counts.group_errors == {"neuron_runtime_vcpu_usage": 2000}
    assert len(collector._failed_groups) == 20
    assert len(sample.counts.unknown_keys) <= 200
    source.close()
