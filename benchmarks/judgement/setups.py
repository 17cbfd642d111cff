"""Which runs there are: fault, instance type, driver and load."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.judgement.cases import CASES
from benchmarks.judgement.pairs import covering
from neuron_observer.errors import InputError
from neuron_observer.sim.chips import DRIVERS, INSTANCES, choose
from neuron_observer.sim.faults import FAULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.judgement.cases import Case
    from neuron_observer.sim.chips import Instance

CHIPS = {  # the simulation's chips in the words of the table
    "inf1": "Inferentia",
    "inf2": "Inferentia2",
    "trn1": "Trainium1",
    "trn2": "Trainium2",
    "trn3": "Trainium3",
}


class Setup(NamedTuple):
    """One run."""

    case: str
    instance: str
    driver: str
    busy: bool


def chip_of(instance: Instance) -> str:
    """The chip in the table's words."""
    return CHIPS[instance.name[:4]]


def case_of(name: str) -> Case:
    """The case of a name."""
    return next(case for case in CASES if case.name == name)


def is_possible(setup: Setup) -> bool:
    """Whether there is such a machine, and it has what the fault is about."""
    case = case_of(setup.case)
    instance = INSTANCES[setup.instance]
    if case.only and case.only != setup.instance:
        return False
    try:
        choose(setup.instance, setup.driver)
    except InputError:
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
