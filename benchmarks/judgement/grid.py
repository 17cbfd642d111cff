"""Faults over instance types, drivers and load: one run each, judged by the table of faults."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from benchmarks.judgement.cases import CASES, CLOCK_STEP
from benchmarks.judgement.drive import Drive
from benchmarks.judgement.pairs import covering
from neuron_observer.loop import PERIODS
from neuron_observer.model import Severity, State
from neuron_observer.rules.loader import load
from neuron_observer.sim.chips import DRIVERS, INSTANCES, choose
from neuron_observer.sim.faults import FAULTS
from neuron_observer.sim.faults.kind import Fault
from neuron_observer.sim.job import Job
from neuron_observer.sim.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.judgement.cases import Case, Expected
    from neuron_observer.model import Entity, Finding, Frame
    from neuron_observer.rules.rule import Rule
    from neuron_observer.sim.chips import Instance

TABLE = Path(__file__).parents[2] / "tests" / "rules" / "faults.yaml"
WARM_UP = 62.0  # seconds: the first minute's power line is there
SETTLED = 2.0  # seconds after the first read; the fault comes later than that
PHASES = 9_973  # instants of a period at which faults begin
LONG = 100.0  # seconds of watching from which on the fast lane is read once a second
SLOWER = {**PERIODS, "fast": 1.0}
CHIPS = {  # the simulation's chips in the words of the table
    "inf1": "Inferentia",
    "inf2": "Inferentia2",
    "trn1": "Trainium1",
    "trn2": "Trainium2",
    "trn3": "Trainium3",
}
STANDING = (State.FIRING, State.RECOVERING, State.ACKNOWLEDGED)
_NITRO_V3 = ("trn1.2xlarge", "trn1.32xlarge")
KERNEL = "kernel"  # the lane of lines


class Setup(NamedTuple):
    """One run."""

    case: str
    instance: str
    driver: str
    busy: bool


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


@cache
def shipped() -> tuple[Rule, ...]:
    """The rules that come with the program."""
    return load()


def chip_of(instance: Instance) -> str:
    """The chip in the table's words."""
    return CHIPS[instance.name[:4]]


def is_possible(setup: Setup) -> bool:
    """Whether there is such a machine, and it has what the fault is about."""
    case = _case(setup.case)
    instance = INSTANCES[setup.instance]
    if case.only and case.only != setup.instance:
        return False
    try:
        choose(setup.instance, setup.driver)
    except Exception:  # noqa: BLE001 - whatever it says: not this pair
        return False
    kind = FAULTS.get(case.fault)
    if kind is not None and kind.scope == "port" and not instance.adapters:
        return False
    return setup.busy or case.fault not in ("job_hang", "job_restart", "throttled_core")


def full() -> list[Setup]:
    """Every possible run."""
    every = (
        Setup(case.name, instance, driver, busy)
        for case in CASES
        for instance in INSTANCES
        for driver in DRIVERS
        for busy in (False, True)
    )
    return [setup for setup in every if is_possible(setup)]


def pairwise(seed: int = 0) -> list[Setup]:
    """Every pair of fault, chip, driver and load; instance types in turn, small ones preferred."""
    setups = _by_key()
    chosen = covering(list(setups), seed)
    return [_of_a_size(setups[key], number) for number, key in enumerate(chosen)]


def every_chip() -> list[Setup]:
    """Each fault on each chip with each driver, idle and busy, on one of its smallest types."""
    return [_of_a_size(setups, number) for number, setups in enumerate(_by_key().values())]


def _by_key() -> dict[tuple[str, str, str, bool], list[Setup]]:
    found: dict[tuple[str, str, str, bool], list[Setup]] = {}
    for setup in full():
        key = (setup.case, chip_of(INSTANCES[setup.instance]), setup.driver, setup.busy)
        found.setdefault(key, []).append(setup)
    return found


def _of_a_size(setups: Sequence[Setup], number: int) -> Setup:
    """One of the smallest types in turn; one time in 25 any."""
    least = min(INSTANCES[setup.instance].devices for setup in setups)
    small = [one for one in setups if INSTANCES[one.instance].devices == least]
    some = setups if number % 25 == 24 else small
    return some[number % len(some)]


def _case(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


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


def run(setup: Setup, seed: int = 0) -> Result:
    """Play it."""
    case = _case(setup.case)
    instance, driver = choose(setup.instance, setup.driver)
    number = hash_of(setup, seed)
    lanes = {lane_of(expected) for expected in case.expects}
    phase = 10.0 if lanes - {"fast", "normal", KERNEL} else 1.0
    at = WARM_UP + SETTLED + phase * (number % PHASES) / PHASES
    fault = _fault(case, instance, at, number)
    jobs = (Job(at=1.0, devices=tuple(range(instance.devices))),) if setup.busy else ()
    faults = (fault,) if fault else ()
    scenario = Scenario("", instance, driver, jobs=jobs, faults=faults, warm_up=WARM_UP, seed=seed)
    end = at + max(case.watch, *(_until(one, setup.driver) for one in case.expects), 0.0)
    slower = case.watch >= LONG
    drive = Drive(scenario, shipped(), periods=SLOWER if slower else PERIODS)
    watch, stepped = _Watch(case, setup, drive, fault, at), False
    for now, frame in drive.frames(end):
        watch.look(now, frame)
        if fault is None and now >= at and not stepped:
            stepped = True
            watch.at = now
            drive.clock.step_wall(float(case.values["seconds"]))
    drive.close()
    return watch.result()


def _until(expected: Expected, driver: str) -> float:
    """Seconds after the fault at which it was found and, by a second read, confirmed."""
    hold = float(table()[expected.id]["hold_s"])
    period = SLOWER.get(lane_of(expected), 1.0)
    again = expected.blocking if DRIVERS[driver].blocks else 0.0
    return hold + _growth(expected, driver) + 2 * period + again + 0.5


def _growth(expected: Expected, driver: str) -> float:
    return expected.grows + (expected.blocking if DRIVERS[driver].blocks else 0.0)


def hash_of(setup: Setup, seed: int) -> int:
    """A number that is always the same for the same run."""
    number = seed
    for byte in repr(tuple(setup)).encode():
        number = (number * 31 + byte) % 1_000_003
    return number


def _fault(case: Case, instance: Instance, at: float, number: int) -> Fault | None:
    """The fault somewhere on the node; None if the clock is to be set."""
    if case.fault == CLOCK_STEP:
        return None
    kind = FAULTS[case.fault]
    values = {one.name: one.default for one in kind.parameters} | dict(case.values)
    device, core = number % instance.devices, 0
    if kind.scope == "node" and "{device" not in str(values.get("text")):
        device = 0
    port = number % instance.adapters if instance.adapters else 0
    if kind.scope == "core":
        core = number % instance.chip.cores
    if "text" in values:
        values["text"] = str(values["text"]).format(device=device)
    return Fault(kind, at, None, device, core, port, values)


class _Watch:
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
