"""METRICS: one row a metric; collection, exposition, screens and docs are made from it."""

from __future__ import annotations

from neuron_observer.catalogue.core import CORE_METRICS
from neuron_observer.catalogue.derived import DERIVED_METRICS
from neuron_observer.catalogue.device import DEVICE_METRICS, FIRMWARE_METRICS
from neuron_observer.catalogue.node import NODE_METRICS, PCI_METRICS
from neuron_observer.catalogue.spec import Kind, MetricSpec, Source

METRICS: dict[str, MetricSpec] = {
    spec.id: spec
    for spec in (
        *NODE_METRICS,
        *PCI_METRICS,
        *DEVICE_METRICS,
        *FIRMWARE_METRICS,
        *CORE_METRICS,
        *DERIVED_METRICS,
    )
}

__all__ = ["METRICS", "Kind", "MetricSpec", "Source"]
