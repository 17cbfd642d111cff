"""Rows that are computed from others (`derive`) or counted while looking around (`topology`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue.spec import Kind, MetricSpec, Source

if TYPE_CHECKING:
    from neuron_observer.catalogue.spec import Detail, Scope

_ENDINGS = {"ratio": "_ratio", "bytes": "_bytes", "seconds": "_seconds"}


def _row(
    name: str, scope: Scope, unit: str, text: str, source: str, column: str | None = None
) -> MetricSpec:
    detail: Detail = "node" if scope == "node" else "device"
    if scope == "core":
        detail = "core" if name == "core.utilization" else "full"  # the rest follows from counters
    return MetricSpec(
        id=name,
        scope=scope,
        kind=Kind.GAUGE,
        unit=unit,
        help=text,
        sources=(Source("derived", source),),
        lane="derived",
        family=name.replace(".", "_") + _ENDINGS.get(unit, ""),
        detail=detail,
        column=column,
    )


DERIVED_METRICS: tuple[MetricSpec, ...] = (
    _row(
        "core.utilization",
        "core",
        "ratio",
        "Share of the interval in which the core was executing, waiting in a graph included",
        "core.time_in_use",
        "Util",
    ),
    _row(
        "core.inference_rate",
        "core",
        "executions/s",
        "Executions a second",
        "core.inferences",
        "Exec/s",
    ),
    _row("core.flop_rate", "core", "operations/s", "Operations a second", "core.flops", "FLOP/s"),
    _row(
        "core.flops_per_busy_second",
        "core",
        "operations/s",
        "Operations a second of execution, where the driver counts operations",
        "core.flops, core.time_in_use",
        "FLOP/busy s",
    ),
    _row(
        "core.matmul_share",
        "core",
        "ratio",
        "Share of the matrix engine's cycles spent multiplying",
        "core.pe_array.*",
        "Matmul",
    ),
    _row("device.utilization", "device", "ratio", "Mean of the cores", "core.utilization", "Util"),
    _row("device.hbm.used", "device", "bytes", "HBM held on all cores", "core.hbm.used", "HBM"),
    _row("device.hbm.capacity", "device", "bytes", "HBM of the chip", "device.name", "Capacity"),
    _row(
        "device.power.age",
        "device",
        "seconds",
        "Age of the minute that the power figures are of",
        "device.power.epoch",
    ),
    _row("node.devices", "node", "devices", "Devices in sysfs", "neuronN directories"),
    _row("node.devices_expected", "node", "devices", "Devices by the type", "product_name"),
    _row("node.devices_hidden", "node", "devices", "Devices not given to this container", "/dev"),
    _row("node.pci_functions", "node", "functions", "Neuron PCI functions", "bus/pci/devices"),
    _row(
        "node.pci_functions_bound",
        "node",
        "functions",
        "Neuron PCI functions bound to the driver",
        "bus/pci/drivers/neuron-driver",
    ),
    _row("node.unknown_files", "node", "files", "Files of the driver not known here", "walk"),
    _row(
        "node.kept_descriptors", "node", "descriptors", "Descriptors kept open", "collectors"
    )._replace(family="observer_kept_descriptors"),  # our own cost stands together
)
