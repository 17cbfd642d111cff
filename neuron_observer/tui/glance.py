"""The readings that the first screen shows of devices: what a glance needs, and no more."""

from __future__ import annotations

from neuron_observer.tui.memory import CATEGORIES
from neuron_observer.tui.power import DIES

METRICS = frozenset(
    {
        "device.name",
        "device.arch",
        "device.connected_devices",
        "device.health.unhealthy_components",
        "device.power.status",
        "device.power.epoch",
        "device.power.minimum",
        "device.power.maximum",
        "device.power.mean",
        *DIES,
        "core.arch",
        "core.hbm.used",
        *(f"core.hbm.{category}" for category in CATEGORIES),
    }
)
