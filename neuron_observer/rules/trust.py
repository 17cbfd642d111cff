"""What a metric is worth as evidence, and how its counts are compared (architecture, laws 4, 5).

Hardware is what the kernel or the firmware says: registers, PCI, the driver's own counters, the
kernel's figures. Hearsay is what a program wrote: libnrt's counters in its shared page (driver
2.30.2 neuron_ds.c), neuron-monitor's report. Any process that may open the device can write both.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.catalogue.chips import parse_version

if TYPE_CHECKING:
    from neuron_observer.model import EvidenceKind, Trust

_DRIVERS_OWN = ("core.reset_requests", "core.reset_failures")
_REPORTED = ("runtime.", "logical_core.", "device.reported.", "node.monitor.")
_REGISTERS = ("device.sram.", "device.hbm.ecc_", "device.health.", "device.power.die")
_REGISTER_LANES = ("firmware", "expensive")
_LEVELS = ("device.sram.ecc_", "device.hbm.ecc_", "device.health.hbm_", "device.health.sram_")


def trust(metric: str) -> Trust:
    """Whether a metric is hardware's word or a program's."""
    if metric.startswith(_REPORTED):
        return "hearsay"
    if metric.startswith("core.") and metric not in _DRIVERS_OWN:
        written = METRICS[metric].kind is Kind.COUNTER and METRICS[metric].lane == "normal"
        return "hearsay" if written or METRICS[metric].lane == "derived" else "hardware"
    return "hardware"


def is_reported(metric: str) -> bool:
    """Whether it comes from neuron-monitor, which nobody needs to run."""
    return metric.startswith(_REPORTED)


def kind(metric: str) -> EvidenceKind:
    """What sort of observation a value of it is."""
    spec = METRICS[metric]
    if metric.startswith(_REPORTED):
        return "monitor"
    if metric.startswith("pci."):
        return "pci"
    if metric == "device.health.heartbeat":
        return "heartbeat"
    if metric.startswith(_REGISTERS) or spec.lane in _REGISTER_LANES:
        return "register"
    return "statistic" if spec.lane == "derived" else "counter"


def is_register(metric: str) -> bool:
    """Whether it comes from a device that must prove that it answers."""
    return metric.startswith("device.") and kind(metric) in ("register", "heartbeat")


def is_level(metric: str) -> bool:
    """Whether a count cannot be cleared, so that it stands for itself, over a baseline."""
    spec = METRICS[metric]
    return spec.kind is Kind.COUNTER and not spec.clearable and metric.startswith(_LEVELS)


@cache
def not_live(metric: str, driver: str | None) -> str:
    """Why a counter does not move while a job runs; empty if it does."""
    since = next((at.live_since for at in METRICS[metric].sources if at.live_since), None)
    if since is None:
        return ""
    version = parse_version(driver)
    if version is not None and version >= since:
        return ""
    return (
        f"driver {driver or 'unknown'} moves this counter only when a process exits;"
        f" live from {'.'.join(map(str, since))}"
    )


def constant(metric: str, chip: str | None) -> str:
    """Why a counter says nothing on a chip; empty if it does."""
    return f"always 0 on {chip}" if chip in METRICS[metric].constant_on else ""
