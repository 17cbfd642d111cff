"""neuron-monitor, live: the last report, its age, and totals built from the tallies of each.

Off by default: the tool attaches to the devices (it takes one of 16 slots and blocks a driver
reload). `pipe` and `file` read what somebody else runs; `child` runs it on request.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Literal, TypeAlias

from neuron_observer.collectors.monitor_cores import CoreSample, samples
from neuron_observer.collectors.monitor_groups import LONGEST_WAIT, PERIODS, GroupMemory
from neuron_observer.model import Missing
from neuron_observer.parsers.monitor import parse_report
from neuron_observer.parsers.monitor_report import SHORTEST_PERIOD, Activity, rate
from neuron_observer.sources.follow import ChildLines
from neuron_observer.sources.lines import open_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from neuron_observer.clock import Clock
    from neuron_observer.model import Cell
    from neuron_observer.parsers.monitor_report import MonitorReport, Named, Runtime
    from neuron_observer.parsers.neuron_ls_listing import NeuronListing
    from neuron_observer.sources.child import Children
    from neuron_observer.sources.lines import LineSource

Mode: TypeAlias = Literal["off", "pipe", "file", "child"]

COMMAND = ("/opt/aws/neuron/bin/neuron-monitor",)  # not on the PATH of sudo and systemd
MAX_REPORT = 16 * 1024 * 1024  # bytes; a longer line is refused
REPORTS = 64  # lines a collection
DEFAULT_PERIOD = 5.0  # seconds, the tool's own default
MAX_KEYS = 200  # unknown keys that are remembered
SILENCE = 60.0  # seconds after which a child that prints nothing is replaced


class MonitorState(str, Enum):
    """What is known of the devices' use."""

    OFF = "off"
    WAITING = "waiting"  # no report yet
    BUSY = "busy"
    IDLE = "idle"
    UNKNOWN = "unknown"  # a report that does not tell
    STALE = "stale"  # the last report is too old


@dataclass(frozen=True, slots=True)
class RuntimeTotals:
    """One runtime since its first report: sums of the tallies, and the rates of the last one."""

    pid: int
    tag: str | None
    errors: dict[str, int]
    outcomes: dict[str, int]
    rates: Named  # per second, in the last report's period


@dataclass(slots=True)
class MonitorCounts:
    """What became of the lines since the collector was made."""

    reports: int = 0
    bad: int = 0  # no JSON, or no report
    refused: int = 0  # too long, or cut off
    ended: int = 0  # runtimes that are no longer reported
    restarts: int = 0
    group_errors: dict[str, int] = field(default_factory=dict)  # once a runtime and group
    unknown_keys: dict[str, int] = field(default_factory=dict)  # reports that had the key


@dataclass(frozen=True, slots=True)
class MonitorSample:
    """What one collection knows."""

    state: MonitorState
    age: float | None  # seconds since the last report came
    report: MonitorReport | None  # None unless it is fresh
    cores: tuple[CoreSample, ...]
    totals: dict[int, RuntimeTotals]  # by pid, runtimes of the last report only
    counts: MonitorCounts
    error: str


def open_monitor(
    mode: Mode,
    clock: Clock,
    *,
    path: str = "-",
    command: Sequence[str] = COMMAND,
    children: Children | None = None,
) -> LineSource | None:
    """The lines of neuron-monitor; None when it is off.

    A file is read from its end: reports carry no time, so what stands there already may be old.
    """
    if mode == "off":
        return None
    if mode == "child":
        if children is None:
            raise ValueError("mode child needs somebody who starts it")
        return ChildLines(
            command, clock, children, max_line=MAX_REPORT, keep_cut=False, silence=SILENCE
        )
    return open_lines(path, from_end=0, max_line=MAX_REPORT, keep_cut=False)


