"""What neuron-monitor told, as batches: the state of the tool itself, and its last report.

The second batch is as old as its report. While reports do not come its cells are STALE, and a
runtime that has ended is in none of them. Groups with longer periods than the report (see
`monitor_groups`) may be up to two of their periods older than the batch says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.catalogue.monitor import (
    CORE_USES,
    ECC,
    ERRORS,
    GROUPS,
    HOST_USES,
    OUTCOMES,
    PERCENTILES,
)
from neuron_observer.collectors.monitor import MonitorState
from neuron_observer.collectors.monitor_cores import memory_by_core
from neuron_observer.model import NODE, Batch, Column, Layout, Missing, Place, Why
from neuron_observer.parsers.monitor_report import SHORTEST_PERIOD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.collectors.monitor import MonitorSample, RuntimeTotals
    from neuron_observer.collectors.monitor_cores import CoreSample, LogicalCore
    from neuron_observer.model import Cell
    from neuron_observer.parsers.monitor_report import EccCounts, MonitorReport, Named, Runtime

NAME = "monitor"
_UNTOLD = Missing(Why.NOT_YET, "not in this report")
_NO_REPORT = Missing(Why.NOT_YET, "no report yet")
_OFF = Missing(Why.UNSUPPORTED, "neuron-monitor is not read")


class MonitorBatches:
    """Samples into batches; what the last report gave is kept for as long as none follows."""

    def __init__(self) -> None:
        self._report: MonitorReport | None = None
        self._values: Batch | None = None

    def of(self, sample: MonitorSample, now: float) -> list[Batch]:
        """The batches of a sample taken at `now` (monotonic)."""
        batches = [_batch("tool", dict(_tool(sample)), now)]
        if sample.report is not None and sample.report is not self._report:
            self._values = _batch("report", _told(sample, sample.report), now - (sample.age or 0.0))
        self._report = sample.report
        if self._values is None:
            return batches
        if sample.report is None:
            self._values = _aged(self._values, sample)
        return [*batches, self._values]


def _batch(lane: str, rows: Mapping[tuple[str, Place], Cell], read_at: float) -> Batch:
    placed: dict[str, list[Place]] = {}
    for metric, place in rows:
        placed.setdefault(metric, []).append(place)
    cells: list[Cell] = []
    sources: list[str] = []
    columns: dict[str, Column] = {}
    index: dict[tuple[str, Place], int] = {}
    for metric, places in placed.items():
        columns[metric] = Column(metric, len(cells), tuple(places))
        sources += [f"neuron-monitor {METRICS[metric].sources[0].path}"] * len(places)
        for place in places:
            index[metric, place] = len(cells)
            cells.append(rows[metric, place])
    return Batch(NAME, lane, None, Layout(columns, tuple(sources), index), cells, read_at)


def _aged(values: Batch, sample: MonitorSample) -> Batch:
    """The same cells without values: a reading that is too old is none."""
    age = sample.age
    detail = "neuron-monitor is paused" if age is None else f"the last report is {age:.0f} s old"
    return values._replace(cells=[Missing(Why.STALE, detail)] * len(values.cells))


def _tool(sample: MonitorSample) -> Iterator[tuple[tuple[str, Place], Cell]]:
    counts = sample.counts
    none = _OFF if sample.state is MonitorState.OFF else _NO_REPORT
    if sample.error:
        none = Missing(Why.FAILED, sample.error)
    told: dict[str, Cell] = {
        "state": sample.state.value,
        "report_age": none if sample.age is None else round(sample.age, 3),
        "reports": counts.reports,
        "bad": counts.bad,
        "refused": counts.refused,
        "ended": counts.ended,
        "restarts": counts.restarts,
    }
    told |= {f"group_errors.{group}": counts.group_errors.get(group, 0) for group in GROUPS}
    for name, cell in told.items():
        yield (f"node.monitor.{name}", NODE), cell


def _told(sample: MonitorSample, report: MonitorReport) -> dict[tuple[str, Place], Cell]:
    cells: dict[tuple[str, Place], Cell] = {}
    if not isinstance(report.ecc, Missing):
        for device, counts in sorted(report.ecc.items()):
            for (field, _, _), cell in zip(ECC, _ecc(counts), strict=True):
                cells[f"device.reported.{field}", Place(device)] = cell
    cells.update(_core_cells(sample.cores, report))
    if not isinstance(report.runtimes, Missing):
        for runtime in report.runtimes:
            place = Place(label=f"pid{runtime.pid}")
            named = _runtime(runtime, sample.totals.get(runtime.pid))
            cells |= {(f"runtime.{name}", place): cell for name, cell in named}
    return cells


def _ecc(counts: EccCounts) -> tuple[Cell, ...]:
    return (
        counts.mem_corrected,
        counts.mem_uncorrected,
        counts.sram_corrected,
        counts.sram_uncorrected,
    )


def core_label(where: LogicalCore) -> str:
    """`lnc2/core5`: how many physical cores make one, and its number on the node."""
    return f"lnc{'?' if where.lnc is None else where.lnc}/core{where.number}"


def _core_cells(
    cores: tuple[CoreSample, ...], report: MonitorReport
) -> Iterator[tuple[tuple[str, Place], Cell]]:
    short = _too_short(report)
    memory = memory_by_core(report)
    for core in cores:
        label, device = core_label(core.where), core.where.device
        place = Place(device, None, label)
        yield ("logical_core.utilization", place), short or core.utilization
        yield ("logical_core.flop_rate", place), short or core.flops
        for name, cell in sorted(core.subcores.items()):
            part = Place(device, None, f"{label}/{name}")
            yield ("logical_core.part_utilization", part), short or cell
        used = memory.get(core.where.number)
        if used is not None:
            for use in CORE_USES:
                yield (f"logical_core.memory.{use}", place), used.get(use, _UNTOLD)


def has_full_period(report: MonitorReport) -> bool:
    """Whether utilisation can be told from it."""
    return _too_short(report) is None


def _too_short(report: MonitorReport) -> Missing | None:
    """The first report after a start covers half a millisecond: no utilisation."""
    for runtime in () if isinstance(report.runtimes, Missing) else report.runtimes:
        period = runtime.cores_period
        if isinstance(period, int | float) and period < SHORTEST_PERIOD:
            return Missing(Why.NOT_YET, f"a period of {period:g} s gives no utilisation")
    return None


def _runtime(runtime: Runtime, totals: RuntimeTotals | None) -> Iterator[tuple[str, Cell]]:
    done, memory = runtime.executions, runtime.memory
    yield "tag", runtime.tag or Missing(Why.UNSUPPORTED, "the report names none")
    for side, latency in (("total", done.latency), ("device", done.device_latency)):
        for percentile in PERCENTILES:
            yield f"latency.{side}_{percentile}", latency.get(percentile, _UNTOLD)
    yield from _counted("executions", OUTCOMES, totals.outcomes if totals else {}, totals)
    yield from _counted("errors", ERRORS, totals.errors if totals else {}, totals)
    yield "memory.host", memory.host
    yield "memory.device", memory.neuron_device
    untold = memory.host if isinstance(memory.host, Missing) else _UNTOLD
    for use in HOST_USES:
        yield f"host_memory.{use}", memory.host_categories.get(use, untold)
    yield "cpu.user", runtime.cpu_user
    yield "cpu.system", runtime.cpu_system


def _counted(
    head: str, names: Mapping[str, str], sums: dict[str, int], totals: RuntimeTotals | None
) -> Iterator[tuple[str, Cell]]:
    rates: Named = totals.rates if totals else {}
    for name in names:
        rate = rates.get(name, _UNTOLD)
        yield f"{head}.{name}_rate", rate
        # a tally that was never told is no count of zero
        yield f"{head}.{name}", sums.get(name, rate if isinstance(rate, Missing) else _UNTOLD)
