"""Scenario files: what happens on a simulated node, and when (docs/simulation.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.errors import InputError
from neuron_observer.sim.chips import DEFAULT_INSTANCE, Driver, Instance, choose
from neuron_observer.sim.document import Document, suggestion
from neuron_observer.sim.faults import FAULTS
from neuron_observer.sim.faults.kind import Fault
from neuron_observer.sim.job import Job

if TYPE_CHECKING:
    import yaml

    from neuron_observer.sim.faults.kind import FaultKind, Parameter, Setting

SHIPPED = Path(__file__).parent / "scenarios"
LONGEST = 366 * 86_400.0  # seconds
WARMEST = 86_400.0  # seconds that may be over at the first look: they take seconds to work out
MOST_ROWS = 1_000
KEYS = (
    *("description", "instance", "driver", "instance_id", "seed", "seconds", "warm_up"),
    *("jobs", "faults"),
)
_JOB_KEYS = (*Job._fields,)
_RANGE = "Write all, 3, 0-7 or [0, 1]."
_FAULT_KEYS = ("fault", "at", "until", "device", "core", "port")


class Scenario(NamedTuple):
    """A scenario as read."""

    description: str
    instance: Instance
    driver: Driver
    jobs: tuple[Job, ...] = ()
    faults: tuple[Fault, ...] = ()
    seed: int = 0
    seconds: float | None = None  # after which nothing new happens
    warm_up: float = 0.0  # seconds that are over when somebody first looks
    instance_id: str | None = None


def shipped() -> dict[str, str]:
    """Name and description of the scenarios that come with the program."""
    found = {}
    for path in sorted(SHIPPED.glob("*.yaml")):
        document = Document(str(path))
        keys = document.items(document.root(), KEYS, "a scenario")
        found[path.stem] = document.text(keys["description"], "description")
    return found


def load(name: str, *, instance: str | None = None, driver: str | None = None) -> Scenario:
    """A shipped scenario by name, or one in a file; `instance` and `driver` win over the file's.

    Raises InputError, which names file, line and remedy.
    """
    path = SHIPPED / f"{name}.yaml"
    if os.sep in name or name.endswith((".yaml", ".yml")):
        path = Path(name)
    elif not path.is_file():
        names = [one.stem for one in sorted(SHIPPED.glob("*.yaml"))]
        raise InputError(
            f"no scenario {name!r}",
            remedy=suggestion(name, names) + " A file is named by its path: ./mine.yaml",
        )
    return _Loader(str(path)).load(instance, driver)


class _Loader(Document):
    """Builds the scenario of one file."""

    def load(self, instance: str | None, driver: str | None) -> Scenario:
        keys = self.items(self.said(), KEYS, "a scenario")
        self.end = LONGEST
        seconds = None
        if "seconds" in keys:
            seconds = self.end = self.number(keys["seconds"], "seconds", 0.0, LONGEST)
        self.instance, chosen = self._machine(keys, instance, driver)
        scenario = Scenario(
            description=self.text(keys["description"], "description")
            if "description" in keys
            else "",
            instance=self.instance,
            driver=chosen,
            jobs=tuple(self._job(row) for row in self._rows(keys.get("jobs"), "jobs")),
            faults=tuple(self._fault(row) for row in self._rows(keys.get("faults"), "faults")),
            seconds=seconds,
        )
        if "seed" in keys:
            scenario = scenario._replace(seed=self.whole(keys["seed"], "seed", 0, 1 << 53))
        if "warm_up" in keys:
            warm_up = self.number(keys["warm_up"], "warm_up", 0.0, min(self.end, WARMEST))
            scenario = scenario._replace(warm_up=warm_up)
        if "instance_id" in keys:
            scenario = scenario._replace(instance_id=self.text(keys["instance_id"], "instance_id"))
        return scenario

    def _rows(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        rows = self.rows(node, what)
        if len(rows) > MOST_ROWS:
            raise self.wrong(node, f"more than {MOST_ROWS} {what}")
        return rows

    def _machine(
        self, keys: dict[str, yaml.Node], instance: str | None, driver: str | None
    ) -> tuple[Instance, Driver]:
        """Instance type and driver; what the file says is its line's fault, else the caller's."""
        node = keys.get("driver") if driver is None else None
        if instance is None and "instance" in keys:
            node = keys["instance"]
            instance = self.text(node, "instance")
        elif instance is not None and driver is None:
            node = None
        if driver is None and "driver" in keys:
            driver = self.text(keys["driver"], "driver")
        try:
            return choose(instance or DEFAULT_INSTANCE, driver)
        except InputError as error:
            if node is None:
                raise
            raise self.wrong(node, error.message, error.remedy) from error

    def _times(self, keys: dict[str, yaml.Node], what: str) -> tuple[float, float | None]:
        at, until = 0.0, None
        if "at" in keys:
            at = self.number(keys["at"], f"at of {what}", 0.0)
            if at > self.end:
                raise self.wrong(
                    keys["at"],
                    f"{what} begins at {at:g} s, after the end of the scenario at {self.end:g} s",
                    "Name an earlier time, or more seconds at the top.",
                )
        if "until" in keys:
            until = self.number(keys["until"], f"until of {what}", 0.0)
            if until <= at:
                raise self.wrong(
                    keys["until"],
                    f"{what} ends at {until:g} s, not after its beginning at {at:g} s",
                    "`until` is a time since the beginning of the scenario, like `at`.",
                )
            if until > self.end:
                raise self.wrong(
                    keys["until"],
                    f"{what} ends at {until:g} s, after the end of the scenario at {self.end:g} s",
                    "Leave `until` out for a fault that stays.",
                )
        return at, until

    def _indexes(self, node: yaml.Node, what: str, count: int) -> tuple[int, ...]:
        """`all`, a number, a list of numbers, or text such as `0-3,8`."""
        rows = self.rows(node, what) if not node.tag.endswith((":str", ":int")) else [node]
        found: list[int] = []
        for row in rows:
            text = self.text(row, what)
            if text == "all":
                return tuple(range(count))
            for piece in text.split(","):
                first, dash, last = piece.strip().partition("-")
                if not first.isdecimal() or (dash and not last.isdecimal()):
                    raise self.wrong(row, f"{what} {piece!r} is no number", _RANGE)
                low, high = int(first), int(last or first)
                self._within(row, what, max(low, high), count)
                if high < low:
                    raise self.wrong(row, f"{what}s {piece.strip()!r} run backwards", _RANGE)
                found += range(low, high + 1)
        if not found:
            raise self.wrong(node, f"no {what} is named", _RANGE)
        return tuple(dict.fromkeys(found))

    def _within(self, node: yaml.Node, what: str, index: int, count: int) -> None:
        if index >= count:
            name = self.instance.name
            there = f"{name} has {what}s 0 to {count - 1}." if count else f"{name} has none."
            raise self.wrong(node, f"no {what} {index}", there)

    def _job(self, row: yaml.Node) -> Job:
        keys = self.items(row, _JOB_KEYS, "a job")
        chip, count = self.instance.chip, self.instance.devices
        at, until = self._times(keys, "a job")
        job = Job(at=at, until=until, devices=tuple(range(count)))
        if "name" in keys:
            job = job._replace(name=self.text(keys["name"], "name"))
        if "devices" in keys:
            job = job._replace(devices=self._indexes(keys["devices"], "device", count))
        if "cores" in keys:
            job = job._replace(cores=self._indexes(keys["cores"], "core", chip.cores))
        changes: dict[str, Any] = {}
        for name, most in (
            ("utilization", 1.0),
            ("executions", 1e6),
            ("memory", 0.9),
            ("traffic", 400.0),
            ("processors", 64.0),
            ("host_memory", 512.0),
        ):
            if name in keys:
                changes[name] = self.number(keys[name], name, 0.0, most)
        return job._replace(**changes)

    def _fault(self, row: yaml.Node) -> Fault:
        named = self._named(row)
        kind = FAULTS[self.choice(named, "fault", FAULTS)]
        what = f"fault {kind.name!r}"
        places = {"node": (), "device": ("device",), "core": ("device", "core"), "port": ("port",)}
        known = (*_FAULT_KEYS[:3], *places[kind.scope], *(p.name for p in kind.parameters))
        keys = self.items(row, known, what)
        at, until = self._times(keys, what)
        if until is not None and not kind.ends:
            raise self.wrong(keys["until"], f"{what} does not end", "Leave `until` out.")
        fault = Fault(kind, at, until, values=self._values(keys, kind))
        place: dict[str, Any] = {}
        counts = {
            "device": self.instance.devices,
            "core": self.instance.chip.cores,
            "port": self.instance.adapters,
        }
        for name in places[kind.scope]:
            index = self.whole(keys[name], name) if name in keys else 0
            self._within(keys.get(name, row), name, index, counts[name])
            place[name] = index
        return fault._replace(**place)

    def _named(self, row: yaml.Node) -> yaml.Node:
        pairs = getattr(row, "value", None) if row.tag.endswith(":map") else None
        for key, value in pairs or ():
            if key.value == "fault":
                node: yaml.Node = value
                return node
        raise self.wrong(row, "a fault without `fault:`, its kind", suggestion("", list(FAULTS)))

    def _values(self, keys: dict[str, yaml.Node], kind: FaultKind) -> dict[str, Setting]:
        values: dict[str, Setting] = {}
        for one in kind.parameters:
            node = keys.get(one.name)
            values[one.name] = one.default if node is None else self._value(node, one)
        return values

    def _value(self, node: yaml.Node, one: Parameter) -> Setting:
        if one.choices:
            return self.choice(node, one.name, one.choices)
        if isinstance(one.default, bool):
            return self.flag(node, one.name)
        if isinstance(one.default, int):
            return self.whole(node, one.name, one.least, one.most)
        if isinstance(one.default, float):
            value = self.number(node, one.name, 0.0 if one.zero else one.least, one.most)
            if 0 < value < one.least:
                raise self.wrong(node, f"{one.name} is {value:g}", f"0, or {one.least:g} and more.")
            return value
        return self.text(node, one.name)
