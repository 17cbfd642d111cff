"""What the frames of a run must hold, by the table of faults."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from benchmarks.judgement.setups import chip_of
from neuron_observer.loop import PERIODS
from neuron_observer.model import Severity, State
from neuron_observer.sim.chips import DRIVERS, INSTANCES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.judgement.cases import Case, Expected
    from benchmarks.judgement.drive import Drive
    from benchmarks.judgement.setups import Setup
    from neuron_observer.model import Entity, Finding, Frame
    from neuron_observer.sim.chips import Instance
    from neuron_observer.sim.faults.kind import Fault

TABLE = Path(__file__).parents[2] / "tests" / "rules" / "faults.yaml"
STANDING = (State.FIRING, State.RECOVERING, State.ACKNOWLEDGED)
KERNEL = "kernel"  # the lane of lines
SLOWER = {**PERIODS, "fast": 1.0}  # of long runs
_NITRO_V3 = ("trn1.2xlarge", "trn1.32xlarge")


class Seen(NamedTuple):
    """What became of one row that was expected."""

    id: str
    lane: str
    live: bool  # whether this chip and driver can show it
    seconds: float | None  # from fault to finding, without hold and growth; None: not found
    limit: float
    problems: tuple[str, ...]


class Result(NamedTuple):
    """How a run went."""

    setup: Setup
    seen: tuple[Seen, ...]
    extra: tuple[str, ...]  # findings beside the expected ones


@cache
def table() -> dict[str, dict[str, Any]]:
    """The rows of the table of faults by id."""
    rows = yaml.safe_load(TABLE.read_text("utf-8"))["faults"]
    return {row["id"]: row for row in rows}


def is_live(expected: Expected, instance: Instance, driver: str) -> bool:
    """Whether the table says that this chip and driver show it; a line shows on all."""
    if expected.line:
        return True
    live = table()[expected.id]["live"]
    if chip_of(instance) not in live["chips"] or instance.chip.cores < expected.cores:
        return False
    if instance.name in _NITRO_V3 and "Nitro v4" in live.get("not", ""):
        return False
    before, _, since = live["drivers"].split()[0].partition(">=")
    number = tuple(int(part) for part in since.split(".") if part)
    return before != "" or DRIVERS[driver].number[: len(number)] >= number


def lane_of(expected: Expected) -> str:
    """The lane by which it must be seen."""
    if expected.line or expected.lane:
        return expected.lane or KERNEL
    lanes = [signal.get("lane") for signal in table()[expected.id]["signal"]]
    return next((lane for lane in lanes if lane), "fast")


def seconds_until(expected: Expected, driver: str) -> float:
    """Seconds after the fault at which it was found and, by a second read, confirmed."""
    hold = float(table()[expected.id]["hold_s"])
    period = SLOWER.get(lane_of(expected), 1.0)
    again = expected.blocking if DRIVERS[driver].blocks else 0.0
    return hold + _growth(expected, driver) + 2 * period + again + 0.5


def _growth(expected: Expected, driver: str) -> float:
    return expected.grows + (expected.blocking if DRIVERS[driver].blocks else 0.0)


class Watch:
    """Looks at the frames of one run."""

    def __init__(
        self, case: Case, setup: Setup, drive: Drive, fault: Fault | None, at: float
    ) -> None:
        self._case, self._setup, self._drive, self._fault, self.at = case, setup, drive, fault, at
        self._expected = [one for one in case.expects if setup.busy or not one.busy]
        self._found: dict[str, float] = {}  # id → when all its places had it
        self._last: dict[str, list[Finding]] = {}
        self._extra: dict[str, None] = {}
        self._frame: Frame | None = None

    def look(self, now: float, frame: Frame) -> None:
        """Take a frame."""
        self._frame = frame
        known = {_shown_as(one.id) for one in self._expected if now >= self.at}
        for one in frame.findings:
            if one.state not in STANDING:
                continue
            if one.id in known and self._is_here(one):
                self._last.setdefault(one.id, []).append(one)
                self._found.setdefault(one.id, now)
            elif one.severity is not Severity.INFO and not one.shadow and not self._may(one, now):
                self._extra[_told(one)] = None

    def _may(self, one: Finding, now: float) -> bool:
        return one.id in self._case.beside and now >= self.at

    def _is_here(self, found: Finding) -> bool:
        expected = next(one for one in self._expected if _shown_as(one.id) == found.id)
        return any(_matches(found.entity, spot) for spot in self._spots(expected))

    def _spots(self, expected: Expected) -> list[dict[str, Any]]:
        """The entities that it may be about."""
        fault = self._fault
        if expected.spot == "node" or fault is None:
            return [{"kind": "node"}]
        device = {"device": fault.device}
        if expected.spot == "device":
            return [{"kind": "device", **device}]
        if expected.spot == "port":
            name = self._drive.host.world.node.ports[fault.port].name
            return [{"kind": "port", "port": f"{name}/1"}, {"kind": "port", "port": name}]
        chip = self._drive.host.world.node.instance.chip
        cores: Iterable[int] = {"first": (0,), "core": (fault.core,)}.get(
            expected.spot, range(chip.cores)
        )
        return [{"kind": "core", **device, "core": core} for core in cores]

    def result(self) -> Result:
        """The run in words."""
        seen = tuple(self._seen(one) for one in self._expected)
        return Result(self._setup, seen, tuple(self._extra))

    def _seen(self, expected: Expected) -> Seen:
        row, instance = table()[expected.id], INSTANCES[self._setup.instance]
        live = is_live(expected, instance, self._setup.driver)
        lane = lane_of(expected)
        periods = self._drive.loop.schedule.periods
        limit = periods.get(lane, periods["fast"])
        when = self._found.get(_shown_as(expected.id))
        if when is None:
            return Seen(expected.id, lane, live, None, limit, self._absence(expected.id, live=live))
        growth = _growth(expected, self._setup.driver)
        seconds = when - self.at - float(row["hold_s"]) - growth
        found = self._last[_shown_as(expected.id)][-1]
        # an older driver shows a count once its process has ended; another row's rule may be live
        late = live or "earlier" in row["live"] or "covered_by" in row
        problems = [] if late else ["found, although the table says that it cannot be"]
        problems += _unlike(found, row, expected)
        if seconds > limit + 1e-6:
            problems.append(f"{seconds:.2f} s late by lane {lane}, at most {limit:g} s")
        return Seen(expected.id, lane, live, seconds, limit, tuple(problems))

    def _absence(self, id_: str, *, live: bool) -> tuple[str, ...]:
        if live:
            return ("missed",)
        if "covered_by" in table()[id_]:
            return ()
        gaps = self._frame.health.coverage.not_covered if self._frame else ()
        return () if id_ in {gap.id for gap in gaps} else ("silent, and not told as not covered",)


def _shown_as(id_: str) -> str:
    """The rule that stands for a row of the table."""
    return str(table()[id_].get("covered_by") or id_)


def _matches(entity: Entity, spot: dict[str, Any]) -> bool:
    told = entity._asdict()
    return all(told[key] == value for key, value in spot.items())


def _unlike(found: Finding, row: dict[str, Any], expected: Expected) -> list[str]:
    """What of a finding is not as the table has it."""
    told = {
        "severity": found.severity.value,
        "action": found.action.value,
        "shadow": found.shadow,
        "confidence": found.confidence.value,
    }
    wanted = {key: row[key] for key in told}
    if expected.line and wanted["confidence"] == "confirmed":
        del wanted["confidence"]  # the line alone is probable; the counter beside it may confirm
    return [
        f"{key} is {told[key]}, not {value}" for key, value in wanted.items() if told[key] != value
    ]


def _told(found: Finding) -> str:
    entity = {key: value for key, value in found.entity._asdict().items() if value is not None}
    entity.pop("serial", None)
    return f"{found.id} on {entity} ({found.severity.value}, {found.confidence.value})"
