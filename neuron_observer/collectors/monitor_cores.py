"""Logical cores of neuron-monitor: on which device they are, and how busy over all runtimes.

neuron-monitor numbers *logical* cores over the whole node, sysfs *physical* ones within a device.
The driver may swap pairs of physical cores below logical ones (ioctl 120), so no logical core is
ever mapped to a physical one here; its physical cores are known by the report's own names only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.model import Cell, Missing, Why

if TYPE_CHECKING:
    from neuron_observer.parsers.monitor_report import CoreUse, MonitorReport, Named, Runtime
    from neuron_observer.parsers.neuron_ls_listing import NeuronListing

# physical cores of a device by family of instance types (neuron_dhal_v1.c to v4.c)
PHYSICAL_CORES = {"inf1": 4, "inf2": 2, "trn1": 2, "trn2": 8, "trn3": 8}

NO_RUNTIME = Missing(Why.NOT_YET, "no runtime")


class LogicalCore(NamedTuple):
    """A logical core: its number on the node, and where it is if that is known."""

    lnc: int | None  # physical cores in it; a change starts another series
    number: int
    device: int | None
    core: int | None  # within the device


class CoreSample(NamedTuple):
    """One logical core over all runtimes."""

    where: LogicalCore
    utilization: Cell  # 0 to 1
    flops: Cell  # per second
    subcores: Named  # utilisation of its physical cores, by the report's names


def samples(report: MonitorReport, listing: NeuronListing | None = None) -> tuple[CoreSample, ...]:
    """All logical cores that the report describes or a runtime names."""
    if isinstance(report.runtimes, Missing):
        return ()
    lnc = _lnc(report)
    per_device = logical_per_device(report)
    return tuple(
        _sample(_locate(number, lnc, per_device, listing), report.runtimes)
        for number in sorted(_numbers(report, report.runtimes, per_device))
    )


def memory_by_core(report: MonitorReport) -> dict[int, Named]:
    """Device memory by logical core and use, over all runtimes."""
    runtimes = () if isinstance(report.runtimes, Missing) else report.runtimes
    held: dict[int, list[Named]] = {}
    for runtime in runtimes:
        for core, uses in runtime.memory.cores.items():
            held.setdefault(core, []).append(uses)
    return {
        core: {
            use: _together([uses[use] for uses in several if use in uses], None)
            for use in dict.fromkeys(use for uses in several for use in uses)
        }
        for core, several in held.items()
    }


def logical_per_device(report: MonitorReport) -> int | None:
    """Logical cores of a device; None where the count printed may be either kind.

    With LNC above 1 the count is logical in one capture of neuron-ls and physical in another, so
    it is held against the chip's number of physical cores.
    """
    printed, lnc = report.hardware.cores_per_device, _lnc(report)
    if not isinstance(printed, int) or printed <= 0:
        return None
    if lnc in (None, 1):
        return printed
    family = re.match(r"[a-z]+[0-9]", report.instance.get("instance_type", ""))
    physical = PHYSICAL_CORES.get(family[0]) if family else None
    if printed == physical:
        return printed // (lnc or 1)
    return printed if physical == printed * (lnc or 1) else None


def _lnc(report: MonitorReport) -> int | None:
    lnc = report.hardware.lnc
    return lnc if isinstance(lnc, int) and lnc > 0 else None


def _numbers(
    report: MonitorReport, runtimes: tuple[Runtime, ...], per_device: int | None
) -> set[int]:
    numbers = {core for runtime in runtimes for core in _cores(runtime)}
    devices = report.hardware.devices
    if isinstance(devices, int) and per_device and devices * per_device <= 4096:
        numbers.update(range(devices * per_device))
    return numbers


def _cores(runtime: Runtime) -> dict[int, CoreUse]:
    return {} if isinstance(runtime.cores, Missing) else runtime.cores


def _locate(
    number: int, lnc: int | None, per_device: int | None, listing: NeuronListing | None
) -> LogicalCore:
    """neuron-ls lists the ids of each device; without it they are counted through."""
    listed = listing.device_of_core(number) if listing else None
    if listed:
        return LogicalCore(lnc, number, *listed)
    if listing is None and per_device:
        return LogicalCore(lnc, number, number // per_device, number % per_device)
    return LogicalCore(lnc, number, None, None)


def _sample(where: LogicalCore, runtimes: tuple[Runtime, ...]) -> CoreSample:
    uses = [use for runtime in runtimes if (use := _cores(runtime).get(where.number))]
    failed = next((r.cores for r in runtimes if isinstance(r.cores, Missing)), None)
    subcores: Named = {}
    for use in uses:
        for name in use.subcores:
            subcores[name] = _together([other.subcores.get(name) for other in uses], failed, 1.0)
    return CoreSample(
        where,
        _together([use.utilization for use in uses], failed, 1.0),
        _together([use.flops for use in uses], failed),
        subcores,
    )


def _together(cells: list[Cell | None], failed: Missing | None, most: float = float("inf")) -> Cell:
    """Sum over runtimes. Nobody's core has no value; zero is not believed while one is unknown."""
    reasons = [cell for cell in cells if isinstance(cell, Missing)]
    values = [cell for cell in cells if isinstance(cell, int | float)]
    total = sum(values)
    if values and (total > 0 or not (reasons or failed)):
        return min(total, most)
    return failed or (reasons[0] if reasons else NO_RUNTIME)
