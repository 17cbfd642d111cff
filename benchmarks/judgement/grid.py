"""Faults over instance types, drivers and load: one run each, judged by the table of faults."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from benchmarks.judgement.cases import CLOCK_STEP
from benchmarks.judgement.drive import Drive
from benchmarks.judgement.setups import case_of
from benchmarks.judgement.watch import KERNEL, SLOWER, Watch, lane_of, seconds_until
from neuron_observer.loop import PERIODS
from neuron_observer.rules.loader import load
from neuron_observer.sim.chips import choose
from neuron_observer.sim.faults import FAULTS
from neuron_observer.sim.faults.kind import Fault
from neuron_observer.sim.job import Job
from neuron_observer.sim.scenario import Scenario

if TYPE_CHECKING:
    from benchmarks.judgement.cases import Case
    from benchmarks.judgement.setups import Setup
    from benchmarks.judgement.watch import Result
    from neuron_observer.rules.rule import Rule
    from neuron_observer.sim.chips import Instance

WARM_UP = 62.0  # seconds: the first minute's power line is there
SETTLED = 2.0  # seconds after the first read; the fault comes later than that
PHASES = 9_973  # instants of a period at which faults begin
LONG = 100.0  # seconds of watching from which on the fast lane is read once a second


@cache
def shipped() -> tuple[Rule, ...]:
    """The rules that come with the program."""
    return load()


def run(setup: Setup, seed: int = 0) -> Result:
    """Play it."""
    case = case_of(setup.case)
    instance, driver = choose(setup.instance, setup.driver)
    number = hash_of(setup, seed)
    lanes = {lane_of(expected) for expected in case.expects}
    phase = 10.0 if lanes - {"fast", "normal", KERNEL} else 1.0
    at = WARM_UP + SETTLED + phase * (number % PHASES) / PHASES
    fault = _fault(case, instance, at, number)
    jobs = (Job(at=1.0, devices=tuple(range(instance.devices))),) if setup.busy else ()
    faults = (fault,) if fault else ()
    scenario = Scenario("", instance, driver, jobs=jobs, faults=faults, warm_up=WARM_UP, seed=seed)
    end = at + max(case.watch, *(seconds_until(one, setup.driver) for one in case.expects), 0.0)
    slower = case.watch >= LONG
    drive = Drive(scenario, shipped(), periods=SLOWER if slower else PERIODS)
    watch, stepped = Watch(case, setup, drive, fault, at), False
    for now, frame in drive.frames(end):
        watch.look(now, frame)
        if fault is None and now >= at and not stepped:
            stepped = True
            watch.at = now
            drive.clock.step_wall(float(case.values["seconds"]))
    drive.close()
    return watch.result()


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
