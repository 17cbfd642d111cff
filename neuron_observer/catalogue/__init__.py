"""METRICS: one row a metric; collection, exposition, screens and docs are made from it."""

from __future__ import annotations

from neuron_observer.catalogue.core import CORE_METRICS
from neuron_observer.catalogue.derived import DERIVED_METRICS
from neuron_observer.catalogue.device import DEVICE_METRICS
from neuron_observer.catalogue.efa import EFA_METRICS, PORT_METRICS
from neuron_observer.catalogue.health import FIRMWARE_METRICS, HEALTH_METRICS
from neuron_observer.catalogue.host import DISK_METRICS, HOST_METRICS
from neuron_observer.catalogue.monitor import (
    KERNEL_LOG_METRICS,
    LOGICAL_CORE_METRICS,
    MONITOR_DEVICE_METRICS,
    MONITOR_NODE_METRICS,
    RUNTIME_METRICS,
)
from neuron_observer.catalogue.node import NODE_METRICS, PCI_METRICS
from neuron_observer.catalogue.own import LOOP_METRICS, OWN_METRICS, RELOAD_METRICS
from neuron_observer.catalogue.recorder import RECORDER_METRICS
from neuron_observer.catalogue.spec import Kind, MetricSpec, Source
from neuron_observer.catalogue.store import STORE_METRICS
from neuron_observer.catalogue.thermal import SENSOR_METRICS

METRICS: dict[str, MetricSpec] = {
    spec.id: spec
    for spec in (
        *NODE_METRICS,
        *PCI_METRICS,
        *DEVICE_METRICS,
        *HEALTH_METRICS,
        *FIRMWARE_METRICS,
        *CORE_METRICS,
        *SENSOR_METRICS,
        *EFA_METRICS,
        *PORT_METRICS,
        *HOST_METRICS,
        *DISK_METRICS,
        *OWN_METRICS,
        *RELOAD_METRICS,
        *LOOP_METRICS,
        *STORE_METRICS,
        *RECORDER_METRICS,
        *DERIVED_METRICS,
        *MONITOR_NODE_METRICS,
        *MONITOR_DEVICE_METRICS,
        *LOGICAL_CORE_METRICS,
        *RUNTIME_METRICS,
        *KERNEL_LOG_METRICS,
    )
}

__all__ = ["METRICS", "Kind", "MetricSpec", "Source"]
