"""Families: the rows of the catalogue as Prometheus and OpenMetrics see them.

| kind of a row | family |
|---|---|
| counter | counter, samples end in `_total` |
| gauge | gauge |
| state, its words known (`states`) | StateSet: one series a word, 1 where it holds; the label is named as the family |
| state, a number | gauge |
| info, family ends in `_info` | info: always 1, one label a row |
| info, a number with a unit | gauge: a limit that a measured value is held against |

A state in words that nobody knows (`device.thermal.throttle`) has no number and is not exported.
Source: the OpenMetrics 1.0 specification; Prometheus' text format 0.0.4 has no StateSet and no
info and calls both gauge.
"""  # noqa: E501 - a table

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.catalogue.spec import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.catalogue.spec import MetricSpec

PREFIX = "neuron_"
BASE_UNITS = ("transfers_per_second", "bytes_per_second", "bytes", "seconds", "ratio", "celsius")


class FamilyType(str, Enum):
    """Types of OpenMetrics, as far as they are used here."""

    COUNTER = "counter"
    GAUGE = "gauge"
    INFO = "info"
    STATESET = "stateset"


_SUFFIXES = {FamilyType.COUNTER: "_total", FamilyType.INFO: "_info"}


class Family(NamedTuple):
    """One family of a page; `name` is without the suffix that its samples carry."""

    name: str
    type: FamilyType
    help: str
    unit: str = ""  # the base unit that the name ends in; empty where it has none
    rows: tuple[MetricSpec, ...] = ()
    states: tuple[str, ...] = ()

    @property
    def sample_name(self) -> str:
        """The name of its samples."""
        return self.name + _SUFFIXES.get(self.type, "")

    @property
    def scale(self) -> float:
        """From the unit as read to the base unit; one for all rows."""
        return self.rows[0].scale if self.rows else 1.0


# HELP where several rows make one family
HELP = {
    "node_info": "The machine",
    "driver_info": "The loaded Neuron driver",
    "driver_parameter_info": "Parameters that the Neuron driver was loaded with",
    "ultraserver_info": "The UltraServer that this machine is part of; zeros: none",
    "pci_info": "A Neuron PCI function",
    "device_identity_info": "A Neuron device",
    "device_ecc_errors_total": "Memory errors of a device; which HBM errors count as uncorrected"
    " depends on driver, chip and firmware",
    "device_power_utilization_ratio": "Power in the last minute, share of the maximum",
    "device_die_power_utilization_ratio": "Power of a die now, share of the maximum",
    "device_die_power_sample": "Sample number of a die's power",
    "device_host_memory_category_bytes": "Host memory held now for a device",
    "device_host_memory_peak_bytes": "Most host memory held for a device",
    "execution_status_total": "Executions on a core by how they ended; failure counts all causes",
    "core_hbm_category_bytes": "HBM held now on a core",
    "core_hbm_category_peak_bytes": "Most HBM held on a core",
    "core_pe_array_cycles_total": "Cycles of the matrix engine by row group",
    "efa_info": "An Elastic Fabric Adapter",
    "host_cpu_seconds_total": "Processor time of the host, all processors together",
    "host_processes": "Tasks that run or could run, or that wait uninterruptibly",
    "host_load_average": "Tasks that run or are blocked, mean of the window",
    "host_pressure_seconds_total": "Time in which some or all tasks wait for a resource",
    "host_pressure_ratio": "Share of the last 10 s in which some or all tasks wait for a resource",
    "host_filesystem_size_bytes": "Size of a file system",
    "host_filesystem_available_bytes": "Space of a file system that a user can still fill",
    "observer_cpu_seconds_total": "Processor time of this program",
    "node_monitor_group_errors_total": "Times a group of neuron-monitor began to report an error",
    "device_reported_ecc_errors": "Memory errors of a device as neuron-monitor reports them",
    "logical_core_memory_used_bytes": "Device memory held on a logical core over all runtimes",
    "runtime_latency_seconds": "Latency of executions, percentiles of neuron-monitor's period",
    "runtime_execution_rate": "Executions a second by how they ended",
    "runtime_executions_total": "Executions by how they ended, since we watch",
    "runtime_error_rate": "Executions a second that met an error",
    "runtime_errors_total": "Executions that met an error, since we watch",
    "runtime_host_memory_used_bytes": "Host memory of a runtime by use",
    "runtime_cpu_ratio": "Processor share of a runtime, as neuron-monitor tells it",
}


def _type(family: str, spec: MetricSpec) -> FamilyType:
    if spec.kind is Kind.COUNTER:
        return FamilyType.COUNTER
    if spec.kind is Kind.INFO and family.endswith("_info"):
        return FamilyType.INFO
    return FamilyType.STATESET if spec.states else FamilyType.GAUGE


def make_family(family: str, rows: tuple[MetricSpec, ...]) -> Family:
    """The family of some rows, by its name in the catalogue."""
    kind = _type(family, rows[0])
    name = f"{PREFIX}{family}".removesuffix(_SUFFIXES.get(kind, ""))
    unit = next((unit for unit in BASE_UNITS if name.endswith(f"_{unit}")), "")
    text = HELP.get(family, rows[0].help)
    return Family(name, kind, text, unit, rows, rows[0].states)


def families(specs: Iterable[MetricSpec]) -> list[Family]:
    """All families of some rows, by name."""
    found: dict[str, list[MetricSpec]] = {}
    for spec in specs:
        found.setdefault(spec.family, []).append(spec)
    return sorted(make_family(name, tuple(rows)) for name, rows in found.items())