class MonitorCollector:
    """Keeps the last report and what adds up over reports."""

    def __init__(
        self,
        open_source: Callable[[], LineSource | None],
        clock: Clock,
        *,
        listing: Callable[[], NeuronListing | None] | None = None,
    ) -> None:
        self._open_source = open_source
        self._clock = clock
        self._listing = listing
        self._source = open_source()
        self._counts = MonitorCounts()
        self._report: MonitorReport | None = None
        self._arrived: float | None = None
        self._period = DEFAULT_PERIOD
        self._totals: dict[int, RuntimeTotals] = {}
        self._groups = GroupMemory()
        self._failed_groups: set[tuple[str, int | None]] = set()

    @property
    def ended(self) -> bool:
        """Whether no report will ever come."""
        return self._source is None or self._source.ended

    def pause(self) -> None:
        """Give the source up; a child ends and frees its slot on the devices."""
        if self._source is not None:
            self._source.close()
        self._source = None
        self._report = self._arrived = None

    def resume(self) -> None:
        """Open the source again."""
        self._source = self._source or self._open_source()

    def collect(self) -> MonitorSample:
        """Take the reports that are there; the last one counts, the tallies of all add up."""
        source = self._source
        if source is None:
            return MonitorSample(MonitorState.OFF, None, None, (), {}, self._counted(), "")
        for line in source.poll(REPORTS):
            if line.strip():
                self._take(line)
        self._counts.refused, self._counts.restarts = source.counts.cut, source.counts.restarts
        age = None if self._arrived is None else self._clock.monotonic() - self._arrived
        state = self._state(age)
        if self._report is None or state is MonitorState.STALE:
            return MonitorSample(state, age, None, (), {}, self._counted(), source.error)
        listing = self._listing() if self._listing else None
        cores = samples(self._report, listing)
        return MonitorSample(
            state, age, self._report, cores, dict(self._totals), self._counted(), source.error
        )

    def _state(self, age: float | None) -> MonitorState:
        if self._report is None or age is None:
            return MonitorState.WAITING
        if age > PERIODS * self._period:
            return MonitorState.STALE
        return {
            Activity.BUSY: MonitorState.BUSY,
            Activity.IDLE: MonitorState.IDLE,
            Activity.UNKNOWN: MonitorState.UNKNOWN,
        }[self._report.activity]

    def _take(self, line: bytes) -> None:
        report = parse_report(line)
        if isinstance(report, Missing):
            self._counts.bad += 1
            return
        self._counts.reports += 1
        self._arrived = self._clock.monotonic()
        self._report = self._groups.complete(report, self._arrived)
        self._period = _period(report)
        self._note_keys(report)
        self._note_errors(report)
        self._add_up(report)

    def _note_keys(self, report: MonitorReport) -> None:
        seen = self._counts.unknown_keys
        for key in report.unknown:
            if key in seen or len(seen) < MAX_KEYS:
                seen[key] = seen.get(key, 0) + 1

    def _note_errors(self, report: MonitorReport) -> None:
        now = {(error.group, error.pid) for error in report.errors}
        for group, _ in now - self._failed_groups:
            self._counts.group_errors[group] = self._counts.group_errors.get(group, 0) + 1
        self._failed_groups = now

    def _add_up(self, report: MonitorReport) -> None:
        runtimes = () if isinstance(report.runtimes, Missing) else report.runtimes
        before, self._totals = self._totals, {}
        for runtime in runtimes:
            self._totals[runtime.pid] = _added(before.pop(runtime.pid, None), runtime)
        self._counts.ended += len(before)

    def _counted(self) -> MonitorCounts:
        """A copy, for what is handed out never changes."""
        counts = self._counts
        return replace(
            counts,
            group_errors=dict(counts.group_errors),
            unknown_keys=dict(counts.unknown_keys),
        )


def _added(before: RuntimeTotals | None, runtime: Runtime) -> RuntimeTotals:
    done = runtime.executions
    return RuntimeTotals(
        runtime.pid,
        runtime.tag,
        _sums(before.errors if before else {}, done.errors),
        _sums(before.outcomes if before else {}, done.outcomes),
        {name: rate(tally, done.period) for name, tally in (done.errors | done.outcomes).items()},
    )


def _sums(before: dict[str, int], tallies: Named) -> dict[str, int]:
    known = {name: tally for name, tally in tallies.items() if isinstance(tally, int)}
    return before | {name: before.get(name, 0) + tally for name, tally in known.items()}


def _period(report: MonitorReport) -> float:
    """The longest period of the report's groups that is none of a first report."""
    runtimes = () if isinstance(report.runtimes, Missing) else report.runtimes
    periods: list[Cell] = [report.ecc_period, report.cpu.period, report.memory.period]
    for runtime in runtimes:
        periods += [runtime.cores_period, runtime.executions.period, runtime.memory.period]
    usable = [period for period in periods if isinstance(period, int | float)]
    longest = max(
        (period for period in usable if period >= SHORTEST_PERIOD), default=DEFAULT_PERIOD
    )
    return min(longest, LONGEST_WAIT)
