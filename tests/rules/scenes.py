"""Snapshots that a test makes up, and rules in few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.derive import make_batch
from neuron_observer.model import Action, Core, Device, Driver, Place, Severity, Snapshot
from neuron_observer.rules.pattern import Fact
from neuron_observer.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import Cell, Event
    from neuron_observer.rules.rule import Condition

WALL = 1_796_032_800.0
FACT = Fact("source", "a test")
D0 = Place(0)
C0 = Place(0, 0)
SERIAL = "00000000000000a0"


def rule(when: Condition, **other: object) -> Rule:
    """A critical rule of a device; any key may be another."""
    fields: dict[str, object] = {
        "id": "fault",
        "scope": "device",
        "when": when,
        "severity": Severity.CRITICAL,
        "action": Action.REBOOT,
        "fact": FACT,
        "message": "device {device}: {value}",
        "meaning": "a fault",
        "clears": "nothing",
        "blames_hardware": True,
    }
    return Rule(**(fields | other))  # type: ignore[arg-type]


def device(index: int = 0, serial: str | None = SERIAL, name: str = "Trainium2") -> Device:
    """A chip with two cores."""
    cores = tuple(Core(index, core) for core in range(2))
    return Device(index, name, "NDv3", serial, serial or f"i-1/{index}", cores=cores)


def snapshot(
    at: float,
    cells: Mapping[str, Cell | dict[Place, Cell]],
    *,
    devices: tuple[Device, ...] = (device(),),
    driver: str | None = "2.30.2.0",
    state: str = "live",
    events: tuple[Event, ...] = (),
    read_at: float | None = None,
    jump: float = 0.0,
) -> Snapshot:
    """What was read at a second; a bare cell is device 0's, the serial number reads back."""
    rows: dict[str, list[tuple[Place, Cell]]] = {
        "device.serial": [(Place(one.index), one.serial or "") for one in devices]
    }
    for metric, cell in cells.items():
        placed = cell if isinstance(cell, dict) else {D0: cell}
        rows[metric] = list(placed.items())
    batch = make_batch("made up", rows, at if read_at is None else read_at)
    return Snapshot(
        at=WALL + at + jump,
        monotonic=at,
        host_root="/",
        instance_type="trn2.48xlarge",
        driver=Driver(driver, state),
        devices=devices,
        batches=(batch,),
        events=events,
    )
