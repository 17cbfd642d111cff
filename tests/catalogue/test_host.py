"""The host rows: parity with what AWS's exporter says of the system, names, units."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.catalogue.host import DISK_METRICS, HOST_METRICS
from neuron_observer.catalogue.own import LOOP_METRICS, OWN_METRICS

if TYPE_CHECKING:
    from neuron_observer.catalogue import MetricSpec

ALL = (*HOST_METRICS, *DISK_METRICS, *OWN_METRICS, *LOOP_METRICS)
AWS_SYSTEM = (
    "memory_total_bytes memory_used_bytes swap_total_bytes swap_used_bytes cpu_average_usage "
    "context_switch_count vcpu_count neuron_device_count physical_neuroncore_count "
    "logical_neuroncore_count"
)
NEURON_MONITOR = (
    "system_vcpu_count system_vcpu_usage_ratio system_memory_total_bytes system_memory_used_bytes "
    "system_swap_total_bytes system_swap_used_bytes neuron_hardware_info instance_info"
)


def test_system_figures_of_aws_have_a_row() -> None:
    """What their system scope exports from /proc can be had here."""
    for metric in (
        "host.memory.total",
        "host.memory.used",
        "host.memory.swap_total",
        "host.memory.swap_used",
        "host.context_switches",
        "host.cpus",
        "host.cpu.idle",
    ):
        assert metric in METRICS


def test_no_family_is_one_of_the_names_of_others() -> None:
    """With the prefix neuron_, no name equals AWS's or neuron-monitor's."""
    theirs = {f"neuron_system_{name}" for name in AWS_SYSTEM.split()}
    theirs |= set(NEURON_MONITOR.split())
    ours = {f"neuron_{spec.family}" for spec in ALL}
    assert not ours & (theirs | {f"{name}_total" for name in theirs})


def test_rows_of_a_family_differ_in_their_labels_only() -> None:
    """One kind and base unit a family, one label set a row."""
    families: defaultdict[str, list[MetricSpec]] = defaultdict(list)
    for spec in ALL:
        families[spec.family].append(spec)
    for family, rows in families.items():
        assert len({(spec.kind, spec.unit, spec.scale) for spec in rows}) == 1, family
        assert len({spec.labels for spec in rows}) == len(rows), family
        assert len({tuple(key for key, _ in spec.labels) for spec in rows}) == 1, family


def test_counters_and_only_counters_end_in_total() -> None:
    """The names follow Prometheus' convention."""
    for spec in ALL:
        assert spec.family.endswith("_total") == (spec.kind is Kind.COUNTER), spec.id
