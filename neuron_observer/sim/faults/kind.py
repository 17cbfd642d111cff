"""What a fault is made of: its kind, where and when it happens, and its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from neuron_observer.sim.state import Core, Device, Port
    from neuron_observer.sim.world import World

Scope: TypeAlias = Literal["node", "device", "core", "port"]
Setting: TypeAlias = "int | float | str | bool"


class Parameter(NamedTuple):
    """One parameter of a kind of fault; its type is that of its default."""

    name: str
    default: Setting
    help: str
    choices: tuple[str, ...] = ()
    least: float = 0.0
    most: float = 1e12
    zero: bool = False  # 0 is taken besides, however great the least is


class FaultKind(NamedTuple):
    """A kind of fault: one row of the table in docs/simulation.md."""

    name: str
    scope: Scope
    help: str
    begin: Callable[[World, Fault], None]
    parameters: tuple[Parameter, ...] = ()
    ends: bool = True  # whether `until` means anything
    in_files: bool = True  # whether a simulation in a directory can show it


class Fault(NamedTuple):
    """A fault on the timeline of a scenario."""

    kind: FaultKind
    at: float  # seconds
    until: float | None
    device: int = 0
    core: int = 0
    port: int = 0
    values: Mapping[str, Setting] = {}

    def number(self, name: str) -> float:
        """A parameter that is a number."""
        return float(self.values[name])

    def whole(self, name: str) -> int:
        """A parameter that is a whole number."""
        return int(self.values[name])

    def text(self, name: str) -> str:
        """A parameter that is text."""
        return str(self.values[name])

    def flag(self, name: str) -> bool:
        """A parameter that is true or false."""
        return bool(self.values[name])


def device_of(world: World, fault: Fault) -> Device:
    """The device that a fault is about."""
    return world.node.devices[fault.device]


def core_of(world: World, fault: Fault) -> Core:
    """The core that a fault is about."""
    return device_of(world, fault).cores[fault.core]


def port_of(world: World, fault: Fault) -> Port:
    """The adapter's port that a fault is about."""
    return world.node.ports[fault.port]


def at_end(world: World, fault: Fault, action: Callable[[], object]) -> None:
    """Have `action` undo the fault when it is over, if it ends."""
    if fault.until is not None:
        world.at(fault.until, action)
