"""Plays timelines against rules: the real reader, the real engine, a clock moved by hand."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.checks.recorded import recorded
from neuron_observer.checks.stage import Stage, workers
from neuron_observer.clock import ManualClock
from neuron_observer.collectors.firmware import PERIOD
from neuron_observer.collectors.sysfs import PERIODS
from neuron_observer.live import MonitorFeed
from neuron_observer.model import Severity, State
from neuron_observer.observer import HostReader, Options
from neuron_observer.rules.engine import Engine
from neuron_observer.sources.listing import read_listing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from neuron_observer.checks.timeline import Expectation, Timeline
    from neuron_observer.model import Batch, Finding, Health, Snapshot
    from neuron_observer.rules.rule import Rule
    from neuron_observer.sources.listing import Listing

# As a daemon reads by default: the expensive lane only on request.
SCHEDULE = {lane: PERIODS[lane] for lane in ("fast", "normal", "slow")} | {"firmware": PERIOD}
TICK = min(SCHEDULE.values())
QUIET_AFTER = 2.0  # seconds after a step; then whole seconds tell as much as every tick
WALL = 1_796_032_800.0  # of a timeline that tells none: 2026-11-30T10:00:00Z
_STANDING = (State.FIRING, State.ACKNOWLEDGED, State.RECOVERING)

_listing = lru_cache(maxsize=4)(read_listing)  # nobody writes to it


class Result(NamedTuple):
    """How a play went."""

    timeline: Timeline
    problems: tuple[str, ...]


class Play:
    """One timeline on the stage."""

    def __init__(self, timeline: Timeline, rules: Sequence[Rule]) -> None:
        self._timeline = timeline
        self._steps = list(timeline.steps)
        listing: Listing = _listing(timeline.host)
        wall = timeline.wall or listing.recorded_at or WALL
        self._clock = ManualClock(wall)
        self._stage = Stage(listing, self._clock)
        self._stopped_until = 0.0
        self._act(0.0)
        self._stage.tell_time()
        monitor = MonitorFeed("child") if timeline.has_reports else None
        options = Options(thorough=False, wait_for_firmware=False, kernel_log=True, monitor=monitor)
        self._reader = HostReader(self._stage, self._clock, options, workers)
        self._engine = Engine(rules)
        self._derived: tuple[Batch, ...] = ()

    def ticks(self) -> Iterator[tuple[float, tuple[Finding, ...], Health]]:
        """What stands after each tick, and when."""
        last = changed = -1.0
        for number in range(int(self._timeline.seconds / TICK) + 1):
            at = number * TICK
            if number:
                self._clock.advance(TICK)
            changed = at if self._act(at) else changed
            quiet = at - changed > QUIET_AFTER and at % 1.0
            if at < self._stopped_until or quiet:
                continue
            self._stage.tell_time()
            findings, health = self._engine(self._read(_due(last, at)))
            last = at
            yield at, findings, health
        self._reader.close()

    def _read(self, lanes: list[str]) -> Snapshot:
        """What was read; derived readings are those of the last read of counters."""
        anew = "normal" in lanes
        snapshot = self._reader.poll(lanes, derived=anew)
        if anew:
            self._derived = tuple(b for b in snapshot.batches if b.collector == "derive")
            return snapshot
        return snapshot._replace(batches=(*snapshot.batches, *self._derived))

    def _act(self, at: float) -> bool:
        """Do what is due; whether anything was."""
        before = len(self._steps)
        while self._steps and self._steps[0].at <= at:
            step = self._steps.pop(0)
            for deed in step.deeds:
                if deed.what == "wall":
                    self._clock.step_wall(deed.value)
                elif deed.what == "stall":
                    self._stopped_until = step.at + deed.value
                else:
                    self._stage.do((deed,), step.at)
        return len(self._steps) < before


def _due(last: float, at: float) -> list[str]:
    """The lanes of which a period began since the last tick."""
    return [
        lane
        for lane, period in SCHEDULE.items()
        if last < 0 or int(at / period) > int(last / period)
    ]


def play(timeline: Timeline, rules: Sequence[Rule]) -> Result:
    """Play it, and compare what stands with what must stand."""
    if timeline.fault not in {rule.id for rule in rules}:
        return Result(timeline, (f"no rule has the id {timeline.fault}",))
    waiting = sorted(timeline.expect, key=lambda one: one.at)
    problems: list[str] = []
    before: tuple[tuple[Finding, ...], Health] | None = None
    for at, findings, health in _ticks(timeline, rules):
        while waiting and waiting[0].at < at and before:
            problems += differences(timeline.fault, waiting.pop(0), *before)
        before = findings, health
    for one in waiting:
        if before:
            problems += differences(timeline.fault, one, *before)
    return Result(timeline, tuple(problems))


def _ticks(
    timeline: Timeline, rules: Sequence[Rule]
) -> Iterator[tuple[float, tuple[Finding, ...], Health]]:
    if timeline.recorded:
        return recorded(timeline.host, rules, timeline.seconds)
    return Play(timeline, rules).ticks()


def differences(
    fault: str, expected: Expectation, findings: Sequence[Finding], health: Health
) -> list[str]:
    """What is not as it must be, in words."""
    when = f"at {expected.at:g} s: "
    own = [one for one in findings if one.id == fault and one.state in _STANDING]
    found = []
    if expected.findings is not None or expected.not_covered:
        found += _unequal(expected.findings or (), own)
    if expected.not_covered and fault not in {gap.id for gap in health.coverage.not_covered}:
        found.append("it is not told to be not covered")
    if expected.verdict and health.verdict.value != expected.verdict:
        found.append(f"{health.verdict.value}, not {expected.verdict}: {health.reason}")
    found += [
        f"a finding beside it: {_told(one)}"
        for one in findings
        if one.id != fault and one.id not in expected.others and _alarms(one)
    ]
    return [when + what for what in found]


def _alarms(finding: Finding) -> bool:
    return (
        finding.severity is not Severity.INFO and finding.state in _STANDING and not finding.shadow
    )


def _unequal(expected: Sequence[Mapping[str, Any]], own: list[Finding]) -> list[str]:
    """Expected findings that are not there, and others that are."""
    rest, problems = list(own), []
    for one in expected:
        match = next((found for found in rest if not _differs(one, found)), None)
        if match is not None:
            rest.remove(match)
            continue
        near = next((found for found in rest if not _entity_differs(one, found)), None)
        if near is not None:
            rest.remove(near)
            problems.append(f"{_told(near)}: {', '.join(_differs(one, near))}")
        else:
            problems.append(f"no finding on {one.get('entity')}")
    return problems + [f"a finding too many: {_told(found)}" for found in rest]


def _entity_differs(expected: Mapping[str, Any], found: Finding) -> list[str]:
    entity = found.entity._asdict()
    return [
        f"{key} is {entity.get(key)}, not {value}"
        for key, value in (expected.get("entity") or {}).items()
        if entity.get(key) != value
    ]


def _differs(expected: Mapping[str, Any], found: Finding) -> list[str]:
    told = found._asdict()
    problems = _entity_differs(expected, found)
    for key, value in expected.items():
        if key != "entity":
            shown = getattr(told.get(key), "value", told.get(key))
            if shown != value:
                problems.append(f"{key} is {shown}, not {value}")
    return problems


def _told(finding: Finding) -> str:
    entity = {key: value for key, value in finding.entity._asdict().items() if value is not None}
    return f"{finding.id} on {entity} ({finding.severity.value}, {finding.confidence.value})"


def judge_capture(listing: Listing, rules: Sequence[Rule]) -> tuple[tuple[Finding, ...], Health]:
    """What the rules say of a capture, pass by pass; the last word counts."""
    from neuron_observer.sources.listing import ListingFs  # noqa: PLC0415 - rarely needed

    host = ListingFs(listing, "capture")
    clock = ManualClock(listing.recorded_at or WALL)
    options = Options(thorough=False, kernel_log=True, monitor=MonitorFeed("child"))
    reader = HostReader(host, clock, options)
    engine = Engine(rules, one_shot=len(listing.passes) <= 2)
    judged = engine(_read(reader))
    while (pause := host.until_next) is not None:
        host.advance()
        clock.advance(pause)
        judged = engine(_read(reader))
    reader.close()
    return judged


def _read(reader: HostReader) -> Snapshot:
    return reader.poll(tuple(SCHEDULE))
