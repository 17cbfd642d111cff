"""Tables with a row a device: all figures, memory by category, ECC and health, power."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.model import Missing, Place, Why
from neuron_observer.text import bytes_text
from neuron_observer.tui.columns import heading, of_metric, of_scope
from neuron_observer.tui.memory import CATEGORIES, total
from neuron_observer.tui.node_line import NOT_HELD, TONES, is_judged
from neuron_observer.tui.sheet import Column, Row, Sheet
from neuron_observer.tui.torus import order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.model import Cell, Device
    from neuron_observer.tui.lines import Tone
    from neuron_observer.tui.view import View

NOT_HERE = "not here"
_NO_DEVICE = "no Neuron device here"
_OVERALL = (
    *("health", "device.name", "device.utilization", "device.hbm.used", "device.hbm.capacity"),
    *("device.power.mean", "device.hbm.ecc_uncorrected", "device.sram.ecc_uncorrected"),
    *("device.health.unhealthy_components", "device.firmware.answering", "device.serial"),
    *("device.thermal.temperature", "numa", "pci", "jobs"),
)
_HEALTH = (
    *("health", "device.health.unhealthy_components", "device.hbm.ecc_uncorrected"),
    *("device.hbm.ecc_repairable_uncorrected", "device.sram.ecc_uncorrected"),
    *("device.hbm.ecc_corrected", "device.sram.ecc_corrected", "device.health.error_events"),
    *("device.health.heartbeat", "device.firmware.answering", "device.firmware.read_seconds"),
    "device.thermal.temperature",
)
_POWER = (
    *("health", "device.power.minimum", "device.power.mean", "device.power.maximum"),
    *("device.power.die0.utilization", "device.power.die1.utilization", "device.power.status"),
    *("device.power.age", "device.utilization", "device.thermal.temperature"),
)


def devices(view: View) -> Sheet:
    """All that is known of each device."""
    return _sheet(view, _columns(), _OVERALL)


def health(view: View) -> Sheet:
    """ECC counts and what the firmware says of itself."""
    return _sheet(view, _columns(), _HEALTH)


def power(view: View) -> Sheet:
    """Power of the last minute and of each die now."""
    return _sheet(view, _columns(), _POWER)


def memory(view: View) -> Sheet:
    """HBM by category, then host memory held for the device."""
    columns = _memory_columns()
    natural = [one.id for one in columns if not one.id.startswith("device.host_memory.")]
    return _sheet(view, columns, natural)


def device_at(view: View, row: Row) -> Device | None:
    """The device of a row; None where it is not here."""
    return next((one for one in view.snapshot.devices if one.index == row.place.device), None)


def _sheet(view: View, columns: Iterable[Column], natural: Iterable[str]) -> Sheet:
    rows = [Row(f"neuron{index}", Place(index)) for index in sorted(order(view)[0])]
    return Sheet(tuple(columns), rows, tuple(natural), _NO_DEVICE)


@cache
def _columns() -> tuple[Column, ...]:
    return (
        NAME,
        HEALTH,
        *of_scope("device"),
        Column("pci", "PCI", "PCI address", _pci, _as_is, right=False),
        Column("numa", "NUMA", "NUMA node", _numa, _as_is),
        Column("jobs", "Jobs", "Jobs that hold the device", _jobs, _as_is, right=False),
    )


@cache
def _memory_columns() -> tuple[Column, ...]:
    sums = [
        Column(
            f"core.hbm.{category}",
            heading(METRICS[f"core.hbm.{category}"]),
            METRICS[f"core.hbm.{category}"].help + ", on all cores",
            partial(_held, category),
            _bytes,
        )
        for category in CATEGORIES
    ]
    whole = (of_metric("device.hbm.used"), of_metric("device.hbm.capacity"))
    others = [one for one in of_scope("device") if one.id.startswith("device.host_memory.")]
    others = [one._replace(head=f"Host {one.head.lower()}") for one in others]
    return (NAME, *whole, *sums, *others)


def _held(category: str, view: View, row: Row) -> Cell:
    device = device_at(view, row)
    return _GONE if device is None else total(view, device, category)


def _bytes(cell: Cell, _: View) -> str:
    return str(cell) if isinstance(cell, (str, Missing)) else bytes_text(cell)


def _as_is(cell: Cell, _: View) -> str:
    return str(cell)


_GONE = Missing(Why.FAILED, f"the device is {NOT_HERE}")


def _verdict(view: View, row: Row) -> Cell:
    if device_at(view, row) is None:
        return NOT_HERE
    if view.is_past:
        return NOT_HELD
    if not is_judged(view.frame.health):
        return Missing(Why.NOT_YET, "not judged")
    found = (one for one in view.frame.health.devices if one.index == row.place.device)
    return next((one.verdict.value for one in found), Missing(Why.NOT_YET, "not judged"))


def _verdict_tone(cell: Cell) -> Tone:
    tones: dict[str, Tone] = {verdict.value: tone for verdict, tone in TONES.items()}
    return tones.get(str(cell), "bad")


def _pci(view: View, row: Row) -> Cell:
    device = device_at(view, row)
    if device is None:
        return _GONE
    return device.pci or Missing(Why.UNSUPPORTED, "no PCI address told")


def _numa(view: View, row: Row) -> Cell:
    device = device_at(view, row)
    if device is None:
        return _GONE
    return Missing(Why.UNSUPPORTED, "no NUMA node told") if device.numa is None else device.numa


def _jobs(view: View, row: Row) -> Cell:
    if view.snapshot.job_scan is None:
        return Missing(Why.UNSUPPORTED, "nobody looked for jobs")
    if view.is_past:
        return Missing(Why.UNSUPPORTED, "jobs of the past are not held")
    held = [job.name for job in view.snapshot.jobs if row.place.device in job.devices]
    return ", ".join(held) or "none"


NAME = Column(
    "device", "Device", "The device", lambda _, row: row.key, lambda cell, _: str(cell), right=False
)
HEALTH = Column(
    "health", "Health", "Its verdict", _verdict, _as_is, right=False, tone=_verdict_tone
)
